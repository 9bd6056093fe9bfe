"""Reports and answers on the wire: fixtures of every client, mending, and errors that name the field."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import InvalidError
from headway.protocol.directive import Answer, Directive, DirectiveKind
from headway.protocol.kubeflow import cells_of, progress_of, read_status, shorten, write_status
from headway.protocol.report import (
    Cell,
    Checkpoint,
    Ending,
    EndingKind,
    Phase,
    Point,
    Progress,
    Report,
    RunReport,
    TrainerStatus,
)
from headway.protocol.wire import decode_answer, decode_report, encode_answer, encode_report

FIXTURES = Path(__file__).parents[4] / "shared" / "cases" / "wire"


def fixture(name: str) -> Any:
    path = FIXTURES / name
    if not path.exists():
        pytest.skip("the wire fixtures lie beside the repository, and are not in a plain clone")
    return json.loads(path.read_text(encoding="utf-8"))


def run_report(**changes: Any) -> dict[str, Any]:
    return {"headway": {"version": 1, "run": "r", "attempt": "a", "seq": 1} | changes}


def test_a_headway_report_is_read_whole() -> None:
    report = decode_report(fixture("headway-report.json"))
    run = report.headway
    assert run is not None
    assert (run.seq, run.rank, run.world_size, run.sent_after) == (17, 0, 8, 820.4)
    assert run.progress == Progress(
        step=450,
        total_steps=1000,
        epoch=1.35,
        total_epochs=3,
        unit="optimizer_step",
        phase=Phase.TRAIN,
        last_step_age=0.8,
        step_seconds=1.79,
    )
    assert run.points[0] == Point(441, 812.4, {"loss": Cell(0.2391, 9, 0.0031), "learning_rate": Cell(1e-5)})
    assert math.isnan(run.points[1].metrics["grad_norm"].mean)
    assert run.points[1].metrics["grad_norm"].bad == 1
    assert run.checkpoint == Checkpoint(step=400, seconds=12.1)
    assert report.status is not None
    assert report.status.metrics["loss"] == "0.2347"
    assert report.warnings == ()


def test_numbers_of_progress_may_be_spelled_otherwise() -> None:
    said = {"step": 3.0, "totalSteps": 10, "epoch": 1, "stepSeconds": "NaN", "lastStepAge": 2}
    run = decode_report(run_report(progress=said)).headway
    assert run is not None
    progress = run.progress
    assert (progress.step, progress.epoch, progress.last_step_age) == (3, 1.0, 2.0)
    assert type(progress.step) is int
    assert type(progress.epoch) is float
    assert progress.step_seconds is not None
    assert math.isnan(progress.step_seconds)


def test_a_beat_has_no_status() -> None:
    report = decode_report(fixture("headway-beat.json"))
    assert report.status is None
    assert report.headway is not None
    assert report.headway.rank == 5
    assert report.headway.points == ()


def test_what_a_stock_client_breaks_is_mended_and_said() -> None:
    report = decode_report(fixture("stock-sdk-mendable.json"))
    assert report.status is not None
    assert report.status.progress_percentage == 45
    assert report.status.estimated_remaining_seconds == 12
    long, loss = report.status.metrics
    assert len(long) == 64
    assert loss == "loss"
    assert len(report.warnings) == 4


def test_a_stock_posts_step_total_and_epoch_are_read_from_its_metrics() -> None:
    report = decode_report(fixture("stock-transformers.json"))
    assert report.status is not None
    assert progress_of(report.status) == Progress(step=450, total_steps=1000, epoch=1.35, unit="optimizer_step")
    assert set(cells_of(report.status)) == {"loss", "grad_norm", "learning_rate"}


@pytest.mark.parametrize("total", ["-1", "0", "9223372036854775807", "nan", "inf", "many"])
def test_a_total_that_means_unknown_is_unknown(total: str) -> None:
    status = TrainerStatus(metrics={"current_step": "5", "total_steps": total})
    assert progress_of(status).total_steps is None
    assert progress_of(status).step == 5


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ([], "body"),
        ({"trainerStatus": []}, "trainerStatus"),
        ({"trainerStatus": {"progressPercentage": "45"}}, "trainerStatus.progressPercentage"),
        ({"trainerStatus": {"progressPercentage": True}}, "trainerStatus.progressPercentage"),
        ({"trainerStatus": {"metrics": {}}}, "trainerStatus.metrics"),
        ({"trainerStatus": {"metrics": [3]}}, "trainerStatus.metrics[0]"),
        ({"trainerStatus": {"metrics": [{"name": 3, "value": "1"}]}}, "trainerStatus.metrics[0].name"),
        ({"trainerStatus": {"metrics": [{"name": "a", "value": None}]}}, "trainerStatus.metrics[0].value"),
        ({"trainerStatus": {"lastUpdatedTime": 5}}, "trainerStatus.lastUpdatedTime"),
        ({"headway": 3}, "headway"),
        (run_report(run=""), "headway.run"),
        (run_report(run=7), "headway.run"),
        (run_report(seq=0), "headway.seq"),
        (run_report(seq=None), "headway.seq"),
        (run_report(rank=-1), "headway.rank"),
        (run_report(sentAfter="now"), "headway.sentAfter"),
        (run_report(points={}), "headway.points"),
        (run_report(points=[[1, 2]]), "headway.points[0]"),
        (run_report(points=[[1, 2, {}], [1, 2, []]]), "headway.points[1][2]"),
        (run_report(points=[["1", 2, {}]]), "headway.points[0][0]"),
        (run_report(points=[[1, None, {}]]), "headway.points[0][1]"),
        (run_report(points=[[1, 2, {"loss": "low"}]]), "headway.points[0][2].loss"),
        (run_report(points=[[1, 2, {"loss": [1.0, 2]}]]), "headway.points[0][2].loss"),
        (run_report(points=[[1, 2, {"loss": [1.0, 0, 0.0]}]]), "headway.points[0][2].loss"),
        (run_report(points=[[1, 2, {"loss": [1.0, 3, -1.0]}]]), "headway.points[0][2].loss[2]"),
        (run_report(points=[[1, 2, {"loss": [1.0, 3, 0.0, 4]}]]), "headway.points[0][2].loss"),
        (run_report(run="a\0b"), "headway.run"),
        (run_report(seq=2**63), "headway.seq"),
        (run_report(progress={"step": 2**63}), "headway.progress.step"),
        (run_report(points=[[2**63, 2, {}]]), "headway.points[0][0]"),
        (run_report(points=[[1, 1e300, {}]]), "headway.points[0][1]"),
        (run_report(points=[[1, "NaN", {}]]), "headway.points[0][1]"),
        (run_report(points=[[1, 2, {"loss": [1.0, 2**63, 0.0]}]]), "headway.points[0][2].loss[1]"),
        (run_report(points=[[1, 2, {"lo\0ss": 1.0}]]), "headway.points[0][2]"),
        (run_report(ending={"kind": "exploded"}), "headway.ending.kind"),
        (run_report(acks=[3]), "headway.acks[0]"),
        (run_report(acks={}), "headway.acks"),
        (run_report(progress=[]), "headway.progress"),
        (run_report(progress={"step": 1.5}), "headway.progress.step"),
        (run_report(progress={"step": True}), "headway.progress.step"),
        (run_report(progress={"epoch": "one"}), "headway.progress.epoch"),
        (run_report(progress={"epoch": 10**400}), "headway.progress.epoch"),
        (run_report(progress={"phase": "sleep"}), "headway.progress.phase"),
        (run_report(progress={"unit": []}), "headway.progress.unit"),
    ],
)
def test_a_wrong_type_is_refused_by_name(body: object, field: str) -> None:
    with pytest.raises(InvalidError) as caught:
        decode_report(body)
    assert caught.value.field == field


@pytest.mark.parametrize("total", [2**63 - 1, 1e300])
def test_a_total_without_end_is_unknown(total: float) -> None:
    run = decode_report(run_report(progress={"step": 5, "totalSteps": total})).headway
    assert run is not None
    assert run.progress == Progress(step=5)


def test_a_report_of_an_unknown_version_is_answered_as_a_stock_post() -> None:
    body = {"trainerStatus": {"progressPercentage": 5}, "headway": {"version": 99, "shape": "unheard of"}}
    report = decode_report(body)
    assert report.headway is None
    assert report.status == TrainerStatus(progress_percentage=5)
    assert "99" in report.warnings[0]


def test_values_of_stock_metrics_are_kept_within_limits() -> None:
    long_number = "0." + "3" * 100
    status, warnings = read_status({"metrics": [{"name": "a", "value": long_number}, {"name": "b", "value": "x" * 70}]})
    assert status.metrics == {"a": long_number}
    assert len(warnings) == 1


def test_three_hundred_metrics_are_taken_in() -> None:
    status, warnings = read_status({"metrics": [{"name": f"m{i}", "value": str(i)} for i in range(300)]})
    assert len(status.metrics) == 300
    assert "300" in warnings[0]
    assert len(write_status(status)["metrics"]) == 256


@given(st.sets(st.text(min_size=1, max_size=200), max_size=30))
def test_shortened_names_fit_and_stay_distinct(names: set[str]) -> None:
    short = {shorten(name) for name in names}
    assert len(short) == len(names)
    assert all(len(name) <= 64 for name in short)


words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=9)
cells = st.builds(Cell, st.floats(), st.integers(2, 99), st.floats(0, 1e9), st.just(0)) | st.floats().map(
    lambda value: Cell(value, bad=0 if math.isfinite(value) else 1)
)
reports = st.builds(
    RunReport,
    run=words,
    seq=st.integers(1, 10**9),
    attempt=words,
    rank=st.integers(0, 9),
    progress=st.builds(Progress, step=st.integers(0, 10**12) | st.none(), phase=st.sampled_from(Phase) | st.none()),
    points=st.lists(
        st.builds(
            Point,
            st.integers(0, 10**9),
            st.integers(0, 10**9).map(float),
            st.dictionaries(words, cells, max_size=4),
        ),
        max_size=4,
    ).map(tuple),
    ending=st.builds(Ending, kind=st.sampled_from(EndingKind)) | st.none(),
    acks=st.lists(st.text(), max_size=2).map(tuple),
)


@given(reports)
def test_a_report_comes_back_as_it_was(run: RunReport) -> None:
    text = json.dumps(encode_report(Report(headway=run)), allow_nan=False)
    assert repr(decode_report(json.loads(text)).headway) == repr(run)


def test_an_answer_comes_back_as_it_was() -> None:
    answer = Answer(
        ack=17,
        interval=5.0,
        directives=(Directive(id="d", kind=DirectiveKind.STOP, reason="asked"),),
        warnings=("w",),
        want=("job",),
        grace=4.5,
    )
    assert decode_answer(json.loads(json.dumps(encode_answer(answer)))) == answer


def test_a_stock_servers_answer_holds_no_headway() -> None:
    assert decode_answer({"trainerStatus": {"progressPercentage": 3}}) is None


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("2026-11-30T08:00:00Z", True),
        ("2026-11-30T08:00:00.123456789+01:00", True),
        ("2026-11-30T12:99:00Z", False),
        ("2026-11-30", False),
        ("20261130T080000Z", False),
        ("", False),
        ("now \ud800", False),
    ],
)
def test_a_time_that_is_none_is_dropped_with_a_word(text: str, kept: bool) -> None:
    status, warnings = read_status({"progressPercentage": 3, "lastUpdatedTime": text})
    assert status.progress_percentage == 3
    assert status.last_updated_time == (text if kept else None)
    assert bool(warnings) is not kept
