"""Steps become points: exact means, honest counts, the newest of what a device has ready."""

from __future__ import annotations

import math
import statistics
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.protocol.report import Cell, Point, Unit
from headway.reporter.fold import Folder, merge, summarize
from headway.reporter.run import Run
from headway.reporter.scalars import Kind, Samples, kind_of
from headway.reporter.slots import MOST_ENTRIES, Slots

finite = st.floats(allow_nan=False, allow_infinity=False, width=32)


@pytest.fixture
def slots() -> Slots:
    return Slots(0, Unit.OPTIMIZER_STEP)


@given(st.lists(finite, min_size=2, max_size=50), st.integers(0, 3))
def test_means_and_deviations_are_those_of_the_finite_values(values: list[float], bad: int) -> None:
    cell = summarize([*values, *[math.nan] * bad])
    assert cell is not None
    assert cell.n == len(values) + bad
    assert cell.bad == bad
    assert cell.mean == pytest.approx(statistics.fmean(values), rel=1e-12, abs=1e-12)
    assert cell.m2 == pytest.approx(statistics.pvariance(values) * len(values), rel=1e-6, abs=1e-6)


def test_extremes_do_not_overflow() -> None:
    assert summarize([1.7e308, 1.7e308]) == Cell(1.7e308, 2, 0.0)
    assert summarize([-1.7e308, 1.7e308, 1.0]).n == 3
    assert summarize([math.inf, math.inf]) == Cell(math.inf, 2, 0.0, 2)
    assert math.isnan(summarize([math.inf, -math.inf]).mean)
    assert summarize([10**400, 1j]) is None


@given(st.lists(st.one_of(finite, st.just(math.nan)), min_size=2, max_size=30), st.data())
def test_merging_two_points_is_folding_all_their_values_at_once(values: list[float], data) -> None:
    cut = data.draw(st.integers(1, len(values) - 1))
    older, newer = (
        Point(step, float(step), {"loss": summarize(part)}) for step, part in ((3, values[:cut]), (7, values[cut:]))
    )
    merged, whole = merge(older, newer), summarize(values)
    assert merged[:2] == (7, 7.0)
    cell = merged.metrics["loss"]
    assert (cell.n, cell.bad) == (whole.n, whole.bad)
    assert cell.mean == pytest.approx(whole.mean, rel=1e-9, abs=1e-9, nan_ok=True)
    assert cell.m2 == pytest.approx(whole.m2, rel=1e-6, abs=1e-6, nan_ok=True)


def test_one_point_for_a_tick_and_one_for_each_log(slots: Slots) -> None:
    for step in (1, 2, 3):
        slots.entries.append((step, 10.0 + step, {"loss": float(step)}))
    slots.entries.append((3, 13.5, {"eval_loss": 0.5}, True))
    folder = Folder(slots, origin=10.0)
    folded = folder.fold()
    assert folded.points == [Point(3, 3.0, {"loss": Cell(2.0, 3, 2.0)}), Point(3, 3.5, {"eval_loss": Cell(0.5)})]
    assert (folded.last_step, folded.last_step_at, folded.durations) == (3, 13.0, [1.0, 1.0])
    assert folder.fold().points == []


def test_metrics_that_come_now_and_then_are_counted_by_themselves(slots: Slots) -> None:
    slots.entries.append((1, 1.0, {"loss": 1.0}))
    slots.entries.append((2, 2.0, {"loss": 3.0, "lr": 0.1}))
    slots.entries.append((3, 3.0, {}))
    (point,) = Folder(slots, origin=0.0).fold().points
    assert point == Point(3, 3.0, {"loss": Cell(2.0, 2, 2.0), "lr": Cell(0.1)})


def test_a_run_far_too_fast_keeps_its_count_and_the_newest_values() -> None:
    slots = Slots(0, Unit.OPTIMIZER_STEP)
    reporter = SimpleNamespace()
    run = Run(slots, reporter)
    for _ in range(MOST_ENTRIES + 10):
        run.step(loss=1.0)
    (point,) = Folder(slots, origin=0.0).fold().points
    assert point.step == MOST_ENTRIES + 10
    assert point.metrics["loss"].n == MOST_ENTRIES


class _Cuda:
    type = "cuda"


class Device:
    """A stand-in for an accelerator: work completes when told; a wait for it is an error."""

    def __init__(self) -> None:
        self.done = 0
        self.queued = 0
        self.capturing = False
        self.copies = 0

    def module(self) -> SimpleNamespace:
        device = self

        class Event:
            def record(self, _stream: object) -> None:
                device.queued += 1
                self.number = device.queued

            def query(self) -> bool:
                return self.number <= device.done

        class Stream:
            def __init__(self, _device: object) -> None: ...

        class Context:
            def __init__(self, _stream: object) -> None: ...
            def __enter__(self) -> None: ...
            def __exit__(self, *_: object) -> None: ...

        cuda = SimpleNamespace(
            Event=Event,
            Stream=Stream,
            stream=Context,
            current_stream=lambda _device: None,
            is_current_stream_capturing=lambda: device.capturing,
        )
        return SimpleNamespace(cuda=cuda)

    def scalar(self, value: float) -> object:
        device = self

        class Tensor:
            is_cpu, is_cuda = False, True
            device = _Cuda()

            def __init__(self, number: float, *, copy: bool = False) -> None:
                self.number, self.copy = number, copy

            def numel(self) -> int:
                return 1

            def detach(self) -> Tensor:
                return self

            def clone(self) -> Tensor:
                assert not device.capturing
                device.copies += 1
                return Tensor(self.number, copy=True)

            def item(self) -> float:
                raise AssertionError("the training thread waited for the device")

            def __float__(self) -> float:
                assert self.copy
                assert device.done == device.queued or device.done > 0
                return self.number

        Tensor.__module__, Tensor.__qualname__ = "torch", "Tensor"
        return Tensor(value)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    made = Device()
    monkeypatch.setitem(__import__("sys").modules, "torch", made.module())
    return made


def _step(slots: Slots, step: int, now: float, **metrics: object) -> None:
    slots.samples.sort_out(metrics, step, now)
    slots.entries.append((step, now, metrics))


def test_a_device_value_is_copied_a_few_times_a_second_and_read_once_it_is_there(slots: Slots, device: Device) -> None:
    folder = Folder(slots, origin=0.0)
    for step in range(1, 101):
        _step(slots, step, step * 0.01, loss=device.scalar(float(step)), lr=0.5)
    assert 9 <= device.copies <= 11
    device.done = device.copies - 2  # the newest two are not complete
    (point,) = folder.fold().points
    assert point.metrics["lr"].n == 100
    assert point.step == 100
    assert 70 < point.metrics["loss"].mean < 90
    device.done = device.copies
    (late,) = folder.fold().points  # no new step: it goes to its own
    assert late.metrics["loss"].mean == late.step


def test_nothing_is_queued_while_a_graph_is_captured(slots: Slots, device: Device) -> None:
    device.capturing = True
    _step(slots, 1, 1.0, loss=device.scalar(1.0))
    log = {"eval_loss": device.scalar(1.0), "x": 1.0}
    slots.samples.sort_out(log, 1, 1.0, log=True)
    assert log == {"x": 1.0}
    device.capturing = False
    _step(slots, 2, 1.01, loss=device.scalar(2.0))
    device.done = 9
    (point,) = Folder(slots, origin=0.0).fold().points
    assert point.metrics == {"loss": Cell(2.0)}
    assert slots.samples.left_out == {}


def test_a_log_waits_for_its_values_and_keeps_each(slots: Slots, device: Device, monkeypatch) -> None:
    monkeypatch.setattr("headway.reporter.fold.time.monotonic", lambda: 1.0)
    folder = Folder(slots, origin=0.0)
    for step in (1, 2):
        metrics = {"eval_loss": device.scalar(float(step)), "count": 3}
        slots.samples.sort_out(metrics, step, 0.5, log=True)
        slots.entries.append((step, 0.5, metrics, True))
    assert folder.fold().points == []
    assert folder.owes()
    device.done = 2
    assert [point.metrics for point in folder.fold().points] == [
        {"eval_loss": Cell(1.0), "count": Cell(3.0)},
        {"eval_loss": Cell(2.0), "count": Cell(3.0)},
    ]
    assert not folder.owes()


def test_a_process_that_only_beats_copies_nothing(slots: Slots, device: Device) -> None:
    slots.samples.want(wanted=False)
    _step(slots, 1, 1.0, loss=device.scalar(1.0))
    folded = Folder(slots, origin=0.0).fold()
    assert device.copies == 0
    assert folded.points == []
    assert folded.last_step == 1


def test_a_float_that_raises_is_left_out_and_told(slots: Slots) -> None:
    class Broken:
        def __float__(self) -> float:
            raise RuntimeError("deleted")

    folder = Folder(slots, origin=0.0)
    _step(slots, 1, 1.0, loss=Broken(), lr=1.0)
    (point,) = folder.fold().points
    assert point.metrics == {"lr": Cell(1.0)}
    assert "deleted" in folder.unreadable["loss"]


def test_kinds_of_types() -> None:
    class Tracer:
        __module__ = "jax._src.core"
        __float__ = None

    Tracer.__qualname__ = "Tracer"
    assert kind_of(str) is Kind.OUT
    assert kind_of(type(None)) is Kind.OUT
    assert kind_of(bool) is Kind.PLAIN
    assert kind_of(Tracer) is Kind.OUT
    assert kind_of(complex) is Kind.OUT
    assert Samples().flying == {}
