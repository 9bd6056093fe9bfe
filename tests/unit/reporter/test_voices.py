"""Several layers see one step; the outermost that counts is heard, and one step stays one step."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from headway.protocol.report import Unit
from headway.reporter.fold import Folder
from headway.reporter.notices import Notices
from headway.reporter.run import Run, inert_run
from headway.reporter.slots import Layer, Slots
from headway.reporter.snapshot import Snapshot
from headway.reporter.voice import Voice


class Desk:
    """Slots with a script that reports, and what the reporter's thread makes of them."""

    def __init__(self, start: int = 0) -> None:
        self.slots = Slots(start, Unit.OPTIMIZER_STEP)
        self.script = Run(self.slots, object())  # type: ignore[arg-type]
        self.folder = Folder(self.slots, origin=0.0)
        self.snapshot = Snapshot(self.slots, origin=0.0, notices=Notices())

    def voice(self, layer: Layer, *, claims: bool = False, start: int = 0) -> Voice:
        voice = Voice(self.slots, layer, start, Unit.OPTIMIZER_STEP, claims=claims)
        self.slots.join(voice)
        return voice

    def points(self) -> list[tuple[int, dict[str, float]]]:
        folded = self.folder.fold()
        self.snapshot.take_in(folded, 1.0)
        return [
            (point.step, {name: cell.mean for name, cell in sorted(point.metrics.items())}) for point in folded.points
        ]


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_the_outermost_that_counts_is_heard_and_the_others_only_count(desk: Desk) -> None:
    optimizer, engine = desk.voice(Layer.OPTIMIZER), desk.voice(Layer.ENGINE)
    optimizer.step(learning_rate=0.1)
    assert desk.slots.step == 1
    for _ in range(3):
        optimizer.step(learning_rate=0.1)
        engine.step(loss=2.0)
    assert desk.points() == [(3, {"loss": 2.0})]
    assert desk.slots.heard is engine
    assert optimizer.last_step == 4
    assert desk.snapshot.progress(1.0).step == 3


def test_a_trainer_that_claims_the_loop_is_heard_before_its_first_step(desk: Desk) -> None:
    optimizer, trainer = desk.voice(Layer.OPTIMIZER), desk.voice(Layer.TRAINER, claims=True, start=400)
    optimizer.step(learning_rate=0.1)
    assert desk.points() == []
    assert desk.slots.completed == 400
    assert not desk.snapshot.stepped
    trainer.step(401, loss=1.0)
    assert desk.points() == [(401, {"loss": 1.0})]
    assert desk.snapshot.stepped
    assert desk.snapshot.progress(1.0).step == 401


def test_what_is_logged_before_the_first_look_is_no_start(desk: Desk) -> None:
    trainer = desk.voice(Layer.TRAINER, claims=True)
    for step in range(1, 4):
        trainer.step(step, loss=1.0)
        trainer.log(step, grad_norm=2.0)
    desk.points()
    assert desk.snapshot.phase == "train"
    assert desk.snapshot.progress(1.0).last_step_age is not None
    assert [step for step, _ in desk.snapshot.marks] == [1, 2, 3], "what the pace of the next steps is judged by"


def test_the_script_goes_before_every_other_once_it_steps(desk: Desk) -> None:
    trainer = desk.voice(Layer.TRAINER, claims=True)
    trainer.step(loss=1.0)
    desk.script.step(loss=3.0)
    trainer.step(loss=2.0)
    assert desk.points() == [(1, {"loss": 3.0})]


def test_what_the_script_logs_stands_beside_the_steps_of_a_trainer(desk: Desk) -> None:
    trainer = desk.voice(Layer.TRAINER, claims=True)
    trainer.step(7, loss=1.0)
    desk.script.log(accuracy=0.5)
    assert desk.points() == [(7, {"loss": 1.0}), (7, {"accuracy": 0.5})]
    assert desk.slots.heard is trainer


def test_a_script_that_tracks_counts_for_itself_and_no_hook_does_it_for_it(desk: Desk) -> None:
    desk.slots.scripted = True
    optimizer = desk.voice(Layer.OPTIMIZER)
    for _ in range(500):
        optimizer.step(learning_rate=0.1)
    assert desk.points() == []
    desk.script.step(1, loss=1.0)  # it counts epochs
    assert desk.points() == [(1, {"loss": 1.0})]


def test_a_hook_that_the_script_asked_for_counts_beside_its_track(desk: Desk) -> None:
    desk.slots.scripted = True
    optimizer = desk.voice(Layer.OPTIMIZER, claims=True)
    optimizer.step(learning_rate=0.1)
    assert desk.points() == [(1, {"learning_rate": 0.1})]


def test_an_engine_that_has_not_counted_yet_is_not_muted_by_a_script_that_tracks(desk: Desk) -> None:
    desk.slots.scripted = True
    engine = desk.voice(Layer.ENGINE)
    engine.step(loss=1.0)
    assert desk.points() == [(1, {"loss": 1.0})]


def test_totals_and_epochs_come_from_the_outermost_that_knows_them(desk: Desk) -> None:
    bar, trainer = desk.voice(Layer.BAR), desk.voice(Layer.TRAINER, claims=True)
    bar.set_total(100)
    bar.set_epoch(0.5, 3)
    assert (desk.slots.total_steps, desk.slots.epoch, desk.slots.total_epochs) == (100, 0.5, 3)
    trainer.set_total(80)
    assert (desk.slots.total_steps, desk.slots.total_epochs) == (80, 3)
    desk.script.set_total(90)
    assert desk.slots.total_steps == 90


def test_the_framework_is_named_by_the_outermost(desk: Desk) -> None:
    slots = desk.slots
    assert slots.built_with("deepspeed", Layer.ENGINE)
    assert slots.built_with("transformers", Layer.TRAINER)
    assert not slots.built_with("pytorch", Layer.OPTIMIZER)
    assert slots.framework == (Layer.TRAINER, "transformers")


def test_a_muted_voice_keeps_nothing_and_reads_no_value(desk: Desk) -> None:
    class Touchy:
        def __float__(self) -> float:
            raise AssertionError("it was read")

    optimizer, trainer = desk.voice(Layer.OPTIMIZER), desk.voice(Layer.TRAINER, claims=True)
    optimizer.step(loss=Touchy())
    optimizer.log(loss=Touchy())
    trainer.step(loss=1.0)
    assert not optimizer.entries
    assert desk.points() == [(1, {"loss": 1.0})]


def test_a_voice_that_is_copied_with_a_model_says_nothing(desk: Desk) -> None:
    engine = desk.voice(Layer.ENGINE)
    engine.step(loss=1.0)
    copy = pickle.loads(pickle.dumps(engine))
    copy.step(loss=2.0)
    assert not copy.entries
    assert desk.points() == [(1, {"loss": 1.0})]


def test_where_a_checkpoint_lies_is_told_in_full(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "saved").mkdir()
    monkeypatch.chdir(tmp_path)
    voice = desk.voice(Layer.TRAINER)
    told = []
    for path in ("saved", "bucket://run/7", Path("not-there")):
        voice.checkpointed(7, path=path)
        assert desk.slots.checkpoint is not None
        told.append(desk.slots.checkpoint.path)
    assert told == [str(tmp_path / "saved"), "bucket://run/7", "not-there"]


def test_the_end_of_the_run_mutes_all_its_voices() -> None:
    slots = Slots(0, Unit.OPTIMIZER_STEP)
    run = inert_run(slots)
    trainer = Voice(slots, Layer.TRAINER, 0, Unit.OPTIMIZER_STEP, claims=True)
    slots.join(trainer)
    run._silence()
    trainer.step(loss=1.0)
    assert not trainer.entries


def test_notes_go_as_means_with_the_next_step_of_whoever_is_heard(desk: Desk) -> None:
    optimizer, engine = desk.voice(Layer.OPTIMIZER), desk.voice(Layer.ENGINE, claims=True)
    for loss in (1.0, 2.0, 6.0):
        optimizer.note(loss=loss)
    desk.script.note(grad_norm=0.5)
    optimizer.step(learning_rate=0.1)
    engine.step(loss_scale=8.0)
    assert desk.points() == [(1, {"loss": 3.0, "loss_scale": 8.0, "grad_norm": 0.5})]
    engine.step()
    assert desk.points() == [(2, {})], "they are said once"


def test_what_a_step_says_itself_goes_before_a_note(desk: Desk) -> None:
    desk.script.note(loss=1.0)
    desk.script.step(loss=2.0)
    assert desk.points() == [(1, {"loss": 2.0})]


def test_values_on_several_devices_are_not_added_up(desk: Desk) -> None:
    class DTensor:
        """Where adding would be a collective call."""

        __module__ = "torch"

        def __add__(self, other: object) -> None:
            raise AssertionError("it was added")

        def __float__(self) -> float:
            return 7.0

    desk.script.note(loss=DTensor())
    desk.script.note(loss=DTensor())
    desk.script.step()
    assert desk.slots.samples.flying["loss"][-1].read() == 7.0


def test_a_note_holds_no_graph_and_no_later_change() -> None:
    torch = pytest.importorskip("torch", reason="pip install --group frameworks")
    desk = Desk()
    weight = torch.ones((), requires_grad=True)
    loss = weight * 2
    desk.script.note(loss=loss, norm=loss.detach())
    loss.detach().add_(1)
    desk.script.step()
    assert desk.points() == [(1, {"loss": 2.0, "norm": 2.0})]
