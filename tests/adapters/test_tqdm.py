"""What follows from progress bars for the whole of a training, and what does not and so stays unknown."""

from __future__ import annotations

import io
import runpy
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.frameworks
std = pytest.importorskip("tqdm.std", reason="pip install --group frameworks")

from headway.adapters import tqdm as adapter  # noqa: E402
from headway.reporter.start import current_run  # noqa: E402

Look = tuple[int, int | None, float | None, float | None]
"""Steps, total, epoch, epochs."""


@pytest.fixture(scope="module", autouse=True)
def _hooked() -> Any:
    kept = {name: getattr(std.tqdm, name) for name in ("__init__", "__iter__", "update", "close")}
    adapter.hook(std)
    yield
    for name, method in kept.items():
        setattr(std.tqdm, name, method)


@pytest.fixture
def script(tmp_path: Path, heard: Any) -> Callable[[str], list[Look]]:
    """Runs a script; after each of its steps it is looked at what the run knows."""

    def run(code: str) -> list[Look]:
        looks: list[Look] = []

        def step() -> None:
            run = current_run()
            assert run is not None
            run.step()
            look()

        def look() -> None:
            slots = current_run()._slots  # type: ignore[union-attr]
            looks.append((slots.completed, slots.total_steps, slots.epoch, slots.total_epochs))

        before = "import headway, io\nfrom tqdm import tqdm, trange\nfrom functools import partial\n"
        before += "tqdm, trange = partial(tqdm, file=io.StringIO()), partial(trange, file=io.StringIO())\n"
        path = tmp_path / "train.py"
        path.write_text(before + "headway.track()\n" + textwrap.dedent(code))
        runpy.run_path(str(path), init_globals={"step": step, "look": look})
        return looks

    return run


def totals(looks: list[Look]) -> list[int | None]:
    return [look[1] for look in looks]


def test_one_bar_over_all_steps(script: Any) -> None:
    looks = script("""
        for _ in trange(10):
            step()
    """)
    assert totals(looks) == [None, None, *[10] * 8], "known when two items have had one step each"
    assert looks[-1][3] is None


def test_a_bar_that_is_switched_off_knows_as_much(script: Any) -> None:
    assert totals(script("for _ in tqdm(range(6), disable=True):\n    step()"))[-1] == 6


def test_a_resumed_bar_counts_from_where_it_is(script: Any) -> None:
    looks = script("""
        headway.current_run().step(100)
        for _ in tqdm(range(100, 110), initial=100, total=110):
            step()
    """)
    assert looks[-1][:2] == (110, 110)


def test_a_bar_that_is_moved_by_hand_around_loops_without_bars(script: Any) -> None:
    looks = script("""
        bar = tqdm(total=12)
        for epoch in range(3):
            for batch in range(4):
                step()
                bar.update(1)
        bar.close()
    """)
    assert totals(looks)[3:] == [12] * 9
    assert looks[-1][3] is None


def test_samples_by_hand(script: Any) -> None:
    looks = script("""
        with tqdm(total=96) as bar:
            for batch in range(12):
                step()
                bar.update(8)
    """)
    assert totals(looks)[-1] == 12


def test_epochs_with_batches_within(script: Any) -> None:
    looks = script("""
        for epoch in trange(3):
            for batch in tqdm(range(4), leave=False):
                step()
            for batch in tqdm(range(7)):
                pass    # evaluation
        look()
    """)
    assert totals(looks)[2:] == [12] * 11, "known in the first epoch already"
    assert looks[3][3] == 3
    assert looks[6][2] == pytest.approx(1.5, abs=0.3)
    assert looks[-1] == (12, 12, 3, 3)


def test_epochs_whose_batches_have_no_bar_are_known_after_the_first(script: Any) -> None:
    looks = script("""
        def train():
            for batch in range(4):
                step()
        def main():
            for epoch in trange(3):
                train()
        main()
    """)
    assert totals(looks) == [None] * 4 + [12] * 8
    assert looks[4][2:] == (1, 3)


def test_accumulation_counts_steps_not_batches(script: Any) -> None:
    looks = script("""
        for epoch in trange(2):
            for batch in trange(12):
                if batch % 3 == 2:
                    step()
    """)
    assert totals(looks)[-1] == 8
    assert None in totals(looks)
    assert set(totals(looks)) <= {None, 8}


def test_batches_that_do_not_divide_stay_unknown_until_an_epoch_tells(script: Any) -> None:
    looks = script("""
        for epoch in trange(3):
            for batch in trange(8):
                if batch % 3 == 2 or batch == 7:
                    step()
    """)
    assert totals(looks) == [None] * 3 + [9] * 6


UNKNOWN = {
    "an epoch's bar in a loop without one": """
        for epoch in range(3):
            for batch in trange(4):
                step()
    """,
    "the same in a function": """
        def train(batches):
            for batch in tqdm(batches):
                step()
        for epoch in range(3):
            train(range(4))
    """,
    "the same in a comprehension": """
        def train(batches):
            for batch in tqdm(batches):
                step()
        [train(range(4)) for epoch in range(3)]
    """,
    "a loop between two bars": """
        for epoch in trange(1):
            for shard in range(3):
                for batch in trange(4):
                    step()
    """,
    "a bar that does not know its own end": """
        for batch in tqdm(iter(range(8))):
            step()
    """,
    "a bar around an unknown number of epochs": """
        for epoch in tqdm(iter(range(2))):
            for batch in trange(4):
                step()
    """,
    "the preparation of data": """
        for row in trange(50):
            pass
        for _ in range(3):
            step()
    """,
    "a bar that was left open": """
        bar = tqdm(total=50)
        bar.update(20)
        for _ in range(8):
            step()
    """,
    "an irregular pace": """
        for batch in trange(12):
            if batch in (0, 2, 3, 7):
                step()
    """,
    "code without a source": """
        exec(compile("for _ in trange(6): step()", "<nowhere>", "exec"))
    """,
}


@pytest.mark.parametrize("code", UNKNOWN.values(), ids=UNKNOWN)
def test_what_does_not_follow_stays_unknown(script: Any, code: str) -> None:
    looks = script(code)
    assert set(totals(looks)) == {None}


def test_who_knows_better_is_heard(script: Any) -> None:
    looks = script("""
        headway.current_run().set_total(7)
        for _ in trange(10):
            step()
    """)
    assert set(totals(looks)) == {7}


def test_bars_begin_no_run(heard: Any) -> None:
    for _ in std.tqdm(range(20), disable=True):
        pass
    assert current_run() is None


def test_a_bar_that_is_closed_when_the_interpreter_has_cleared_its_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    bar, moving = std.tqdm(range(9), file=io.StringIO()), iter(std.tqdm(range(9), file=io.StringIO()))
    next(moving)
    monkeypatch.setattr(adapter, "_bars", None)
    bar.close()
    moving.close()


def test_a_bar_behaves_as_ever(heard: Any) -> None:
    bar = std.tqdm(iter([1, 2, 3]), total=3, disable=True)
    assert list(bar) == [1, 2, 3]
    with pytest.raises(ZeroDivisionError):
        _ = [1 / each for each in std.tqdm([1, 0], disable=True)]
    long = std.tqdm(range(3000), disable=True)
    assert sum(long) == sum(range(3000))
    assert adapter._bars.open == []
