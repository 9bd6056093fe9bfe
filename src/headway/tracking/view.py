"""The job as it is shown: one document, made on demand from what is remembered."""

from __future__ import annotations

from dataclasses import replace

from headway.insight.eta import EtaEstimate
from headway.protocol.job import Attempt, Eta, Job, RankInfo, State
from headway.protocol.limits import CANONICAL_DIRECTIONS, CANONICAL_METRICS
from headway.protocol.message import Message
from headway.protocol.report import Ending, EndingKind, RunInfo
from headway.protocol.verdict import ConditionType, Verdict
from headway.tracking.attempts import AttemptState
from headway.tracking.conditions.merge import standing as those_standing
from headway.tracking.conditions.merge import verdict_of
from headway.tracking.ledger import ledger
from headway.tracking.progress import Overall, best_metrics, newest_metrics, overall, shown, standing
from headway.tracking.records import records
from headway.tracking.running import at_risk_seconds, attempt_end, begun, running_seconds, without_progress_seconds
from headway.tracking.runs import RunState
from headway.tracking.state import Outcome, governing, outcome, summary
from headway.tracking.tracked import TrackedJob
from headway.tracking.warnings import warnings_of


def view(job: TrackedJob, now: float, *, whole: bool = True) -> Job:
    """Everything there is to say of a job at ``now``; unless ``whole``, without its attempts, ranks, actions and best values."""
    where = overall(job)
    end = outcome(job, where)
    running = end.state is State.RUNNING
    progress = shown(job, where, now, running=running, complete=end.state is State.COMPLETE)
    info, framework = info_of(job), framework_of(job)
    directions = directions_of(job, info) if whole else {}
    stalled = any(one.type is ConditionType.STALLED and one.until is None for one in job.conditions)
    foreseen = running and not stalled and job.judge is not None
    estimate = job.judge.estimate(now, where.total) if foreseen and job.judge is not None else None
    verdict, text, said = _verdict(job, where) if running else (None, None, None)
    current = job.current
    heard = current.heard_at if current is not None else None
    saved = current.checkpoint if current is not None else None
    attempts = tuple(_attempt(job, index, end) for index in range(len(job.ordered))) if whole else ()
    warnings = warnings_of(where)
    started = next((begun(attempt) for attempt in job.ordered if begun(attempt) is not None), None)
    return Job(
        namespace=job.key.namespace,
        name=job.key.name,
        uid=job.uid,
        platform=job.platform,
        state=end.state,
        state_reason=end.reason,
        summary=summary(end.state, end.ending, progress.percent, where),
        ending=end.ending if end.state.ended or end.state is State.PREEMPTED else None,
        verdict=verdict,
        verdict_text=text,
        verdict_message=said,
        conditions=job.conditions,
        progress=progress,
        resumed=_resumed(job, where),
        eta=_eta(estimate, now),
        metrics=newest_metrics(job),
        best=best_metrics(job, directions) if whole else {},
        directions=directions,
        checkpoint=saved.what if saved is not None else None,
        attempts=attempts,
        ranks=_ranks(current, now) if whole and current is not None else (),
        actions=records(job, now) if whole else (),
        ledger=ledger(
            job.spec,
            _devices(job, info),
            running_seconds=running_seconds(job, end, now),
            remaining_seconds=estimate.seconds if estimate is not None else None,
            at_risk_seconds=at_risk_seconds(current, now) if running and current is not None else None,
            without_progress_seconds=without_progress_seconds(job, end, now),
        ),
        spec=job.spec if framework == job.spec.framework else replace(job.spec, framework=framework),
        config=info.config if info is not None else {},
        tags=tuple(dict.fromkeys((*job.tags, *(info.tags if info is not None else ())))),
        log=job.log,
        host=job.host or (info.host if info is not None else None),
        warnings=tuple(one.text for one in warnings),
        warning_messages=warnings,
        created_at=job.created_at,
        started_at=started,
        ended_at=end.ended_at if end.state.ended else None,
        updated_at=job.updated_at,
        last_contact_age=None if heard is None or end.state.ended else max(0.0, now - heard),
    )


def info_of(job: TrackedJob) -> RunInfo | None:
    """What the newest writing run said of itself."""
    for attempt in reversed(job.ordered):
        for run in reversed(attempt.writers()):
            if run.info is not None:
                return run.info.value
    return None


def framework_of(job: TrackedJob) -> str | None:
    """The framework, by the runner's word or the run's."""
    if job.spec.framework is not None:
        return job.spec.framework
    info = info_of(job)
    return info.framework if info is not None else None


def directions_of(job: TrackedJob, info: RunInfo | None) -> dict[str, str]:
    """Which way each metric that the job has is better, where it is known."""
    directions = {}
    for attempt in job.ordered:
        for run in attempt.writers():
            for name in run.metrics:
                known = CANONICAL_DIRECTIONS.get(CANONICAL_METRICS.get(name, name))
                if known is not None:
                    directions[name] = known
    return directions | (info.metrics if info is not None else {})


def _devices(job: TrackedJob, info: RunInfo | None) -> int | None:
    return job.spec.devices if job.spec.devices is not None else (info.devices if info is not None else None)


def _verdict(job: TrackedJob, where: Overall) -> tuple[Verdict, str | None, Message | None]:
    stand = those_standing(job.conditions)
    current = job.current
    advanced = current is not None and standing(current).advanced
    if stand:
        return verdict_of(stand[0]), stand[0].text, None
    if not advanced:
        said = Message.of("course.noStep", "no step has been made yet")
        return Verdict.STARTING, said.text, said
    if job.course is None:
        return Verdict.PROGRESSING, f"step {where.step}", None
    course, said = job.course
    return Verdict.PROGRESSING if course is Verdict.STARTING else course, said.text, said if said.kind else None


def _resumed(job: TrackedJob, where: Overall) -> str | None:
    if len(job.ordered) < 2:
        return None
    start = standing(job.ordered[-1]).start
    reached = max((step for a in job.ordered[:-1] if (step := standing(a).step) is not None), default=None)
    if start is None or reached is None or start >= reached:
        return None
    if start == 0:
        return "restarted from the beginning"
    return f"resumed at {100 * start // where.total} %" if where.total else f"resumed at step {start}"


def _eta(estimate: EtaEstimate | None, now: float) -> Eta | None:
    if estimate is None:
        return None
    return Eta(
        seconds=estimate.seconds,
        low=estimate.low,
        high=estimate.high,
        finish_at=now + estimate.seconds,
        basis=estimate.basis,
        step_seconds=estimate.step_seconds,
        steps=estimate.steps,
        pause_seconds=estimate.pause_seconds,
    )


def _left(ending: Ending) -> bool:
    return ending.step is not None and ending.total_steps is not None and ending.step < ending.total_steps


def _attempt(job: TrackedJob, index: int, end: Outcome) -> Attempt:
    attempt = job.ordered[index]
    there = standing(attempt)
    writer = there.writer
    saved = attempt.checkpoint
    ending = None
    if attempt is governing(job):
        ending = end.ending
    elif attempt.runner_ending is not None:
        ending = attempt.runner_ending.ending
    own = writer.ending.how if writer is not None and writer.ending is not None else None
    ending = ending or own
    if ending is not None and own is not None and ending.kind is EndingKind.COMPLETED and _left(own):
        ending = replace(ending, kind=EndingKind.EARLY_STOPPED)  # as it was called while it was the newest
    start = there.start
    return Attempt(
        ordinal=index + 1,
        id=attempt.id,
        started_at=attempt.began_at,
        ended_at=attempt_end(job, index, end),
        first_step=None if start is None else start + there.advanced,
        last_step=there.step,
        resumed_from_step=start if start and index > 0 else None,
        world_size=max((run.world_size for run in attempt.runs.values()), default=1),
        ending=ending,
        checkpoint=saved.what if saved is not None else None,
        checkpoints=attempt.saves,
    )


def _ranks(attempt: AttemptState, now: float) -> tuple[RankInfo, ...]:
    chain = attempt.writers()
    ranks = [_rank(attempt, run, now, auxiliary=run.wrote and run not in chain) for run in attempt.runs.values()]
    return tuple(sorted(ranks, key=lambda rank: (rank.auxiliary, rank.rank, rank.run)))


def _rank(attempt: AttemptState, run: RunState, now: float, *, auxiliary: bool) -> RankInfo:
    info = run.info.value if run.info is not None else None
    device = run.device.value if run.device is not None else None
    return RankInfo(
        run=run.run,
        rank=run.rank,
        attempt=attempt.id,
        last_contact_age=max(0.0, now - run.spoke_at),
        step=run.step,
        step_seconds=run.value("step_seconds"),  # type: ignore[arg-type]
        phase=run.value("phase"),  # type: ignore[arg-type]
        local_rank=info.local_rank if info is not None else None,
        host=info.host if info is not None else None,
        pid=info.pid if info is not None else None,
        device_name=device.name if device is not None else None,
        memory_used=device.memory_used if device is not None else None,
        memory_total=device.memory_total if device is not None else None,
        auxiliary=auxiliary,
        stack=run.stuck.text if run.stuck is not None and run.stuck.at > run.spoke_at else run.present_stack,
    )
