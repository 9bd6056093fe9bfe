"""Asks insight about running jobs: feeds it points, rebuilds it from the stored history, and merges what it finds."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final

from headway.errors import HeadwayError
from headway.hub.entry import Entry
from headway.hub.pacing import paced
from headway.insight.assess import RunInsight
from headway.protocol.history import Series, SeriesQuery
from headway.protocol.job import JobKey
from headway.protocol.message import Message
from headway.protocol.report import Cell, Point, Progress
from headway.store.base import Store
from headway.tracking.conditions.judge import INSIGHT_TYPES, Judge
from headway.tracking.conditions.merge import merge
from headway.tracking.conditions.patience import Patience
from headway.tracking.conditions.sweep import sweep
from headway.tracking.fold import Folded
from headway.tracking.progress import overall, standing
from headway.tracking.view import directions_of, info_of

logger = logging.getLogger(__name__)

MOST_READ: Final = 12
"""Points of one job that insight reads at a look: more are merged into so many. So what a look costs does not grow with how
densely a run reports, and 24 of them, the fewest that show a trend, still come within seconds."""

_reader: Final = ThreadPoolExecutor(1, thread_name_prefix="headway-rebuild")
"""Reads histories back one after the other: after a restart all running jobs ask for theirs within a second, and several threads
at once would leave the event loop a small share of the interpreter."""


@dataclass(frozen=True, slots=True)
class _Past:
    """An attempt whose history is read back."""

    attempt: str
    start: float
    began: int | None


def observe(entry: Entry, folded: Folded) -> None:
    """Feeds the newest report of the writing run of the current attempt; its points are left for :func:`catch_up`."""
    job, attempt, run = entry.job, folded.attempt, folded.run
    judge = job.judge
    if judge is None:
        judge = job.judge = Judge()
        alone = len(job.ordered) == 1 and len(attempt.runs) == 1
        if alone and run.seen.spans == [
            [folded.seq, folded.seq]
        ]:  # nothing was said before: there is no history to read
            judge.insight = RunInsight()
    if run.info is not None and judge.insight is not None and run.info.seq == run.seq:
        judge.insight.declare(run.info.value.metrics)
    begins = judge.attempt != attempt.id
    if begins:
        catch_up(entry)
    progress = folded.progress
    if judge.insight is not None:
        entry.unread.add(folded.points)
        entry.unread_epoch = progress.epoch
    elif entry.backlog is not None:
        entry.backlog.extend(folded.points)
    if judge.heard_just_now(attempt.id, run.spoke_at, progress.phase):
        return
    start = attempt.began_at
    judge.observe(
        attempt.id,
        start=start,
        step=progress.step,
        began=standing(attempt).start if begins else None,
        t=run.seq_t if run.seq_t is not None else run.spoke_at - start,
        sent=run.spoke_at,
        last_step_age=_age(progress),
        phase=progress.phase,
        step_seconds=progress.step_seconds,
        work=progress.tokens if progress.tokens is not None else progress.samples,
        world=run.world_size,
        usual_gap=run.usual_gap,
    )


def catch_up(entry: Entry) -> None:
    """Lets insight read what it has not read yet. Not done at once: whoever reports need not wait for it."""
    judge, points = entry.job.judge, entry.unread.take(MOST_READ)
    if points and judge is not None:
        judge.read(points, total=overall(entry.job).total, epoch=entry.unread_epoch)


def _age(progress: Progress) -> float:
    age = progress.last_step_age
    return age if age is not None and math.isfinite(age) and age > 0 else 0.0


def assess(entry: Entry, now: float) -> bool:
    """Merges what insight says into the conditions; whether one began or ended, or the course changed."""
    job = entry.job
    judge = job.judge
    if judge is None:
        return False
    catch_up(entry)
    where = overall(job)
    found = judge.assess(now, judge.estimate(now, where.total))
    entry.unjudged = False
    if found is None:
        return False
    course = (found.verdict, found.message or Message(kind="", text=found.text))
    turned = job.course is None or job.course[0] is not found.verdict
    job.course = course
    job.conditions, changed = merge(job.conditions, found.findings, INSIGHT_TYPES, now, where.step)
    return changed or turned


def look(entry: Entry, now: float, listening_since: float, patience: Patience) -> bool:
    """Judges one job: what was reported since the last look, and what time alone has changed; whether it made a difference."""
    turned = entry.unjudged and assess(entry, now)
    entry.unjudged = False
    return sweep(entry.job, now, listening_since, patience) or turned


async def rebuild(entry: Entry, store: Store, points: int) -> None:
    """Gives a job that was loaded its view of the metrics back, from the stored history."""
    job = entry.job
    past = [_Past(attempt.id, attempt.began_at, standing(attempt).start) for attempt in job.ordered]
    directions = directions_of(job, info_of(job))
    total = overall(job).total
    insight = RunInsight(directions=directions)
    entry.backlog = []
    try:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(_reader, _read, insight, store, job.key, past, SeriesQuery(points=points), total)
    except HeadwayError as error:
        logger.warning("the history of %s could not be read, so its curves are judged from now on: %s", job.key, error)
        insight = RunInsight(directions=directions)
    backlog, entry.backlog = entry.backlog or [], None
    if entry.job is not job or job.judge is None:
        return  # it was put back to what is persisted meanwhile; the next report asks again
    for point in backlog:
        insight.observe(point, total_steps=total)
    job.judge.insight = insight
    entry.changed()


def _read(  # noqa: PLR0917 - each is a part of one reading
    insight: RunInsight, store: Store, key: JobKey, past: list[_Past], query: SeriesQuery, total: int | None
) -> None:
    for index, attempt in enumerate(past):
        insight.begin_attempt(attempt.start, step=attempt.began if index else None)
        for point in paced(_points(store.series(key, replace(query, attempt=attempt.attempt)))):
            insight.observe(point, total_steps=total)


def _points(found: Iterable[Series]) -> list[Point]:
    """The points of an attempt, from the series of its metrics."""
    cells: dict[tuple[float, int], dict[str, Cell]] = {}
    for series in found:
        for step, t, mean, _, _, n, bad in series.points:
            cells.setdefault((t, step), {})[series.metric] = Cell(mean, max(1, n), 0.0, bad)
    return [Point(step, t, metrics) for (t, step), metrics in sorted(cells.items(), key=lambda one: one[0])]
