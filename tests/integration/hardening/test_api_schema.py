"""Whatever is made up from the API's own description, right or wrong, is answered as described: never by an internal error."""

from __future__ import annotations

import itertools
from urllib.parse import quote

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from headway.protocol.job import JobKey
from headway.server.settings import ServerSettings
from headway.testing import LiveServer, live_server

CHECKS = (
    *(not_a_server_error, status_code_conformance, content_type_conformance),
    *(response_headers_conformance, response_schema_conformance),
)
EXAMPLES = 8
"""Requests of each kind to each operation."""
KNOWN = ("there", "a/b <i>ü</i> 日本", "ended")
"""Jobs that are there, so that not all that is answered is 404."""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    # What is made up goes to a few jobs, faster than any run reports.
    with live_server(tmp_path_factory.mktemp("api"), server=ServerSettings(report_burst=1e9)) as running:
        yield running


@pytest.fixture(scope="module")
def operations(server: LiveServer):
    """The API's operations but for the stream of events, which has no end."""
    api = schemathesis.openapi.from_url(f"{server.url}/api/openapi.json").exclude(path="/api/v1/events")
    return {operation.ok().label: operation.ok() for operation in api.get_all_operations()}


def try_out(operation, mode, check):
    """Makes requests up, and checks each."""

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def each(case):
        check(case)

    each()


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["right", "wrong"])
def test_it_is_answered_as_described(server, operations, mode):
    assert len(operations) > 15
    headers = {"authorization": f"Bearer {server.token}"}
    for name in KNOWN:
        server.call(server.hub.announce(JobKey("local", name)))
    names = itertools.cycle([*KNOWN, None])
    answers: dict[str, list[int]] = {}
    failed: dict[str, str] = {}

    def check(case):
        if case.query and case.query.get("follow"):
            case.query["follow"] = False  # such an answer ends with the job
        name = next(names)
        if name is not None and mode is GenerationMode.POSITIVE and "name" in (case.path_parameters or {}):
            case.path_parameters = {"namespace": "local", "name": quote(name, safe="")}
        answer = case.call(headers=headers, allow_redirects=False, timeout=20)
        answers.setdefault(case.operation.label, []).append(answer.status_code)
        case.validate_response(answer, checks=CHECKS)

    for label, operation in operations.items():
        try:
            try_out(operation, mode, check)
        except Unsatisfiable:
            assert not operation.body, "what takes nothing cannot be asked wrongly"
        except BaseExceptionGroup as problem:
            failed[label] = "\n".join(str(each) for each in problem.exceptions)
        except Exception as problem:
            failed[label] = str(problem)
    assert not failed, "\n\n".join(f"{label}: {text[:2000]}" for label, text in failed.items())
    codes = {code for each in answers.values() for code in each}
    assert codes >= ({200, 202, 404} if mode is GenerationMode.POSITIVE else {404, 422})
