"""Which checkpoints of an attempt are remembered: all, and of very many a spread of them."""

from __future__ import annotations

from itertools import pairwise

from headway.protocol.job import JobKey
from headway.protocol.report import Checkpoint, Envelope
from headway.testing.reports import SyntheticRun
from headway.tracking.document import dump, load
from headway.tracking.fold import fold_report
from headway.tracking.runs import MOST_SAVES
from headway.tracking.tracked import TrackedJob
from headway.tracking.view import view

NOW = 1_000_000.0


def saved_at(*steps: int, times: int = 1) -> TrackedJob:
    job, run = TrackedJob(JobKey("local", "saver"), "uid", NOW, NOW), SyntheticRun(total=10**6)
    for step in steps:
        for _ in range(times):
            fold_report(job, run.at(step, checkpoint=Checkpoint(step=step)), Envelope(), NOW + step)
    return job


def test_all_are_shown_in_order_each_once():
    job = saved_at(10, 30, 20, times=2)
    (attempt,) = view(job, NOW).attempts
    assert attempt.checkpoints == (10, 20, 30)
    assert attempt.checkpoint == Checkpoint(step=30)


def test_they_survive_a_restart_of_the_server():
    job = saved_at(10, 20)
    assert view(load(dump(job, NOW)), NOW).attempts[0].checkpoints == (10, 20)


def test_of_very_many_the_newest_and_a_spread_of_the_others_are_kept():
    job = saved_at(*range(1, 5 * MOST_SAVES))
    (attempt,) = view(job, NOW).attempts
    kept = attempt.checkpoints
    assert MOST_SAVES // 2 <= len(kept) <= MOST_SAVES
    assert kept[-1] == 5 * MOST_SAVES - 1
    assert kept[0] == 1
    assert max(after - before for before, after in pairwise(kept)) < 2 * MOST_SAVES
