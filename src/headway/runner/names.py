"""What a job and its attempts are called when the user does not say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Final

_SCRIPT: Final = frozenset({".py", ".sh", ".bash", ".ipynb", ".pyz"})


def stem_of(command: Sequence[str]) -> str:
    """A name for a command: its script's, its module's, or its program's."""
    words = list(command)
    for index, word in enumerate(words):
        path = PurePath(word)
        if path.suffix in _SCRIPT:
            return _clean(path.stem)
        if word == "-m" and index + 1 < len(words) and _is_python(words[0]):
            return _clean(words[index + 1].rpartition(".")[2] if "." in words[index + 1] else words[index + 1])
    return _clean(PurePath(words[0]).stem)


def _is_python(program: str) -> bool:
    return PurePath(program).name.startswith(("python", "pypy"))


def _clean(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:48] or "job"


def next_name(stem: str, taken: Iterable[str]) -> str:
    """``stem``, or ``stem-2``, ``stem-3`` …: one above the highest that is taken."""
    highest = 0
    for name in taken:
        if name == stem:
            highest = max(highest, 1)
        elif (match := re.fullmatch(re.escape(stem) + r"-(\d{1,9})", name)) is not None:
            highest = max(highest, int(match[1]))
    return stem if highest == 0 else f"{stem}-{highest + 1}"


def slurm_name(stem: str, environ: Mapping[str, str]) -> str | None:
    """Within a Slurm job, a name that the runners of all its nodes arrive at alike."""
    job = environ.get("SLURM_JOB_ID")
    return f"{stem}-{job}" if job else None


def attempt_id(runner: str, ordinal: int, environ: Mapping[str, str]) -> str:
    """Id of the runner's ``ordinal``-th attempt (from 1).

    Runners on several hosts share it within a Slurm job, and where ``HEADWAY_ATTEMPT`` says the same to all of them.
    """
    job, base = environ.get("SLURM_JOB_ID"), environ.get("HEADWAY_ATTEMPT")
    if not job and not base:
        return f"runner-{runner}-{ordinal}"
    base = base or f"slurm-{job}-{environ.get('SLURM_RESTART_COUNT') or 0}"
    return base if ordinal == 1 else f"{base}.{ordinal}"
