"""What does not add up in what a job says of itself, in words for people."""

from __future__ import annotations

from headway.protocol.message import Message
from headway.tracking.progress import Overall
from headway.tracking.runs import RunState


def warnings_of(where: Overall) -> tuple[Message, ...]:
    """What was mended in the newest report of the writing run, and what in its words contradicts itself."""
    writer = where.here.writer
    if writer is None:
        return ()
    warnings = [Message.of("warning.mended", text) for text in writer.warnings]
    if where.step is not None and where.total is not None and where.step > where.total:
        text = f"step {where.step} is past the announced total of {where.total}"
        warnings.append(Message.of("warning.pastTotal", text, step=where.step, total=where.total))
    first = writer.first_total
    if first is not None and where.here.total is not None and first.value != where.here.total:
        text = f"the total was revised from {first.value} to {where.here.total} steps"
        warnings.append(Message.of("warning.revisedTotal", text, before=first.value, total=where.here.total))
    if (short := _short_grace(writer)) is not None:
        warnings.append(short)
    return tuple(warnings)


def _short_grace(writer: RunState) -> Message | None:
    """That a run has too little time to save in when its end is announced, if its last step and save took longer."""
    grace = writer.info.value.grace if writer.info is not None else None
    saved = writer.checkpoint.what.seconds if writer.checkpoint is not None else None
    step = writer.value("step_seconds")
    if grace is None or saved is None or not isinstance(step, float) or saved + step <= grace:
        return None
    text = (
        f"a step and a save took {saved + step:.0f} s together, but only {grace:g} s lie between SIGTERM and SIGKILL: "
        "a longer grace (HEADWAY_GRACE, and that of whoever ends the processes) would save the work"
    )
    return Message.of("warning.shortGrace", text, seconds=saved + step, grace=grace)
