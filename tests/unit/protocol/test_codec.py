"""The generic codec: every document there and back, strict about types, open to newer peers."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import InvalidError
from headway.protocol.codec import camel, decode, decode_number, dumps, encode, encode_number, loads
from headway.protocol.history import Series, SeriesPoint
from headway.protocol.job import Attempt, Changes, Job, JobKey, JobPage, JobProgress, Platform, Spec, State
from headway.protocol.lifecycle import Command, CommandKind, Lifecycle, LifecycleKind, Registration
from headway.protocol.report import Checkpoint, Ending, EndingKind, Phase, Progress, RunInfo
from headway.protocol.verdict import SEVERITY, Condition, ConditionType, Severity, Verdict

JOB = Job(
    namespace="local",
    name="a/b <i>",
    uid="u",
    platform=Platform.LOCAL,
    state=State.RUNNING,
    summary="Running",
    verdict=Verdict.PROGRESSING,
    conditions=(Condition(type=ConditionType.SLOW, severity=Severity.WARNING, since=1.0, evidence={"factor": 1.8}),),
    progress=JobProgress(percent=40, step=400, total_steps=1000, phase=Phase.TRAIN),
    metrics={"loss": 0.25},
    attempts=(Attempt(ordinal=1, id="x", started_at=3.0, ending=Ending(kind=EndingKind.FAILED, log_tail=("a", "b"))),),
    config={"lr": 2e-5, "name": "x", "on": True, "none": None, "n": 3},
    created_at=1.0,
    updated_at=2.0,
)
DOCUMENTS = [
    JOB,
    JobPage(items=(JOB,), total=1, next="c"),
    Changes(id="e-1", snapshot=True, jobs=(JOB,), deleted=(JobKey("local", "b"),), server_time=9.5),
    Series(metric="loss", attempt="x", tier=8, points=(SeriesPoint(1, 2.0, 3.0, 2.5, 3.5, 8, 0),)),
    Registration(runner="r", attempt="x", spec=Spec(nodes=2, devices_per_node=8, command=("python", "train.py"))),
    Lifecycle(kind=LifecycleKind.ENDED, runner="r", attempt="x", ending=Ending(kind=EndingKind.COMPLETED, exit_code=0)),
    Command(id="1", kind=CommandKind.STOP),
    RunInfo(config={"lr": 0.1}, versions={"torch": "2.13.0"}, tags=("a",)),
    Checkpoint(step=400, seconds=12.1, path="/c"),
]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: type(document).__name__)
def test_a_document_comes_back_as_it_was(document: Any) -> None:
    assert decode(type(document), loads(dumps(encode(document)))) == document


def test_a_job_names_every_field_and_leaves_out_what_is_unknown_below() -> None:
    value = encode(
        Job(
            namespace="n",
            name="j",
            uid="u",
            platform=Platform.LOCAL,
            state=State.CREATED,
            summary="Created",
            created_at=0.0,
            updated_at=0.0,
        )
    )
    assert value["eta"] is None
    assert value["verdict"] is None
    assert value["progress"] == {}
    assert value["metrics"] == {}


def test_unknown_fields_are_ignored() -> None:
    assert decode(Checkpoint, {"step": 3, "invented": {"by": "a newer peer"}}) == Checkpoint(step=3)


@pytest.mark.parametrize(
    ("kind", "value", "field"),
    [
        (Checkpoint, {}, "step"),
        (Checkpoint, {"step": "3"}, "step"),
        (Checkpoint, {"step": True}, "step"),
        (Checkpoint, {"step": 3.5}, "step"),
        (Checkpoint, {"step": 3, "seconds": "soon"}, "seconds"),
        (Checkpoint, [], "body"),
        (Lifecycle, {"kind": "exploded", "runner": "r", "attempt": "a"}, "kind"),
        (Registration, {"runner": "r", "attempt": "a", "spec": {"command": [1]}}, "spec.command[0]"),
        (Progress, {"phase": "lunch"}, "phase"),
        (RunInfo, {"config": {"lr": []}}, "config.lr"),
    ],
)
def test_a_wrong_type_is_refused_by_name(kind: type, value: object, field: str) -> None:
    with pytest.raises(InvalidError) as caught:
        decode(kind, value)
    assert caught.value.field == field
    assert field in str(caught.value)


@given(st.floats())
def test_every_double_survives(number: float) -> None:
    text = json.dumps(encode_number(number), allow_nan=False)
    back = decode_number(json.loads(text), "x")
    assert back == number or (math.isnan(back) and math.isnan(number))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_json_is_either_a_document_or_a_named_refusal(value: object) -> None:
    for kind in (Checkpoint, Registration, Lifecycle, RunInfo, Progress):
        try:
            document = decode(kind, value)
        except InvalidError as error:
            document = None
            field = error.field
        assert isinstance(document, kind) or field


def test_a_number_beyond_a_double_is_refused() -> None:
    with pytest.raises(InvalidError, match="too large"):
        decode_number(10**400, "x")


@pytest.mark.parametrize("text", [b"{", b"[1,]", b'{"a": NaN}', b"Infinity", b"\xff", b"[" * 100_000])
def test_only_strict_json_is_read(text: bytes) -> None:
    with pytest.raises(InvalidError, match="not valid JSON"):
        loads(text)


def test_names_travel_in_camel_case() -> None:
    assert camel("last_step_age") == "lastStepAge"


def test_every_condition_has_a_severity_and_a_verdict_of_its_name() -> None:
    assert set(SEVERITY) == set(ConditionType)
    assert {member.value for member in ConditionType} < {member.value for member in Verdict}
