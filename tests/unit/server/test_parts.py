"""Small parts of the HTTP face that take values and return values."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import ForbiddenError, InvalidError, NotFoundError
from headway.protocol.job import Job, JobKey
from headway.protocol.limits import STATUS_PATH
from headway.server.auth import bearer, host_allowed
from headway.server.ingest.request import key_of_path
from headway.server.logs import start_of_tail
from headway.server.metrics import escape, number
from headway.server.params import Param, read_key, read_params
from headway.server.schema import Components, field_docs
from headway.server.strict_json import decode_json
from headway.server.tokens import Keyring, Keys, load_keys


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        ("localhost", True),
        ("LOCALHOST:80", True),
        ("127.0.0.1:7447", True),
        ("127.9.9.9", True),
        ("[::1]", True),
        ("[::1]:7447", True),
        ("a.localhost", True),
        ("mine.example:1", True),
        ("", False),
        ("localhost.evil", False),
        ("evil-localhost", False),
        ("0.0.0.0", False),
        ("[::]", False),
        ("10.0.0.1", False),
        ("127.1", False),
        ("2130706433", False),
        ("mine.example.evil", False),
    ],
)
def test_hosts(host: str, ours: bool) -> None:
    assert host_allowed(host.encode(), frozenset({"mine.example"})) is ours


def test_bearer() -> None:
    assert bearer(None) is None
    assert bearer("Bearer  abc ") == "abc"
    assert bearer("bearer abc") == "abc"
    with pytest.raises(ForbiddenError):
        bearer("Basic abc")


@given(st.text(min_size=1, max_size=50).filter(lambda name: "\0" not in name), st.text(min_size=1, max_size=50))
def test_every_name_finds_its_way_through_a_path(namespace: str, name: str) -> None:
    from urllib.parse import quote

    name = name.replace("\0", "-")
    path = STATUS_PATH.format(namespace=quote(namespace, safe=""), name=quote(name, safe=""))
    assert key_of_path(path.encode()) == JobKey(namespace, name)


@pytest.mark.parametrize("path", ["/apis/x", "/", STATUS_PATH.format(namespace="a/b", name="c"), STATUS_PATH[:-1]])
def test_other_paths_are_not_found(path: str) -> None:
    with pytest.raises(NotFoundError):
        key_of_path(path.encode())


def test_names_that_cannot_be() -> None:
    for text in ("%FF", "%00", "x" * 1025):
        with pytest.raises(InvalidError):
            read_key("local", text)


PARAMS = (
    Param(name="tag", many=True),
    Param(name="limit", kind=int, default=10, least=1, most=20),
    Param(name="share", kind=float),
    Param(name="follow", kind=bool, default=False),
)


def test_parameters_are_read_as_declared() -> None:
    assert read_params(PARAMS, b"") == {"tag": [], "limit": 10, "share": None, "follow": False}
    read = read_params(PARAMS, b"tag=a%20b&tag=c+d&limit=20&share=0.5&follow&unknown=1")
    assert read == {"tag": ["a b", "c d"], "limit": 20, "share": 0.5, "follow": True}
    for query in (b"limit=0", b"limit=21", b"limit=1.5", b"limit=", b"share=x", b"follow=perhaps", b"tag=%ff"):
        with pytest.raises(InvalidError):
            read_params(PARAMS, query)


@given(st.binary(max_size=200))
def test_no_query_string_breaks_it(query: bytes) -> None:
    fields = set()
    try:
        read_params(PARAMS, query)
    except InvalidError as error:
        fields.add(error.field)
    assert fields <= {"query", "limit", "share", "follow"}


@given(st.binary(max_size=200) | st.text(max_size=100).map(lambda text: text.encode("utf-8", "replace")))
def test_no_bytes_break_the_reading_of_json(content: bytes) -> None:
    try:
        decode_json(content)
    except InvalidError:
        pass


def test_numbers_for_prometheus() -> None:
    values = [1.0, 0.25, 1e-05, 1e300, math.nan, math.inf, -math.inf]
    assert [number(value) for value in values] == ["1", "0.25", "1e-05", "1e+300", "NaN", "+Inf", "-Inf"]
    assert escape('a"b\\c\nd') == 'a\\"b\\\\c\\nd'


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("lines", [1, 2, 3, 5000, 20_000])
def test_the_tail_of_a_file(tmp_path, end: str, lines: int) -> None:
    path = tmp_path / "log"
    content = "\n".join(f"line {index} {'x' * (index % 50)}" for index in range(lines)) + end
    path.write_text(content)
    with path.open("rb") as file:
        for wanted in (0, 1, 2, 4999, 100_000):
            file.seek(start_of_tail(file.fileno(), wanted))
            expected = content.splitlines()[-wanted:] if wanted else []
            assert file.read().decode().splitlines() == expected


def test_keys_are_made_once_and_kept_from_others(tmp_path) -> None:
    path = tmp_path / "state" / "keys.json"
    keys = load_keys(path)
    assert load_keys(path) == keys
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_old_codes_make_room_for_new_ones() -> None:
    keyring = Keyring(Keys.new())
    codes = [keyring.new_code() for _ in range(100)]
    keyring.use_code(codes[-1])
    with pytest.raises(ForbiddenError):
        keyring.use_code(codes[0])


def test_schemas_carry_what_is_said_under_the_fields() -> None:
    assert field_docs(Job)["log"] == "Path of the log on the runner's host."
    components = Components()
    components.of(Job)
    job = components.schemas["Job"]
    assert job["required"] == list(job["properties"]), "of a job every field is always there"
    assert job["properties"]["metrics"]["additionalProperties"] == {"$ref": "#/components/schemas/Number"}
    assert "required" not in components.schemas["Ledger"]
