"""Reports as a training process, or a stock client, would send them: for tests of whatever takes reports in."""

from __future__ import annotations

from typing import Any

from headway.protocol.report import (
    Cell,
    Checkpoint,
    Device,
    Ending,
    EndingKind,
    Phase,
    Point,
    Progress,
    Report,
    RunInfo,
    RunReport,
    TrainerStatus,
    Unit,
)


class SyntheticRun:
    """One process's reports, numbered in the order in which they are made."""

    def __init__(
        self,
        run: str = "run-a",
        attempt: str = "attempt-1",
        *,
        total: int | None = 1000,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        self.run = run
        self.attempt = attempt
        self.total = total
        self.rank = rank
        self.world_size = world_size
        self.seq = 0

    def at(
        self, step: int, *, t: float | None = None, n: int = 1, metrics: dict[str, float] | None = None, **more: Any
    ) -> Report:
        """A report at a step, with one point of the ``n`` steps before it; ``t`` is seconds since the attempt began."""
        t = float(step) if t is None else t
        cells = {
            name: Cell(value, n) for name, value in ({"loss": 1.0 / (1 + step)} if metrics is None else metrics).items()
        }
        points = (Point(step, t, cells),) if cells else ()
        progress = Progress(
            step=step,
            total_steps=self.total,
            unit=Unit.OPTIMIZER_STEP,
            phase=more.pop("phase", Phase.TRAIN),
            last_step_age=more.pop("last_step_age", 0.0),
            epoch=more.pop("epoch", None),
        )
        return self._report(progress, sent_after=t, points=points, status=self.rank == 0, **more)

    def beat(
        self, step: int | None = None, *, t: float = 0.0, last_step_age: float | None = None, **more: Any
    ) -> Report:
        """A beat, as ranks send that do not write."""
        progress = Progress(step=step, last_step_age=last_step_age)
        return self._report(progress, sent_after=t, points=(), status=False, **more)

    def end(self, kind: EndingKind, step: int, *, t: float | None = None, **details: Any) -> Report:
        """The last report."""
        ending = Ending(kind=kind, step=step, total_steps=self.total, **details)
        return self.at(step, t=t, metrics={}, ending=ending)

    def _report(
        self,
        progress: Progress,
        *,
        sent_after: float,
        points: tuple[Point, ...],
        status: bool,
        checkpoint: Checkpoint | None = None,
        job: RunInfo | None = None,
        ending: Ending | None = None,
        acks: tuple[str, ...] = (),
        stack: str | None = None,
        device: Device | None = None,
    ) -> Report:
        self.seq += 1
        said = RunReport(
            run=self.run,
            seq=self.seq,
            attempt=self.attempt,
            rank=self.rank,
            world_size=self.world_size,
            sent_after=sent_after,
            progress=progress,
            points=points,
            checkpoint=checkpoint,
            device=device,
            job=job,
            ending=ending,
            stack=stack,
            acks=acks,
        )
        return Report(status=TrainerStatus() if status else None, headway=said)


def transformers_begin(total: int) -> Report:
    """The first post of Transformers' ``KubeflowCallback``."""
    return _post(0, {"total_steps": total})


def transformers_post(step: int, total: int, *, epoch: float | None = None, **metrics: float) -> Report:
    """A post of Transformers' ``KubeflowCallback`` while it trains; it rounds ``current_epoch`` to two digits."""
    values: dict[str, float] = {**metrics, "current_step": step, "total_steps": total}
    if epoch is not None:
        values["current_epoch"] = round(epoch, 2)
    return _post(min(99, int(step / total * 100)), values)


def transformers_last(**metrics: float) -> Report:
    """Its last post: a bare 100 %, early stop or not."""
    return _post(100, metrics)


def sdk_post(percent: int | None, **metrics: float | str) -> Report:
    """A post of Kubeflow SDK's ``update_trainjob_status``."""
    return _post(percent, metrics)


def _post(percent: int | None, metrics: dict[str, Any]) -> Report:
    texts = {name: str(value) for name, value in metrics.items()}
    return Report(status=TrainerStatus(progress_percentage=percent, metrics=texts))
