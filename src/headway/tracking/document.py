"""A job as it is stored, and back: versioned JSON that holds what :mod:`headway.tracking.tracked` remembers.

Written with every report that counts, so it is put together from pieces, and a piece that has not changed is not encoded again.
Processes that only beat are left out: their next beat tells all there is to know of them.
"""

from __future__ import annotations

import json
from typing import Any, Final

from headway.errors import InvalidError, StoreCorruptError
from headway.protocol import codec
from headway.protocol.action import ActionKind, ActionOutcome, ActionRequest
from headway.protocol.job import JobKey, Platform, Spec
from headway.protocol.message import Message
from headway.protocol.report import Ending
from headway.protocol.verdict import Condition, Verdict
from headway.tracking.attempts import AttemptState, RunnerState, in_order
from headway.tracking.conditions.judge import Judge
from headway.tracking.run_document import dump_run, load_run
from headway.tracking.tracked import ActionState, TrackedJob
from headway.tracking.writing import WriteJson, write_json

VERSION: Final = 1
PACE_SECONDS: Final = 60.0
"""What was learnt of the pace is encoded anew this often: it is much, and old knowledge of it is nearly as good."""


def dump(job: TrackedJob, now: float, write: WriteJson = write_json) -> bytes:
    """The stored form of a job. Where a faster ``write`` is at hand, it saves most of the time."""
    if job.head_fragment is None:
        job.head_fragment = write(_head(job))[1:-1]
    if job.conditions_fragment is None or job.conditions_fragment[0] is not job.conditions:
        job.conditions_fragment = (job.conditions, write(codec.encode(job.conditions)))
    attempts = b",".join([attempt.fragment or _attempt_fragment(attempt, write) for attempt in job.ordered])
    return b'{"v":%d,%b,%b,"conditions":%b,"pace":%b,"attempts":[%b]}' % (
        VERSION,
        job.head_fragment,
        write({"updatedAt": job.updated_at, "course": _course(job)})[1:-1],
        job.conditions_fragment[1],
        _pace_fragment(job.judge, now, write),
        attempts,
    )


def load(document: bytes) -> TrackedJob:
    """The job that :func:`dump` described.

    Raises:
        StoreCorruptError: it cannot be understood, or was written by a newer version.
    """
    try:
        value = json.loads(document)
        if value["v"] != VERSION:
            raise StoreCorruptError(
                f"a stored job has version {value['v']}; this Headway reads {VERSION}: use a newer one"
            )
        return _job(value)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, InvalidError) as error:
        raise StoreCorruptError(
            f"a stored job cannot be understood: {error!r}; it begins with {document[:80]!r}"
        ) from error


def _head(job: TrackedJob) -> dict[str, Any]:
    return {
        "namespace": job.key.namespace,
        "name": job.key.name,
        "uid": job.uid,
        "createdAt": job.created_at,
        "platform": job.platform,
        "spec": codec.encode(job.spec),
        "tags": list(job.tags),
        "log": job.log,
        "host": job.host,
        "actions": [_action(action) for action in job.actions],
    }


def _course(job: TrackedJob) -> list[object] | None:
    if job.course is None:
        return None
    verdict, said = job.course
    return [verdict, said.text, said.kind, said.figures]


def _read_course(
    verdict: str, text: str, kind: str = "", figures: dict[str, float | int | str | None] | None = None
) -> tuple[Verdict, Message]:
    return Verdict(verdict), Message(kind=kind, text=text, figures=figures or {})


def _action(action: ActionState) -> dict[str, Any]:
    return {
        "id": action.id,
        "kind": action.kind,
        "attempt": action.attempt,
        "askedAt": action.asked_at,
        "request": codec.encode(action.request),
        "heard": [action.saved_at, action.heard_at, action.runners_heard],
        "outcomes": {name: codec.encode(outcome) for name, outcome in action.outcomes.items()},
    }


def _read_action(value: dict[str, Any]) -> ActionState:
    outcomes = {name: codec.decode(ActionOutcome, one) for name, one in value["outcomes"].items()}
    request = codec.decode(ActionRequest, value["request"])
    kind = ActionKind(value["kind"])
    saved, heard, runners = value["heard"]
    return ActionState(value["id"], kind, value["attempt"], value["askedAt"], request, saved, heard, runners, outcomes)


def _read_stop(value: dict[str, Any]) -> ActionState:
    """A request to stop, as it was kept when there was no other action."""
    asked = value["askedAt"]
    request = codec.decode(ActionRequest, value["request"])
    runners = dict.fromkeys(value["runnersHeard"], asked)
    heard = asked if value["runHeard"] else None
    return ActionState(value["id"], ActionKind.STOP, value["attempt"], asked, request, None, heard, runners)


def _job(value: dict[str, Any]) -> TrackedJob:
    job = TrackedJob(
        key=JobKey(value["namespace"], value["name"]),
        uid=value["uid"],
        created_at=value["createdAt"],
        updated_at=value["updatedAt"],
        platform=Platform(value["platform"]),
        spec=codec.decode(Spec, value["spec"]),
        tags=tuple(value["tags"]),
        log=value["log"],
        host=value["host"],
    )
    job.actions = [_read_action(one) for one in value.get("actions", ())]
    job.actions += [_read_stop(one) for one in value.get("stops", ())]
    job.conditions = tuple(codec.decode(Condition, one) for one in value["conditions"])
    if value["course"] is not None:
        job.course = _read_course(*value["course"])
    if value["pace"] is not None:
        job.judge = Judge.load(value["pace"])
    job.attempts = {one["id"]: _attempt(one) for one in value["attempts"]}
    job.ordered = in_order(job.attempts.values())
    return job


def _pace_fragment(judge: Judge | None, now: float, write: WriteJson) -> bytes:
    if judge is None or judge.attempt is None:
        return b"null"
    if judge.fragment is None or not 0 <= now - judge.fragment_at < PACE_SECONDS:
        judge.fragment, judge.fragment_at = write(codec.encode(judge.dump())), now
    return judge.fragment


def _attempt_fragment(attempt: AttemptState, write: WriteJson) -> bytes:
    head = attempt.head_fragment
    if head is None:
        value = {
            "id": attempt.id,
            "knownAt": attempt.known_at,
            "registered": attempt.registered,
            "startedAt": attempt.started_at,
            "lostAt": attempt.lost_at,
            "runners": {
                name: [one.heard_at, one.ended_at, codec.encode(one.ending), one.restarting, one.paused]
                for name, one in attempt.runners.items()
            },
        }
        head = attempt.head_fragment = write(value)[:-1]
    told = [run for run in attempt.runs.values() if run.wrote or run.ending]
    attempt.fragment = b'%b,"runs":[%b]}' % (
        head,
        b",".join([run.fragment or dump_run(run, write) for run in told]),
    )
    return attempt.fragment


def _attempt(value: dict[str, Any]) -> AttemptState:
    attempt = AttemptState(
        value["id"],
        value["knownAt"],
        registered=value["registered"],
        started_at=value["startedAt"],
        lost_at=value["lostAt"],
    )
    for name, (heard, ended, ending, *going_on) in value["runners"].items():
        attempt.runners[name] = RunnerState(heard, ended, ending and codec.decode(Ending, ending), *going_on)
    for one in value["runs"]:
        run = load_run(one)
        attempt.runs[run.run] = run
    return attempt
