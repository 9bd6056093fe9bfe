"""Reads a job's log where it lies, on the runner's host: its end and, followed, what is added until the job has ended."""

from __future__ import annotations

import asyncio
import io
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from headway.errors import HeadwayError, NotFoundError
from headway.protocol.job import JobKey
from headway.reporter.folders import host_slug
from headway.server.context import Context

_BLOCK: Final = 64 * 1024
_MAX_TAIL_BYTES: Final = 16 * 1024 * 1024
_POLL_SECONDS: Final = 0.25


def open_log(context: Context, key: JobKey, tail: int, *, follow: bool) -> AsyncIterator[bytes]:
    """The last ``tail`` lines of a job's log in parts; with ``follow`` it goes on until the job has ended.

    Raises:
        NotFoundError: there is no such job, it has no log, or the log is on another host or gone; says which.
    """
    job = context.hub.job(key)
    if job.log is None:
        raise NotFoundError(f"job {key} has no log; only jobs started with `headway run` have one")
    if job.host is not None and job.host not in (os.uname().nodename, host_slug()):
        raise NotFoundError(f"the log of job {key} lies on host {job.host}, at {job.log}; this server cannot see it")
    return _parts(context, key, _open(Path(job.log), key), tail, follow=follow)


def _open(path: Path, key: JobKey) -> io.FileIO:
    try:
        # Not blocking: opening a pipe that nobody writes to would wait for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise NotFoundError(f"the log of job {key}, {path}, cannot be read: {reason}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotFoundError(f"the log of job {key}, {path}, is not a file")
    return io.FileIO(descriptor)


async def _parts(context: Context, key: JobKey, file: io.FileIO, tail: int, *, follow: bool) -> AsyncIterator[bytes]:
    descriptor = file.fileno()
    try:
        offset = await asyncio.to_thread(start_of_tail, descriptor, tail)
        while not context.closing.is_set():
            ended = not follow or _ended(context, key)
            while part := await asyncio.to_thread(os.pread, descriptor, _BLOCK, offset):
                offset += len(part)
                yield part
            if ended:
                return
            if os.fstat(descriptor).st_size < offset:
                offset = 0  # cut off and begun anew
            try:
                await asyncio.wait_for(context.closing.wait(), _POLL_SECONDS)
            except TimeoutError:
                continue
    finally:
        file.close()


def _ended(context: Context, key: JobKey) -> bool:
    try:
        return context.hub.job(key).state.ended
    except HeadwayError:
        return True


def start_of_tail(descriptor: int, lines: int) -> int:
    """Where the last ``lines`` lines of a file begin, looking at 16 MiB at most."""
    end = os.fstat(descriptor).st_size
    if lines <= 0 or end == 0:
        return end
    wanted = lines
    position = end
    if os.pread(descriptor, 1, end - 1) == b"\n":
        position = end - 1  # the line break that ends the last line begins no other
    while position > max(0, end - _MAX_TAIL_BYTES):
        start = max(0, position - _BLOCK)
        block = os.pread(descriptor, position - start, start)
        found = block.count(b"\n")
        if found >= wanted:
            index = len(block)
            for _ in range(wanted):
                index = block.rfind(b"\n", 0, index)
            return start + index + 1
        wanted -= found
        position = start
    return position
