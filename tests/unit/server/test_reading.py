"""Reports are read the same, quickly or with care: equal reports, equal errors."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import InvalidError
from headway.protocol.wire import decode_report
from headway.server.ingest import reading
from headway.server.ingest.reading import read_report
from headway.server.strict_json import decode_json

BODY: dict[str, Any] = {
    "trainerStatus": {
        "progressPercentage": 4,
        "metrics": [{"name": "loss", "value": "0.2347"}],
        "lastUpdatedTime": "2026-11-30T08:00:00Z",
    },
    "headway": {
        "version": 1,
        "run": "run-1",
        "attempt": "attempt-1",
        "seq": 17,
        "rank": 0,
        "worldSize": 8,
        "sentAfter": 820.4,
        "progress": {"step": 450, "totalSteps": 1000, "unit": "optimizer_step", "phase": "train", "stepSeconds": 0.1},
        "points": [
            [441, 812.4, {"loss": [0.2391, 9, 0.0031], "learning_rate": 1e-05}],
            [450, 820, {"loss": [0.2347, 9, 0.0029], "grad_norm": "NaN", "count": 3}],
        ],
    },
}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in inner for place in places(each, (*path, key)))]


def outcome(read: Any, content: bytes) -> str:
    try:
        return repr(read(content))
    except InvalidError as error:
        return f"{error.field}: {error}"


def carefully(content: bytes) -> Any:
    return decode_report(decode_json(content))


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1, -1, 2**53, 2**53 + 1, 2**63, 2**64, 10**400, 1.0, 1.5, -0.0, 1e308]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "NaN", "Infinity", "-Infinity", "nan", "eval", "token", "a\0b", "half \ud800", "3"]),
    st.text(max_size=5),
    st.just([]),
    st.just({}),
    st.lists(st.sampled_from([1, 0, 2.5, -1, "NaN", None]), max_size=5),
    st.just([[1, 2.0, {"a\0b": 1.0}]]),
)


@given(place=st.sampled_from(places(BODY)), odd=ODD)
def test_whatever_stands_anywhere_is_read_as_by_the_careful_reader(place: tuple[Any, ...], odd: Any):
    body = {"": copy.deepcopy(BODY)}
    inner: Any = body
    *way, last = ("", *place)
    for key in way:
        inner = inner[key]
    inner[last] = odd
    content = json.dumps(body[""]).encode()

    assert outcome(read_report, content) == outcome(carefully, content)


@given(place=st.sampled_from([place for place in places(BODY) if place]))
def test_whatever_is_missing_is_missed_as_by_the_careful_reader(place: tuple[Any, ...]):
    body = copy.deepcopy(BODY)
    inner: Any = body
    for key in place[:-1]:
        inner = inner[key]
    del inner[place[-1]]
    content = json.dumps(body).encode()

    assert outcome(read_report, content) == outcome(carefully, content)


@pytest.mark.parametrize(
    "more",
    [
        {"checkpoint": {"step": 400, "seconds": 12.1}},
        {"job": {"framework": "pytorch", "config": {"lr": 2e-5}}},
        {"ending": {"kind": "completed"}},
        {"stack": "…", "acks": ["x"]},
        {"version": 2},
        {"unknown": [1]},
        {"points": [[1, 2.0, {"loss": [1.0, 9, 0.1, 2]}], [2, 3.0, {"loss": [1.0, 9, 0.1, 0]}]]},
        {"points": [[1, 2.0, {"loss": 1.0}], [2, 3.0, {"loss": [1.0, 9, 0.1]}], [3, 4.0, {"loss": "NaN"}]]},
        {"points": [[1, 2.0, {}], [2, 3.0, {"other": 1.0}], [3, 4.0, {"loss": 2.0}], [4, 5.0, {"loss": 2.0}]]},
    ],
)
def test_what_is_seldom_said_is_read_as_well(more: dict[str, Any]):
    content = json.dumps({**BODY, "headway": BODY["headway"] | more}).encode()

    assert outcome(read_report, content) == outcome(carefully, content)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"{}", b"\xff", b'{"headway": NaN}', b"[" * 100_000, b'{"trainerStatus": {}}'],
)
def test_what_is_no_report_is_refused_in_the_same_words(content: bytes):
    assert outcome(read_report, content) == outcome(carefully, content)


def test_a_usual_report_is_read_once(monkeypatch: pytest.MonkeyPatch):
    def never(content: bytes) -> object:
        raise AssertionError("read a second time")

    monkeypatch.setattr(reading, "decode_json", never)

    assert read_report(json.dumps(BODY).encode()).headway is not None
