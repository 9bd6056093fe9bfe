"""Filters, sorts and pages the jobs in memory.

A cursor names the last job of a page by its place in the order, so that pages neither repeat nor skip a job that stays where
it is while others come and go.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Final

from headway.errors import InvalidError
from headway.hub.entry import Entry
from headway.protocol.job import SORTABLE, Job, JobKey, JobPage, JobQuery

MOST: Final = 1000
"""Most jobs on one page."""

Value = str | float | None

_by_value: Final = itemgetter(0)
_by_key: Final = itemgetter(1)


def page(entries: Iterable[Entry], query: JobQuery, now: float, show: Callable[[Entry], Job]) -> JobPage:
    """One page of the jobs that match.

    Raises:
        InvalidError: the field to sort by, the limit or the cursor is not one; names the parameter.
    """
    name, descending = query.sort.removeprefix("-"), query.sort.startswith("-")
    if name not in SORTABLE:
        raise InvalidError(f"expected one of {', '.join(SORTABLE)}, got {name[:40]!r}", field="sort")
    if not 1 <= query.limit <= MOST:
        raise InvalidError(f"expected 1 to {MOST}, got {query.limit}", field="limit")
    found = entries if query == _all(query) else [entry for entry in entries if _matches(entry, query, now)]
    value_of = _VALUES[name]
    rows = [(value_of(entry, now), entry.job.key, entry) for entry in found]
    known = [row for row in rows if row[0] is not None]
    known.sort(key=_by_key)
    known.sort(key=_by_value, reverse=descending)
    unknown = [row for row in rows if row[0] is None]
    unknown.sort(key=_by_key)
    rows = known + unknown
    begin = 0
    if query.cursor is not None:
        begin = _after(rows, *_read_cursor(query.cursor, query.sort), descending=descending)
    items = rows[begin : begin + query.limit]
    more = begin + query.limit < len(rows)
    return JobPage(
        items=tuple(show(entry) for _, _, entry in items),
        total=len(rows),
        next=_write_cursor(query.sort, items[-1][0], items[-1][1]) if more and items else None,
    )


def _all(query: JobQuery) -> JobQuery:
    """The same query without its filters."""
    return JobQuery(sort=query.sort, limit=query.limit, cursor=query.cursor)


def _matches(entry: Entry, query: JobQuery, now: float) -> bool:
    key = entry.job.key
    if query.keys and key not in query.keys:
        return False
    if query.namespaces and key.namespace not in query.namespaces:
        return False
    if query.text:
        text = query.text.casefold()
        if text not in key.name.casefold() and text not in (entry.job.spec.display_name or "").casefold():
            return False
    if query.owners and entry.job.spec.owner not in query.owners:
        return False
    if not (query.states or query.verdicts or query.frameworks or query.tags):
        return True
    facts = entry.facts(now)
    return (
        (not query.states or facts.state in query.states)
        and (not query.verdicts or facts.verdict in query.verdicts)
        and (not query.frameworks or facts.framework in query.frameworks)
        and (not query.tags or not query.tags.isdisjoint(facts.tags))
    )


_VALUES: Final[dict[str, Callable[[Entry, float], Value]]] = {
    "createdAt": lambda entry, _: entry.job.created_at,
    "updatedAt": lambda entry, _: entry.job.updated_at,
    "name": lambda entry, _: entry.job.key.name,
    "namespace": lambda entry, _: entry.job.key.namespace,
    "state": lambda entry, now: entry.facts(now).state,
    "verdict": lambda entry, now: entry.facts(now).verdict,
    "percent": lambda entry, now: entry.facts(now).percent,
    "eta": lambda entry, now: entry.facts(now).eta,
    "spent": lambda entry, now: entry.facts(now).spent,
}


def _after(rows: list[tuple[Value, JobKey, Entry]], value: Value, key: JobKey, *, descending: bool) -> int:
    """The place of the first row after (value, key) in the order."""
    for index, (other, other_key, _) in enumerate(rows):
        if other is None:
            if value is None and other_key <= key:
                continue
            return index
        if value is None:
            continue
        if other == value:
            if other_key > key:
                return index
        elif (other < value) if descending else (other > value):  # type: ignore[operator]
            return index
    return len(rows)


def _write_cursor(sort: str, value: Value, key: JobKey) -> str:
    text = json.dumps([sort, value, *key], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read_cursor(cursor: str, sort: str) -> tuple[Value, JobKey]:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        by, value, namespace, name = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, TypeError, binascii.Error, RecursionError):
        raise InvalidError("this is not a cursor that a page gave", field="cursor") from None
    textual = sort.removeprefix("-") in ("name", "namespace", "state", "verdict")
    fits = value is None or (isinstance(value, str) if textual else type(value) in (int, float))
    if by != sort or not fits or not isinstance(namespace, str) or not isinstance(name, str):
        raise InvalidError("this cursor belongs to a list that was sorted otherwise", field="cursor")
    return value, JobKey(namespace, name)
