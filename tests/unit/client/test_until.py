"""What to wait for, and the wait itself: no server, no clock."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from headway import until
from headway.client.until import Until, seconds
from headway.client.waiting import SPAN, Waiting
from headway.errors import InvalidError, JobEndedError, NotFoundError, UnavailableError, WaitError, WaitTimeoutError
from headway.protocol.job import Changes, Job, JobKey, JobProgress, Platform, State
from headway.protocol.verdict import Condition, ConditionType, Severity

NOW = 1_000_000.0
KEY = JobKey("local", "job")
JOB = Job(
    namespace="local",
    name="job",
    uid="u",
    platform=Platform.LOCAL,
    state=State.RUNNING,
    summary="Running, 45 %",
    progress=JobProgress(step=450, total_steps=1000),
    metrics={"val_loss": 0.25, "bleu": math.nan},
    conditions=(
        Condition(
            type=ConditionType.PLATEAUED,
            severity=Severity.WARNING,
            since=NOW - 3600,
            metric="loss",
            evidence={},
            text="",
        ),
        Condition(
            type=ConditionType.DIVERGING,
            severity=Severity.CRITICAL,
            since=NOW - 9000,
            until=NOW - 8000,
            evidence={},
            text="",
        ),
    ),
    created_at=NOW,
    updated_at=NOW,
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (until.finished(), False),
        (until.state("running"), True),
        (until.state(State.PAUSED, "Queued"), False),
        (until.step(450), True),
        (until.step(451), False),
        (until.metric("val_loss").below(0.3), True),
        (until.metric("val_loss").below(0.25), False),
        (until.metric("eval_loss").below(0.3), True),
        (until.metric("val_loss").above(0.2), True),
        (until.metric("bleu").above(0.0), False),
        (until.metric("bleu").below(1.0), False),
        (until.metric("nothing").below(1e9), False),
        (until.condition("Plateaued"), True),
        (until.condition("plateaued", for_="1h"), True),
        (until.condition("Plateaued", for_=3601), False),
        (until.condition("Plateaued", metric="loss"), True),
        (until.condition("Plateaued", metric="eval_loss"), False),
        (until.condition(ConditionType.DIVERGING), False),
        (until.finished() | until.step(3), True),
        (until.finished() & until.step(3), False),
        (until.step(1) & (until.state("Paused") | until.metric("val_loss").below(1)), True),
    ],
)
def test_a_question_is_answered(question: Until, answer: bool) -> None:
    assert question(JOB, NOW) is answer


@pytest.mark.parametrize("state", [State.COMPLETE, State.FAILED, State.STOPPED, State.LOST])
def test_every_end_is_one(state: State) -> None:
    assert until.finished()(replace(JOB, state=state), NOW)


def test_a_job_without_a_step_has_made_none() -> None:
    assert not until.step(0)(replace(JOB, progress=JobProgress()), NOW)


@pytest.mark.parametrize(
    ("text", "value"),
    [("90s", 90), ("90", 90), ("15 min", 900), ("15m", 900), ("1h30m", 5400), ("1.5h", 5400), ("2d", 172800), (7, 7)],
)
def test_durations(text: str | float, value: float) -> None:
    assert seconds(text) == value
    assert seconds(timedelta(hours=1)) == 3600


@pytest.mark.parametrize("text", ["", "soon", "1 fortnight", "h1", "-5s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(InvalidError, match="no duration"):
        seconds(text)


def test_words_that_do_not_exist_are_told_from_those_that_do() -> None:
    with pytest.raises(InvalidError, match=r"'Plateau' is no condition; there are Stalled, .*Plateaued"):
        until.condition("Plateau")
    with pytest.raises(InvalidError, match="'Done' is no state"):
        until.state("Done")


def test_a_question_reads_as_words() -> None:
    question = until.finished() | until.condition("Plateaued", for_="1h") & until.metric("eval_loss").below(0.2)
    assert str(question) == "(the end or (Plateaued for 3600 s and eval_loss below 0.2))"


def changes(*jobs: Job, snapshot: bool = False, deleted: tuple[JobKey, ...] = (), at: float = NOW) -> Changes:
    return Changes(id="1", jobs=jobs, snapshot=snapshot, deleted=deleted, server_time=at)


def test_a_wait_ends_by_the_servers_clock_although_nothing_changes() -> None:
    waiting = Waiting(KEY, until.condition("Plateaued", for_="2h"), None, 0.0)
    assert waiting.take(changes(JOB, snapshot=True)) is JOB
    assert waiting.span(5.0) == SPAN
    assert waiting.take(changes(replace(JOB), snapshot=True)) is None, "no news"
    assert not waiting.over
    waiting.take(changes(JOB, snapshot=True, at=NOW + 3600))
    assert waiting.over


def test_a_wait_for_what_will_not_come_ends_with_the_job() -> None:
    waiting = Waiting(KEY, until.step(1000), None, 0.0)
    waiting.take(changes(JOB, snapshot=True))
    with pytest.raises(JobEndedError, match="Failed at 45 %, and will not come to step 1000"):
        waiting.take(changes(replace(JOB, state=State.FAILED, summary="Failed at 45 %")))


def test_a_wait_ends_with_its_time() -> None:
    waiting = Waiting(KEY, until.finished(), 15.0, 100.0)
    assert waiting.span(100.0) == SPAN
    assert waiting.span(112.0) == 3.0
    waiting.take(changes(JOB, snapshot=True))
    with pytest.raises(WaitTimeoutError, match="within 15 s: it is Running, 45 %") as caught:
        waiting.span(115.0)
    assert isinstance(caught.value, (TimeoutError, WaitError))


def test_a_job_that_is_not_there_is_not_waited_for() -> None:
    with pytest.raises(NotFoundError):
        Waiting(KEY, until.finished(), None, 0.0).take(changes(snapshot=True))
    with pytest.raises(NotFoundError):
        Waiting(KEY, until.finished(), None, 0.0).take(changes(deleted=(KEY,)))
    assert Waiting(KEY, until.finished(), None, 0.0).take(changes()) is None


def test_a_server_that_goes_away_is_waited_for_but_not_one_that_never_was_there() -> None:
    waiting = Waiting(KEY, until.finished(), None, 0.0)
    gone = UnavailableError("gone", retry_after=7.0)
    with pytest.raises(UnavailableError, match="gone"):
        waiting.pause(gone)
    waiting.take(changes(JOB, snapshot=True))
    assert waiting.pause(gone) == 7.0
    assert 0 < waiting.pause(UnavailableError("gone")) <= 1.0
    assert waiting.pause(None) == 0.0


@pytest.mark.parametrize(
    "ask",
    [
        lambda: until.step("20"),  # type: ignore[arg-type]
        lambda: until.step(math.nan),  # type: ignore[arg-type]
        lambda: until.metric("loss").below(math.nan),
        lambda: until.metric("loss").above(None),  # type: ignore[arg-type]
        lambda: until.condition("Plateaued", for_=-3),
        lambda: until.condition("Plateaued", for_=timedelta(seconds=-1)),
        lambda: until.condition("Plateaued", for_=math.inf),
        until.state,
    ],
)
def test_what_can_never_be_is_said_at_once(ask: Callable[[], Until]) -> None:
    with pytest.raises(InvalidError):
        ask()


@pytest.mark.parametrize("other", [3, "Paused", None])
def test_a_question_goes_with_questions_only(other: object) -> None:
    with pytest.raises(TypeError):
        until.finished() | other  # type: ignore[operator]
    with pytest.raises(TypeError):
        until.finished() & other  # type: ignore[operator]
