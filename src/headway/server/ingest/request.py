"""What the head of a report's request says: which job it is of and, in ``Headway-*`` headers, what a relay knows of it."""

from __future__ import annotations

import math
from functools import lru_cache

from headway.errors import InvalidError, NotFoundError
from headway.protocol.job import JobKey
from headway.protocol.limits import HEADER_AGE, HEADER_ATTEMPT, HEADER_RUN, HEADER_SEQ, STATUS_PATH
from headway.protocol.report import Envelope
from headway.server.params import read_key

_HEAD, _MIDDLE, _TAIL = (part.encode() for part in STATUS_PATH.replace("{name}", "{namespace}").split("{namespace}"))


@lru_cache(4096)
def key_of_path(raw: bytes) -> JobKey:
    """The job that a status path names.

    Raises:
        NotFoundError: it is not a status path.
        InvalidError: a name in it is not percent-encoded UTF-8.
    """
    namespace, middle, rest = raw.removeprefix(_HEAD).partition(_MIDDLE)
    if not raw.startswith(_HEAD) or not middle or not rest.endswith(_TAIL) or b"/" in namespace:
        raise NotFoundError("there is nothing at this path; see /api/openapi.json")
    name = rest[: -len(_TAIL)]
    if b"/" in name:
        raise NotFoundError("a slash in a job's name is written %2F in a path")
    return read_key(namespace.decode("latin-1"), name.decode("latin-1"))


def read_envelope(headers: dict[str, bytes]) -> Envelope:
    """What the ``Headway-*`` headers of a report that was kept say.

    Raises:
        InvalidError: one cannot be read; names it.
    """
    text = {name: value.decode("latin-1").strip() for name, value in headers.items()}
    age = 0.0
    if HEADER_AGE in text:
        try:
            age = float(text[HEADER_AGE])
        except ValueError:
            age = math.nan
        if not (math.isfinite(age) and age >= 0):
            raise InvalidError(f"expected seconds, got {text[HEADER_AGE][:40]!r}", field=f"headers.{HEADER_AGE}")
    seq = None
    if HEADER_SEQ in text:
        if not (text[HEADER_SEQ].isdecimal() and len(text[HEADER_SEQ]) < 19):
            raise InvalidError(f"expected a whole number, got {text[HEADER_SEQ][:40]!r}", field=f"headers.{HEADER_SEQ}")
        seq = int(text[HEADER_SEQ])
    return Envelope(age=age, attempt=text.get(HEADER_ATTEMPT) or None, run=text.get(HEADER_RUN) or None, seq=seq)
