"""JSON Schema of the status endpoint's two messages, where the wire's shape is not that of the dataclasses.

What a sender should send is said here; the server mends more than that (see :mod:`headway.protocol.kubeflow`).
"""

from __future__ import annotations

from typing import Any, Final

from headway.protocol.directive import Directive
from headway.protocol.limits import MAX_METRICS, MAX_NAME_LENGTH, MAX_VALUE_LENGTH
from headway.protocol.report import RunReport
from headway.server.schema import Components, Schema

_TRAINER_STATUS: Final[Schema] = {
    "type": "object",
    "description": "Kubeflow Trainer's status. What breaks its limits is mended, and the answer warns of it.",
    "properties": {
        "progressPercentage": {"type": "integer", "minimum": 0, "maximum": 100},
        "estimatedRemainingSeconds": {"type": "integer", "minimum": 0},
        "metrics": {
            "type": "array",
            "maxItems": MAX_METRICS,
            "items": {
                "type": "object",
                "required": ["name", "value"],
                "properties": {
                    "name": {"type": "string", "minLength": 1, "maxLength": MAX_NAME_LENGTH},
                    "value": {"type": "string", "minLength": 1, "maxLength": MAX_VALUE_LENGTH},
                },
            },
        },
        "lastUpdatedTime": {"type": "string", "format": "date-time"},
    },
}


def add_report(components: Components) -> Schema:
    """Adds the request of the status endpoint; returns a reference to it."""
    number = components.of(float)
    cell: Schema = {
        "description": "One sample, or `[mean, n, m2]` over the steps since the point before (m2: sum of squared deviations), "
        "or `[mean, n, m2, bad]` where `bad` of the `n` were not finite.",
        "anyOf": [
            number,
            {
                "type": "array",
                "prefixItems": [number, {"type": "integer", "minimum": 1}, number],
                "minItems": 3,
                "maxItems": 3,
            },
            {
                "type": "array",
                "prefixItems": [
                    number,
                    {"type": "integer", "minimum": 1},
                    number,
                    {"type": "integer", "minimum": 0},
                ],
                "minItems": 4,
                "maxItems": 4,
            },
        ],
    }
    cell_ref = components.add("Cell", cell)
    components.add(
        "Point",
        {
            "type": "array",
            "description": "`[step, t, {metric: cell}]`; `t` is seconds since the attempt began, on a monotonic clock.",
            "prefixItems": [
                {"type": "integer"},
                number,
                {"type": "object", "additionalProperties": cell_ref},
            ],
            "minItems": 3,
            "maxItems": 3,
        },
    )
    return components.add(
        "Report",
        {
            "type": "object",
            "description": "One report of a training process. Either part may be missing; unknown fields are ignored.",
            "properties": {
                "trainerStatus": components.add("TrainerStatus", _TRAINER_STATUS),
                "headway": components.of(RunReport),
            },
        },
    )


def add_answer(components: Components) -> Schema:
    """Adds the answer of the status endpoint; returns a reference to it."""
    headway: dict[str, Any] = {
        "type": "object",
        "required": ["version", "interval"],
        "properties": {
            "version": {"type": "integer"},
            "ack": {
                "type": "integer",
                "description": "Highest sequence number such that it and all before it are persisted.",
            },
            "interval": {"type": "number", "description": "Seconds that the run should leave between reports."},
            "directives": {"type": "array", "items": components.of(Directive)},
            "warnings": {"type": "array", "items": {"type": "string"}},
            "want": {"type": "array", "items": {"type": "string"}},
            "grace": {
                "type": "number",
                "description": "From a runner that was told to end the processes: seconds that lie between SIGTERM and SIGKILL;"
                " once SIGTERM was sent, those that are left.",
            },
        },
    }
    return components.add(
        "Answer",
        {
            "type": "object",
            "required": ["trainerStatus", "headway"],
            "properties": {
                "trainerStatus": components.add("TrainerStatus", _TRAINER_STATUS),
                "headway": headway,
            },
        },
    )


def wire_schema() -> Schema:
    """One JSON Schema document with both messages under ``$defs``."""
    components = Components("#/$defs/")
    report, answer = add_report(components), add_answer(components)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Headway: report and answer of the status endpoint",
        "anyOf": [report, answer],
        "$defs": dict(sorted(components.schemas.items())),
    }
