"""The stored form of a job."""

from __future__ import annotations

import json

import pytest

from headway.errors import StoreCorruptError
from headway.protocol.action import ActionKind, ActionRequest
from headway.protocol.job import JobKey, Spec
from headway.protocol.lifecycle import Lifecycle, LifecycleKind, Registration
from headway.protocol.report import Checkpoint, Ending, EndingKind, Envelope, RunInfo
from headway.server.answers import write_json
from headway.testing.reports import SyntheticRun, transformers_last, transformers_post
from headway.tracking.actions import commands_for, fold_action
from headway.tracking.conditions.patience import Patience
from headway.tracking.conditions.sweep import sweep
from headway.tracking.document import dump, load
from headway.tracking.fold import fold_lifecycle, fold_registration, fold_report
from headway.tracking.tracked import TrackedJob
from headway.tracking.view import view

NOW = 1_000_000.0


def a_full_job() -> TrackedJob:
    job = TrackedJob(JobKey("lo cal", "jöb/<b>\ud800"), "uid", NOW, NOW)
    spec = Spec(nodes=2, devices_per_node=4, price_per_hour=55.0, command=("python", "train.py"), owner="me")
    fold_registration(job, Registration(runner="r", attempt="a-1", spec=spec, tags=("t",), log="/log", host="h"), NOW)
    fold_lifecycle(job, Lifecycle(kind=LifecycleKind.STARTED, runner="r", attempt="a-1"), NOW)
    run = SyntheticRun(attempt="a-1")
    info = RunInfo(framework="pytorch", config={"lr": 1e-5, "name": "x"}, metrics={"bleu": "max"}, tags=("u",))
    for step in range(1, 30):
        values = {"loss": float("nan") if step == 20 else 1 / step, "bleu": float(step), "peak": float("inf")}
        saved = Checkpoint(step=step, seconds=1.5) if step == 10 else None
        more = {"job": info} if step == 1 else {}
        fold_report(job, run.at(step, metrics=values, epoch=step / 9, checkpoint=saved, **more), Envelope(), NOW + step)
    fold_action(job, "a-1", ActionKind.STOP, ActionRequest(by="me", reason="enough", grace=5.0), "stop-1", NOW + 30)
    sweep(job, NOW + 60, 0.0, Patience())
    ending = Ending(kind=EndingKind.FAILED, exit_code=1, log_tail=("a", "b"))
    fold_lifecycle(job, Lifecycle(kind=LifecycleKind.ENDED, runner="r", attempt="a-1", ending=ending), NOW + 61)
    fold_report(job, transformers_post(50, 100, epoch=1.0, loss=1.0), Envelope(attempt="a-2", run="relay"), NOW + 62)
    fold_report(job, transformers_last(epoch=1.1), Envelope(attempt="a-2", run="relay"), NOW + 63)
    return job


def test_comes_back_as_it_was():
    job = a_full_job()
    again = load(dump(job, NOW + 70))
    assert repr(view(again, NOW + 80)) == repr(view(job, NOW + 80))
    assert commands_for(again, "a-1", "r") == commands_for(job, "a-1", "r") != ()
    assert dump(again, NOW + 70) == dump(job, NOW + 70)


def test_is_strict_json_with_a_version():
    value = json.loads(dump(a_full_job(), NOW), parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert value["v"] == 1


def test_pieces_that_change_are_encoded_anew():
    job = a_full_job()
    for _ in range(3):
        assert dump(load(dump(job, NOW)), NOW) == dump(job, NOW)
        fold_report(job, SyntheticRun("late", "a-2").at(3), Envelope(), NOW + 90)
        fold_action(job, "a-2", ActionKind.STOP, ActionRequest(), "stop-2", NOW + 91)


@pytest.mark.parametrize("document", [b"", b"{}", b"[]", b"null", b'{"v":1}', b"\xff\xfe", b'{"v":1,"namespace":3'])
def test_what_cannot_be_understood_is_said_so(document: bytes):
    with pytest.raises(StoreCorruptError):
        load(document)


def test_a_newer_version_is_not_guessed_at():
    value = json.loads(dump(a_full_job(), NOW))
    value["v"] = 2
    with pytest.raises(StoreCorruptError, match="newer"):
        load(json.dumps(value).encode())


def test_the_servers_own_writer_stores_the_same():
    job = a_full_job()
    slowly = json.loads(dump(job, NOW))

    assert json.loads(dump(load(dump(job, NOW)), NOW, write_json)) == slowly


def test_text_that_utf8_has_no_bytes_for_is_stored_too():
    assert json.loads(write_json({"run": "half \ud800 a pair"})) == {"run": "half \ud800 a pair"}


def test_the_run_s_word_for_its_framework_is_shown_where_the_runner_has_none():
    job = a_full_job()
    shown = view(job, NOW + 80).spec
    assert (shown.framework, shown.nodes, shown.owner) == ("pytorch", 2, "me")
    assert job.spec.framework is None
