"""A training script as a user would write one, but for its fates: tracked by two lines, saves checkpoints, resumes from them.

``python -m headway.demo.train --folder out --seconds 60`` trains for about a minute on one core.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import cos, pi
from pathlib import Path

import numpy as np

import headway
from headway.demo import corpus, model
from headway.demo.collective import Group

_PACE = 25.0
"""Most steps a second: a demo must leave the machine to its owner."""
_SHARE = 0.5
"""Part of the measured speed that is counted on, since several jobs share the machine."""
_CHARACTERS = 300_000
_EVALUATIONS = 12
_CHECKPOINTS = 12
_CLIP = 2.0
_NOTHING = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is trained, and how it goes wrong."""

    folder: Path
    """Where checkpoints lie; training resumes from one that is there."""
    seconds: float = 60.0
    """Length wanted; the number of steps is made from it and the measured speed."""
    steps: int | None = None
    """Number of steps; overrides ``seconds``."""
    batch: int = 64
    optimizer: str = "adam"
    learning_rate: float = 0.006
    warmup: float = 0.05
    """Part of the run in which the learning rate rises; above 1, a number of steps."""
    clip: bool = True
    """Limit the norm of the gradient."""
    decay_by: float | None = None
    """Part of the run after which the learning rate has come to nothing; None: a tenth is left at the end."""
    crash_at: float | None = None
    """Part of the run after which the first attempt fails."""
    hang_at: float | None = None
    """Part of the run after which the other rank of a group of two no longer answers."""
    seed: int = 0


def schedule(settings: Settings, step: int, total: int) -> float:
    """Learning rate of step ``step`` of ``total``: a linear rise, then half a cosine down to a tenth, or early to nothing."""
    rise = settings.warmup if settings.warmup > 1 else settings.warmup * total
    if step < rise:
        return settings.learning_rate * step / rise
    end, least = (total, 0.1) if settings.decay_by is None else (max(rise + 1, settings.decay_by * total), _NOTHING)
    share = min(1.0, (step - rise) / max(1.0, end - rise))
    return settings.learning_rate * (least + (1 - least) * (1 + cos(pi * share)) / 2)


class Training:
    """Parameters, optimizer and random state: all that a checkpoint holds."""

    def __init__(self, settings: Settings, text: corpus.Corpus) -> None:
        self.settings = settings
        self.text = text
        self.random = np.random.default_rng(settings.seed)
        self.parameters = model.initial(len(text.characters), self.random)
        self.optimizer = (model.Adam if settings.optimizer == "adam" else model.Momentum)(self.parameters)
        self.step = 0
        self.total = 0

    def advance(self) -> tuple[float, float, float]:
        """One optimizer step: loss, norm of the gradient, learning rate."""
        self.step += 1
        inputs, targets = corpus.batch(self.text.train, self.settings.batch, model.CONTEXT, self.random)
        loss, gradient = model.loss_and_gradient(self.parameters, inputs, targets)
        norm = model.norm(gradient)
        if self.settings.clip and norm > _CLIP:
            gradient = {name: part * np.float32(_CLIP / norm) for name, part in gradient.items()}
        rate = schedule(self.settings, self.step, self.total)
        self.optimizer.update(self.parameters, gradient, self.step, rate)
        return loss, norm, rate

    def evaluate(self) -> float:
        """Loss on 2,000 passages held out, always the same."""
        inputs, targets = corpus.batch(self.text.validation, 2000, model.CONTEXT, np.random.default_rng(1))
        return model.loss_only(self.parameters, inputs, targets)

    @property
    def checkpoint(self) -> Path:
        """Where the newest checkpoint lies."""
        return self.settings.folder / "checkpoint.npz"

    def save(self) -> float:
        """Writes a checkpoint; a crash while writing leaves the one before. Seconds it took."""
        began = time.monotonic()
        arrays = {f"p_{name}": value for name, value in self.parameters.items()}
        arrays |= {f"m_{name}": value for name, value in self.optimizer.first.items()}
        arrays |= {f"v_{name}": value for name, value in self.optimizer.second.items()}
        temporary = self.checkpoint.with_name("writing.npz")
        state = repr(self.random.bit_generator.state)
        np.savez(temporary, step=self.step, total=self.total, random=np.array(state), **arrays)
        temporary.replace(self.checkpoint)
        return time.monotonic() - began

    def restore(self) -> bool:
        """Takes up a checkpoint, if there is one."""
        if not self.checkpoint.exists():
            return False
        import ast

        with np.load(self.checkpoint) as kept:
            self.step, self.total = int(kept["step"]), int(kept["total"])
            self.random.bit_generator.state = ast.literal_eval(str(kept["random"]))
            for prefix, parts in (("p", self.parameters), ("m", self.optimizer.first), ("v", self.optimizer.second)):
                for name in parts:
                    parts[name] = kept[f"{prefix}_{name}"]
        return True


def measured_steps(settings: Settings, text: corpus.Corpus) -> int:
    """How many steps fit into ``settings.seconds`` on this machine, by a few steps on the side."""
    trial = Training(settings, text)
    trial.total = 1_000_000
    trial.advance()
    began = time.monotonic()
    for _ in range(10):
        trial.advance()
    speed = _SHARE * 10 / max(1e-6, time.monotonic() - began)
    return max(50, int(settings.seconds * min(_PACE, speed)))


def train(settings: Settings) -> float:
    """Trains to the end, or from a checkpoint to the end. The last evaluation's loss."""
    settings.folder.mkdir(parents=True, exist_ok=True)
    text = corpus.load(_CHARACTERS)
    training = Training(settings, text)
    resumed = training.restore()
    if not resumed:
        training.total = settings.steps or measured_steps(settings, text)
    total = training.total
    print(f"{'resuming at' if resumed else 'starting at'} step {training.step} of {total}", flush=True)
    group = None if settings.hang_at is None else Group(round(settings.hang_at * total))
    fates = {"folder", "steps", "crash_at", "hang_at"}
    config = {name: value for name, value in asdict(settings).items() if name not in fates and value is not None}
    epoch = settings.batch * model.CONTEXT / len(text.train)  # of characters read
    loss = evaluation = float("nan")
    with (
        headway.track(
            total_steps=total, start_step=training.step, config=config, total_epochs=round(total * epoch, 2)
        ) as run,
        np.errstate(over="ignore", invalid="ignore"),
    ):
        due = time.monotonic()
        while training.step < total:
            loss, norm, rate = training.advance()
            if group is not None:
                loss = group.all_reduce(loss)
            run.step(loss=loss, grad_norm=norm, learning_rate=rate)
            run.set_epoch(training.step * epoch)
            if training.step % max(1, total // _EVALUATIONS) == 0 or training.step == total:
                with run.phase("eval"):
                    evaluation = training.evaluate()
                run.log(eval_loss=evaluation, step=training.step)
                print(f"step {training.step}/{total}  loss {loss:.4f}  eval loss {evaluation:.4f}", flush=True)
            if training.step % max(1, total // _CHECKPOINTS) == 0:
                with run.phase("checkpoint"):
                    seconds = training.save()
                run.checkpointed(training.step, seconds=seconds, path=str(training.checkpoint))
            if settings.crash_at is not None and not resumed and training.step >= settings.crash_at * total:
                raise RuntimeError(f"lost the data loader at step {training.step} (this crash is part of the demo)")
            if run.should_stop:
                training.save()
                print(f"asked to stop at step {training.step}", flush=True)
                break
            due = max(due + 1 / _PACE, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))
    return evaluation


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m headway.demo.train", description=__doc__.splitlines()[0])
    defaults = Settings(folder=Path())
    parser.add_argument("--folder", type=Path, default=Path("checkpoints"))
    parser.add_argument("--seconds", type=float, default=defaults.seconds)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--batch", type=int, default=defaults.batch)
    parser.add_argument("--optimizer", choices=["adam", "momentum"], default=defaults.optimizer)
    parser.add_argument("--learning-rate", type=float, default=defaults.learning_rate)
    parser.add_argument("--warmup", type=float, default=defaults.warmup)
    parser.add_argument("--clip", action=argparse.BooleanOptionalAction, default=defaults.clip)
    parser.add_argument("--decay-by", type=float)
    parser.add_argument("--crash-at", type=float)
    parser.add_argument("--hang-at", type=float)
    parser.add_argument("--seed", type=int, default=defaults.seed)
    evaluation = train(Settings(**vars(parser.parse_args(arguments))))
    print(f"done: eval loss {evaluation:.4f} nats a character", flush=True)


if __name__ == "__main__":
    main()
