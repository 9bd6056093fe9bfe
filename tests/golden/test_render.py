"""What the CLI prints of known jobs, letter for letter.

``HEADWAY_UPDATE_GOLDEN=1 pytest tests/golden`` writes the expected files anew; read the difference before committing it.
"""

from __future__ import annotations

import io
import json
import math
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from headway.cli import documents
from headway.cli.render import words
from headway.cli.render.listing import listing
from headway.cli.render.live import board, card, change_line
from headway.cli.render.page import page
from headway.cli.render.view import Seen, View
from headway.protocol.action import Action, ActionKind, CarriedOut
from headway.protocol.codec import decode, dumps, encode, loads
from headway.protocol.history import Series, SeriesPoint
from headway.protocol.job import Attempt, Cost, Eta, Job, JobProgress, Ledger, Platform, RankInfo, Spec, State
from headway.protocol.report import Checkpoint, Ending, EndingKind, Phase, Unit
from headway.protocol.verdict import Condition, ConditionType, Severity, Verdict

NOW = 1_796_054_400.0  # Monday 2026-11-30 16:00 UTC
EXPECTED = Path(__file__).parent / "cli"
UPDATE = bool(os.environ.get("HEADWAY_UPDATE_GOLDEN"))


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def attempt(ordinal: int = 1, **given: object) -> Attempt:
    return Attempt(**{"ordinal": ordinal, "id": f"runner-01JDX-{ordinal}", "started_at": NOW - 600, **given})


HEALTHY = Job(
    namespace="local",
    name="fraud-ft",
    uid="01JDX0A0000000000000000001",
    platform=Platform.LOCAL,
    state=State.RUNNING,
    summary="Running, 45 %",
    verdict=Verdict.PROGRESSING,
    verdict_text="Progressing",
    progress=JobProgress(
        percent=45,
        step=450,
        total_steps=1000,
        epoch=1.35,
        total_epochs=3.0,
        unit=Unit.OPTIMIZER_STEP,
        phase=Phase.TRAIN,
        step_seconds=1.79,
        last_step_age=0.8,
    ),
    eta=Eta(seconds=985, low=930, high=1060, finish_at=NOW + 985, basis="the pace of the last 450 steps"),
    metrics={"grad_norm": 0.871, "learning_rate": 1.1e-05, "loss": 0.2347, "eval_loss": 0.261},
    best={"loss": 0.2311, "eval_loss": 0.261},
    directions={"loss": "min", "eval_loss": "min"},
    checkpoint=Checkpoint(step=400, seconds=12.1, path="out/checkpoint-400"),
    attempts=(attempt(first_step=1, last_step=450, started_at=NOW - 820),),
    ledger=Ledger(
        price_per_hour=55.0,
        spent=Cost(device_hours=1.82, money=12.53),
        remaining=Cost(device_hours=2.19, money=15.05),
        at_risk=Cost(device_hours=0.2, money=1.37),
    ),
    spec=Spec(
        nodes=1,
        devices_per_node=8,
        device_type="H100",
        price_per_hour=55.0,
        framework="transformers",
        command=("python", "train.py", "--data", "fraud 2026.parquet"),
        owner="ada",
    ),
    config={"lr": 2e-05, "batch_size": 16, "model": "gpt2", "warmup": None},
    tags=("fraud",),
    log="/home/ada/.local/state/headway/logs/fraud-ft-1.log",
    host="gpu-07",
    created_at=NOW - 830,
    started_at=NOW - 820,
    updated_at=NOW - 2,
    last_contact_age=2.0,
)

PLATEAU = Job(
    namespace="vision",
    name="segment-v3",
    uid="01JDX0A0000000000000000002",
    platform=Platform.LOCAL,
    state=State.RUNNING,
    summary="Running",
    verdict=Verdict.PLATEAUED,
    conditions=(
        Condition(
            type=ConditionType.SLOW,
            severity=Severity.WARNING,
            since=NOW - 90_000,
            since_step=20_100,
            until=NOW - 86_000,
            until_step=21_000,
        ),
        Condition(
            type=ConditionType.PLATEAUED,
            severity=Severity.WARNING,
            since=NOW - 22_320,
            since_step=41_200,
            metric="loss",
            evidence={"window_hours": 6.2, "slope_low": -0.04, "slope_high": 0.02, "unit": "%/h"},
            text="no measurable improvement of loss for 6.2 h; slope 95 % CI [-0.04, +0.02] %/h; if learning rate and data "
            "stay as they are, at most 0.3 % better by the end (12 h, $660).",
        ),
    ),
    progress=JobProgress(percent=69, step=88_000, total_steps=127_000, phase=Phase.EVAL, step_seconds=0.51),
    eta=Eta(seconds=43_300, low=41_000, high=46_900, finish_at=NOW + 43_300, basis="the pace since step 60,000"),
    metrics={"loss": 0.4127, "learning_rate": 0.0003},
    best={"loss": 0.4119},
    attempts=(attempt(first_step=1, last_step=88_000, started_at=NOW - 130_000),),
    created_at=NOW - 130_010,
    started_at=NOW - 130_000,
    updated_at=NOW - 1,
    last_contact_age=240.0,
)

CRASHED = Job(
    namespace="local",
    name="tiny-gpt2",
    uid="01JDX0A0000000000000000003",
    platform=Platform.LOCAL,
    state=State.FAILED,
    summary="Failed at 40 %",
    ending=Ending(
        kind=EndingKind.FAILED,
        step=400,
        total_steps=1000,
        exit_code=1,
        exception="torch.OutOfMemoryError",
        message="CUDA out of memory",
        log_tail=(
            "Traceback (most recent call last):",
            '  File "train.py", line 40',
            "\x1b[31mtorch.OutOfMemoryError\x1b[0m",
        ),
    ),
    progress=JobProgress(percent=40, step=400, total_steps=1000, epoch=1.2),
    resumed="resumed at 20 %",
    metrics={"loss": math.nan, "reward": math.inf},
    actions=(
        Action(
            id="checkpoint-1",
            kind=ActionKind.CHECKPOINT,
            by="ann",
            reason="maintenance at 18:00",
            attempt="runner-01JDX-1",
            asked_at=NOW - 8500,
            carried_out=CarriedOut.REFUSED,
            outcome="the run did not save within 300 s",
        ),
        Action(
            id="stop-1",
            kind=ActionKind.STOP,
            attempt="runner-01JDX-2",
            asked_at=NOW - 7220,
            acknowledged_at=NOW - 7219,
            carried_out=CarriedOut.PLATFORM,
            outcome="the run could not hear: ended by SIGTERM after 20 s",
        ),
    ),
    attempts=(
        attempt(
            1,
            started_at=NOW - 9000,
            ended_at=NOW - 8000,
            first_step=1,
            last_step=212,
            checkpoint=Checkpoint(step=200),
            ending=Ending(kind=EndingKind.FAILED, signal="SIGKILL", exit_code=137),
        ),
        attempt(
            2,
            started_at=NOW - 7990,
            ended_at=NOW - 7200,
            first_step=201,
            resumed_from_step=200,
            last_step=400,
            ending=Ending(kind=EndingKind.FAILED, exit_code=1, exception="torch.OutOfMemoryError"),
        ),
    ),
    ledger=Ledger(spent=Cost(device_hours=0.5)),
    spec=Spec(command=("python", "train.py")),
    warnings=("metrics[3].name was shortened to 'x'",),
    created_at=NOW - 9010,
    started_at=NOW - 9000,
    ended_at=NOW - 7200,
    updated_at=NOW - 7200,
)

EARLY = Job(
    namespace="local",
    name="early-stopper",
    uid="01JDX0A0000000000000000004",
    platform=Platform.LOCAL,
    state=State.COMPLETE,
    summary="Complete (early stopped at 400/1000)",
    ending=Ending(kind=EndingKind.EARLY_STOPPED, step=400, total_steps=1000, exit_code=0),
    progress=JobProgress(percent=40, step=400, total_steps=1000),
    metrics={"train_loss": 1.8},
    created_at=NOW - 90_000,
    started_at=NOW - 90_000,
    ended_at=NOW - 86_000,
    updated_at=NOW - 86_000,
)

MUTE = Job(
    namespace="local",
    name="a bash loop, never heard of",
    uid="01JDX0A0000000000000000005",
    platform=Platform.LOCAL,
    state=State.RUNNING,
    summary="Running, progress unknown",
    verdict=Verdict.STARTING,
    created_at=NOW - 41,
    started_at=NOW - 40,
    updated_at=NOW - 1,
)

QUEUED = Job(
    namespace="team-ml",
    name="bert/large <b>🙂</b>",
    uid="01JDX0A0000000000000000006",
    platform=Platform.KUBERNETES,
    state=State.QUEUED,
    state_reason="3rd in queue gpu",
    summary="Queued",
    created_at=NOW - 10_800,
    updated_at=NOW - 10_800,
)

HOSTILE = Job(
    namespace="local",
    name="[red]x[/red]\x1b[2J",
    uid="01JDX0A0000000000000000007",
    platform=Platform.LOCAL,
    state=State.LOST,
    summary="Lost",
    metrics={"[bold]m\x07": 1.0},
    config={"\x1b]0;title\x07": "[link=http://x]\u202egnp.exe"},
    tags=("[blink]t[/blink]",),
    ending=Ending(kind=EndingKind.FAILED, log_tail=("\x1b[2J\x1b[H gone", "10%|#\r20%|##\r")),
    created_at=NOW - 500,
    started_at=NOW - 500,
    ended_at=NOW - 100,
    updated_at=NOW - 100,
)

STALLED = Job(
    namespace="local",
    name="fsdp-70b",
    uid="01JDX0A0000000000000000008",
    platform=Platform.LOCAL,
    state=State.RUNNING,
    summary="Running, 18 %",
    verdict=Verdict.STALLED,
    verdict_text="no step for 25 min, since step 183; …",
    conditions=(
        Condition(
            type=ConditionType.STALLED,
            severity=Severity.CRITICAL,
            since=NOW - 1500,
            since_step=183,
            evidence={"step": 183, "seconds": 1500.0, "phase": None, "limitSeconds": 60.0, "usualGapSeconds": 1.2},
            text="no step for 25 min, since step 183; its longest gap of the last 50 is 1.2 s, the limit 60 s; it stands at "
            "train.py:88 in train_step, inside torch/distributed/distributed_c10d.py:2501 in all_reduce",
        ),
    ),
    progress=JobProgress(percent=18, step=183, total_steps=1000, step_seconds=1.2, last_step_age=1500.0),
    ranks=(
        RankInfo(
            run="01JDX0A0000000000000000009",
            rank=0,
            attempt="runner-01JDX-1",
            last_contact_age=1.0,
            stack='  File "/home/ada/train.py", line 88, in train_step\n    loss.backward()\n'
            '  File "/opt/torch/distributed/distributed_c10d.py", line 2501, in all_reduce\n    work.wait()\n',
        ),
    ),
    ledger=Ledger(
        price_per_hour=55.0,
        spent=Cost(device_hours=14.2, money=97.63),
        remaining=Cost(),
        at_risk=Cost(device_hours=4.9, money=33.7),
        without_progress=Cost(device_hours=3.33, money=22.92),
    ),
    spec=Spec(devices_per_node=8, price_per_hour=55.0, stall_floor=60.0),
    created_at=NOW - 6500,
    started_at=NOW - 6390,
    updated_at=NOW - 1,
    last_contact_age=1.0,
)

SLOW = replace(
    HEALTHY,
    name="slow-node",
    verdict=Verdict.SLOW,
    conditions=(
        Condition(
            type=ConditionType.SLOW,
            severity=Severity.WARNING,
            since=NOW - 600,
            since_step=400,
            evidence={"ratio": 1.83, "stepSeconds": 2.2, "bestStepSeconds": 1.2, "seconds": 600.0},
            text="steps take 1.8 x as long as they did at best (2.2 s against 1.2 s), since step 400, for 10 min",
        ),
    ),
)

UNDECIDED = replace(
    HEALTHY,
    name="noisy",
    verdict=Verdict.UNDECIDED,
    verdict_text="no measurable improvement of loss for 40 min; a verdict needs about 350 more points",
)

ALL = (HEALTHY, PLATEAU, CRASHED, EARLY, MUTE, QUEUED, HOSTILE)
HISTORY = {
    "loss": [2.0 * math.exp(-i / 30) + 0.23 for i in range(90)],
    "eval_loss": [1.2, 0.6, math.nan, 0.261],
}


def seen(job: Job) -> Seen:
    return Seen(job, NOW)


def text_of(lines: Sequence[Text], width: int = 4096, *, colour: bool = False) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        legacy_windows=False,
    )
    for line in lines:
        console.print(line, soft_wrap=True)
    return stream.getvalue()


def check(name: str, text: str) -> None:
    path = EXPECTED / name
    if UPDATE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{name} differs; HEADWAY_UPDATE_GOLDEN=1 writes it anew"


PLAIN = View(now=NOW)


def fancy(width: int) -> View:
    return View(now=NOW, width=width, fancy=True)


def test_ls_plain() -> None:
    check("ls.txt", text_of(listing([seen(job) for job in ALL], PLAIN, namespaces=True)))


@pytest.mark.parametrize("width", [140, 100, 60, 30])
def test_ls_fits_a_terminal(width: int) -> None:
    text = text_of(listing([seen(job) for job in ALL], fancy(width)))
    check(f"ls-{width}.txt", text)
    assert max(Text(line).cell_len for line in text.splitlines()) <= width


@pytest.mark.parametrize(
    ("name", "job"),
    [("healthy", HEALTHY), ("plateau", PLATEAU), ("crashed", CRASHED), ("mute", MUTE), ("hostile", HOSTILE)],
)
def test_show(name: str, job: Job) -> None:
    check(f"show-{name}.txt", text_of(page(seen(job), HISTORY, PLAIN)))
    check(f"show-{name}-90.txt", text_of(page(seen(job), HISTORY, fancy(90)), 90))


def test_watch() -> None:
    check("watch-healthy.txt", text_of(card(seen(HEALTHY), HISTORY, fancy(90)), 90))
    check("watch-plateau.txt", text_of(card(seen(PLATEAU), HISTORY, fancy(90)), 90))
    check("watch-board.txt", text_of(board([seen(job) for job in ALL], fancy(160), height=9), 160))
    check("watch-plain.txt", text_of([change_line(seen(job), PLAIN) for job in ALL]))


@pytest.mark.parametrize("job", ALL, ids=lambda job: str(job.state))
@pytest.mark.parametrize("colour", [False, True])
def test_nothing_that_a_job_says_reaches_the_terminal_raw(job: Job, colour: bool) -> None:
    view = fancy(100)
    lines = [*listing([seen(job)], view), *page(seen(job), HISTORY, view), *card(seen(job), HISTORY, view)]
    text = text_of(lines, colour=colour)
    if colour:  # our own colours are the only escapes there are
        text = text.replace("\x1b[0m", "")
        assert "\x1b[2J" not in text
        assert "\x1b]" not in text
    else:
        assert "\x1b" not in text
    assert not set(text) & {"\x07", "\u202e", "\r"}
    assert "[red]x[/red]\\x1b[2J" in text or job is not HOSTILE


def test_unknown_is_never_zero() -> None:
    text = text_of(listing([seen(MUTE)], PLAIN)) + text_of(page(seen(MUTE), {}, PLAIN))
    assert "unknown" in text
    assert "0 %" not in text
    assert "0/" not in text


def series(metric: str, count: int) -> Series:
    points = tuple(
        SeriesPoint(step, step * 1.79, math.nan if step == 3 else 1 / (step + 1), 0.1, 0.9, 1, 0)
        for step in range(count)
    )
    return Series(metric=metric, attempt="runner-01JDX-1", tier=1, points=points)


def test_json() -> None:
    check("ls.json", documents.strict_json(documents.jobs_document(ALL)) + "\n")
    document = documents.job_document(HEALTHY, [series("loss", 5), series("grad_norm", 1000)])
    assert len(document["history"]["grad_norm"]) == documents.HISTORY_POINTS
    assert document["history"]["grad_norm"][-1][0] == 999
    document["history"]["grad_norm"] = document["history"]["grad_norm"][:2]
    check("show.json", documents.strict_json(document) + "\n")


def test_json_is_strict_and_says_all_that_is_promised() -> None:
    for job in ALL:
        text = documents.strict_json(documents.job_document(job, []))
        document = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
        assert {
            "namespace", "name", "state", "ending", "verdict", "conditions", "progress", "eta", "metrics", "attempts",
            "ledger", "updatedAt", "history",
        } <= set(document)  # fmt: skip
        assert encode(decode(Job, loads(dumps(encode(job))))) == encode(job)


def test_every_field_of_a_job_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "reference" / "cli-json.md").read_text(encoding="utf-8")
    missing = [field for field in encode(HEALTHY) if f"`{field}`" not in text]
    assert not missing


def test_verdicts_with_their_evidence_and_price() -> None:
    view = View(now=NOW, width=130, fancy=True)
    check("ls-verdicts.txt", text_of(listing([seen(job) for job in (STALLED, SLOW, UNDECIDED)], view), 130))
    for job in (STALLED, UNDECIDED):
        check(f"show-{job.verdict.value.lower()}.txt", text_of(page(seen(job), {}, view), 130))


def test_what_a_list_is_sorted_by_is_shown() -> None:
    jobs = [seen(job) for job in (PLATEAU, HEALTHY)]
    narrow = View(now=NOW, width=40, fancy=False)
    assert "SPENT" not in text_of(listing(jobs, narrow), 40)
    shown = text_of(listing(jobs, narrow, needed="SPENT"), 40)
    assert "SPENT" in shown
    assert max(map(len, shown.splitlines())) <= 40


def test_figures_are_shown_however_long_the_name_of_a_metric() -> None:
    job = replace(HEALTHY, metrics={"m" * 100: 0.4321}, best={}, log=None)
    text = text_of(page(seen(job), {}, View(now=NOW, width=60, fancy=False)), 60)
    assert "0.4321" in text
    assert max(map(len, text.splitlines())) <= 60


def test_what_a_complete_run_said_of_its_end_is_shown() -> None:
    ending = Ending(
        kind=EndingKind.EARLY_STOPPED, step=400, total_steps=1000, exit_code=0, message="no better for 5 evaluations"
    )
    text = text_of(
        page(seen(replace(HEALTHY, state=State.COMPLETE, ending=ending)), {}, View(now=NOW, fancy=False)), 130
    )
    assert text.splitlines()[-2:] == ["Ending", "  message        no better for 5 evaluations"]


def test_a_path_is_left_whole_so_that_it_can_be_copied() -> None:
    path = "/home/ada/" + "deep/" * 20 + "job.log"
    job = replace(HEALTHY, log=path, checkpoint=Checkpoint(step=1, path=path))
    text = text_of(page(seen(job), {}, View(now=NOW, width=60, fancy=False)), 400)
    assert text.count(path) == 2


def test_a_moment_in_the_evidence_is_told_as_one() -> None:
    silent = Condition(
        type=ConditionType.SILENT,
        severity=Severity.WARNING,
        since=NOW - 90,
        text="no contact",
        evidence={"lastContact": NOW - 90.0},
    )
    job = replace(HEALTHY, conditions=(silent,), verdict=Verdict.SILENT)
    text = text_of(page(seen(job), {}, View(now=NOW, width=None, fancy=False)), 130)
    assert f"lastContact {words.moment(NOW - 90, NOW)}" in text
