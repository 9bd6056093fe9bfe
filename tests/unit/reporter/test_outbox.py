"""Batches are frozen, bounded and in order; bodies stay within the limit."""

from __future__ import annotations

import json
from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st

from headway.protocol.codec import dumps
from headway.protocol.limits import MAX_BODY_BYTES
from headway.protocol.report import Cell, Ending, EndingKind, Point, Progress, RunInfo, TrainerStatus
from headway.protocol.wire import decode_report, encode_point
from headway.reporter.compose import POINTS_BYTES, Moment, compose, fit
from headway.reporter.identity import Placement
from headway.reporter.outbox import Batch, Outbox


def points(*steps: int) -> list[Point]:
    return [Point(step, float(step), {"loss": Cell(1.0 / step)}) for step in steps]


def moment(**fields: object) -> Moment:
    given_fields = {
        "run": "R",
        "attempt": "A",
        "placement": Placement(),
        "sent_after": 1.0,
        "progress": Progress(step=1),
        "status": None,
    }
    return Moment(**{**given_fields, **fields})  # type: ignore[arg-type]


two = partial(lambda waiting, most: (waiting[:most], waiting[most:]), most=2)


def test_a_batch_stays_as_it_is_until_it_is_acknowledged() -> None:
    outbox = Outbox()
    outbox.add(points(1, 2, 3))
    first = outbox.next_batch(two)
    outbox.add(points(4))
    assert outbox.next_batch(two) is first
    assert [point.step for point in first.points] == [1, 2]
    outbox.delivered()
    second = outbox.next_batch(two)
    assert (second.seq, [point.step for point in second.points]) == (2, [3, 4])
    assert not outbox.empty
    outbox.delivered()
    assert outbox.empty


def test_what_waits_is_bounded_though_nobody_ever_asks_for_it() -> None:
    outbox = Outbox(most_waiting=100)
    for step in range(1, 2001):
        outbox.add(points(step))
    assert len(outbox.waiting) <= 200
    assert sum(point.metrics["loss"].n for point in outbox.waiting) == 2000


def test_the_ending_goes_with_the_last_points() -> None:
    outbox = Outbox()
    outbox.add(points(1, 2, 3))
    outbox.ending = Ending(kind=EndingKind.COMPLETED)
    assert outbox.next_batch(two).ending is None
    outbox.delivered()
    assert outbox.next_batch(two).ending is not None


def test_a_refused_batch_gets_smaller_until_nothing_is_left_to_leave_out() -> None:
    outbox = Outbox()
    outbox.add(points(1, 2, 3, 4, 5))
    outbox.ending = Ending(kind=EndingKind.COMPLETED)
    assert len(outbox.next_batch(fit).points) == 5
    assert outbox.shrink() is None
    assert [point.step for point in outbox.batch.points] == [1, 2]
    assert outbox.batch.ending is None
    assert [point.step for point in outbox.waiting] == [3, 4, 5]
    outbox.shrink()
    assert outbox.shrink() == "the point at step 1"
    assert outbox.shrink() is None
    assert outbox.batch.lean
    assert outbox.shrink() == "a report"
    assert [point.step for point in outbox.next_batch(fit).points] == [2, 3, 4, 5]
    assert outbox.batch.seq == 2


def test_thinning_is_bounded_keeps_both_ends_and_every_sample() -> None:
    outbox = Outbox(most_waiting=100)
    for step in range(1, 1001):
        outbox.add(points(step))
        outbox.thin()
    assert len(outbox.waiting) <= 101
    steps = [point.step for point in outbox.waiting]
    assert steps == sorted(steps)
    assert steps[:25] == list(range(1, 26))
    assert steps[-25:] == list(range(976, 1001))
    assert sum(point.metrics["loss"].n for point in outbox.waiting) == 1000


cells = st.builds(Cell, st.floats(), st.integers(1, 1000), st.floats(0, 1e9), st.just(0))
many_points = st.lists(
    st.builds(
        Point,
        st.integers(0, 10**6),
        st.floats(0, 1e6),
        st.dictionaries(st.text(max_size=30), cells, max_size=40),
    ),
    max_size=20,
)


@settings(max_examples=60, deadline=None)
@given(many_points, st.integers(500, 3000))
def test_fitting_keeps_every_value(given_points: list[Point], most: int) -> None:
    left, seen = given_points, []
    while left:
        fitted, left = fit(left, most)
        assert fitted
        assert len(dumps([encode_point(point) for point in fitted])) <= most + 2
        seen += fitted

    def values(many: list[Point]) -> list[tuple[int, str, str]]:
        return sorted((point.step, name, repr(cell)) for point in many for name, cell in point.metrics.items())

    assert values(given_points) == values(seen)


def test_a_name_that_is_too_long_for_any_body_is_lost_alone() -> None:
    fitted, rest = fit([Point(1, 0.0, {"x" * 5000: Cell(1.0), "loss": Cell(2.0)})], 1000)
    while rest:
        more, rest = fit(rest, 1000)
        fitted += more
    assert [point.metrics for point in fitted if point.metrics] == [{"loss": Cell(2.0)}]


def test_a_body_never_passes_the_limit_and_stays_readable() -> None:
    many = {f"{'m' * 50}{i:04}": "1" * 60 for i in range(256)}
    status = TrainerStatus(progress_percentage=5, metrics={"current_step": "1", **many})
    info = RunInfo(config={f"key {i}": "v" * 200 for i in range(200)})
    fitted, rest = fit([Point(step, step * 1.0, {"é" * 30: Cell(0.1, 5, 0.2)}) for step in range(3000)])
    assert rest
    batch = Batch(3, fitted)
    body = compose(batch, moment(status=status, info=info, stack="s" * 6000))
    assert len(body) <= MAX_BODY_BYTES
    report = decode_report(json.loads(body))
    assert len(report.headway.points) == len(fitted)
    assert report.status.metrics["current_step"] == "1"
    assert len(dumps([encode_point(point) for point in fitted])) <= POINTS_BYTES + 2


def test_a_plain_body_has_no_headway_object() -> None:
    status = TrainerStatus(progress_percentage=5, metrics={"loss": "1"})
    assert json.loads(compose(Batch(1, points(1)), moment(status=status), plain=True)) == {
        "trainerStatus": {"progressPercentage": 5, "metrics": [{"name": "loss", "value": "1"}]}
    }
