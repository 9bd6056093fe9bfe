"""Posts of clients that know nothing of Headway, read as reports of a run.

Such a client names neither attempt nor run nor sequence number. A relay may do it for it; else there is one attempt until
the step falls by more than one post's worth. Each post is one point, of the metrics that are numbers.
"""

from __future__ import annotations

import math
from typing import Final

from headway.protocol import kubeflow
from headway.protocol.kubeflow import TOTAL_NAMES
from headway.protocol.report import Envelope, Point, Progress, RunReport, TrainerStatus
from headway.tracking.runs import RunState, StockState
from headway.tracking.said import LastPost, Said
from headway.tracking.tracked import STOCK_RUN, TrackedJob

STOCK_ATTEMPT: Final = "stock-"
_ROUNDING: Final = 0.005
"""Transformers rounds ``current_epoch`` to two digits."""


def attempt_of(job: TrackedJob, progress: Progress, percent: int | None, *, final: bool) -> str:
    """The attempt that a post without any identity belongs to."""
    current = job.current
    if current is None:
        return f"{STOCK_ATTEMPT}1"
    run = current.runs.get(STOCK_RUN)
    if run is None or run.stock is None or not current.id.startswith(STOCK_ATTEMPT) or final:
        return current.id
    if _fell(run, run.stock, progress, percent):
        return f"{STOCK_ATTEMPT}{int(current.id.removeprefix(STOCK_ATTEMPT)) + 1}"
    return current.id


def _fell(run: RunState, stock: StockState, progress: Progress, percent: int | None) -> bool:
    if progress.step is not None:
        return run.step is not None and progress.step < run.step - stock.worth
    if percent is None or stock.claim is None:
        return False
    if stock.final is not None:
        return percent < stock.claim.value
    total = run.value("total_steps")
    worth = 1 if not isinstance(total, int) else math.ceil(100 * stock.worth / total)
    return percent < stock.claim.value - worth


def is_final(status: TrainerStatus, progress: Progress) -> bool:
    """Whether a post is the bare 100 % with which Transformers' callback ends, early or not."""
    return status.progress_percentage == 100 and progress.step is None


def as_report(job: TrackedJob, status: TrainerStatus, envelope: Envelope, sent: float) -> RunReport:
    """A post of a stock client as the report of a run, with the identity that the envelope or its own history gives it."""
    progress = kubeflow.progress_of(status)
    final = is_final(status, progress)
    identity = envelope.attempt or attempt_of(job, progress, status.progress_percentage, final=final)
    attempt = job.attempts.get(identity)
    run_id = envelope.run or STOCK_RUN
    run = attempt.runs.get(run_id) if attempt else None
    seq = envelope.seq if envelope.seq is not None else (run.seq if run else 0) + 1
    cells = kubeflow.cells_of(status)
    points: tuple[Point, ...] = ()
    if cells:
        began = attempt.began_at if attempt else sent
        points = (Point(_step_of(run, status, progress, seq), max(0.0, sent - began), cells),)
    return RunReport(run=run_id, seq=seq, attempt=identity, progress=progress, points=points)


def _step_of(run: RunState | None, status: TrainerStatus, progress: Progress, seq: int) -> int:
    """The step that the point of a post stands at: its own, the last one known or, of a client that counts none, the post's."""
    if progress.step is not None:
        return progress.step
    step = run.step if run is not None else None
    if run is not None and run.stock is not None and is_final(status, progress):
        epoch = exact_epoch(status)
        step = step if epoch is None else inferred_step(run, run.stock, epoch)
    if step is not None:
        return step
    total = progress.total_steps or (run.value("total_steps") if run is not None else None)
    return seq if total is None else 0


def exact_epoch(status: TrainerStatus) -> float | None:
    """The epoch that Transformers' last log names, exact."""
    number = kubeflow.number_or_none(status.metrics.get("epoch", ""))
    return number if number is not None and math.isfinite(number) and number > 0 else None


def note(run: RunState, status: TrainerStatus, report: RunReport, before: int | None, sent: float) -> None:
    """Folds what only stock posts tell: the percentage claimed, and how many steps an epoch has.

    Args:
        run: the run, with the report folded.
        status: the post.
        report: what :func:`as_report` made of it.
        before: the run's step before this report.
        sent: when it was sent, by the server's clock.
    """
    stock = run.stock = run.stock or StockState()
    percent = status.progress_percentage
    if is_final(status, report.progress):
        if stock.final is None or report.seq > stock.final.seq:
            stock.final = LastPost(report.seq, sent, exact_epoch(status))
    elif percent is not None and not _total_unusable(status) and (stock.claim is None or report.seq > stock.claim.seq):
        stock.claim = Said(report.seq, percent)
    step = report.progress.step
    if step is None:
        return
    if before is not None and step > before:
        stock.worth = max(stock.worth, step - before)
    rounded = kubeflow.number_or_none(status.metrics.get("current_epoch", ""))
    if rounded is not None and rounded > _ROUNDING and step > 0:
        low, high = stock.epoch_bounds
        stock.epoch_bounds = (max(low, step / (rounded + _ROUNDING)), min(high, step / (rounded - _ROUNDING)))


def _total_unusable(status: TrainerStatus) -> bool:
    return any(name in status.metrics for name in TOTAL_NAMES) and kubeflow.progress_of(status).total_steps is None


def inferred_step(run: RunState, stock: StockState, epoch: float) -> int | None:
    """The step at which a run stood at ``epoch``, where the pairs of step and epoch it posted leave one whole step.

    Posts are throttled, so the last step of a run is never posted; its last log tells the exact epoch. A run that may have
    reached its total did: the announced total is the likelier end.
    """
    seen = run.step
    low, high = stock.epoch_bounds
    if seen is None or not 0 < low <= high < math.inf:
        return seen
    first, last = math.ceil(low * epoch - 1e-6), math.floor(high * epoch + 1e-6)
    total = run.value("total_steps")
    if isinstance(total, int):
        if first <= total <= last and total >= seen:
            return total
        whole = [round(total / epochs * epoch) for epochs in range(1, 1001) if low <= total / epochs <= high]
        if len(set(whole)) == 1 and whole[0] >= seen:
            return min(whole[0], total)
    middle = round((low + high) / 2 * epoch)
    return middle if last - first <= 1 and middle >= seen else seen
