"""docs/reference/wire.md: the report and its answer as a page to read, from the JSON Schema beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from headway.protocol import limits
from headway.protocol.directive import Answer
from headway.protocol.wire import decode_report, encode_answer
from headway.server.wire_schema import wire_schema
from reference.prose import cell

_WIDTH = 110


def _compact(value: Any, depth: int = 0) -> str:
    """JSON with what is short on one line."""
    line = json.dumps(value)
    if len(line) + 2 * depth <= _WIDTH or not isinstance(value, dict | list):
        return line
    inner, outer = "  " * (depth + 1), "  " * depth
    if isinstance(value, list):
        parts = [_compact(each, depth + 1) for each in value]
    else:
        parts = [f"{json.dumps(name)}: {_compact(each, depth + 1)}" for name, each in value.items()]
    begin, end = "[]" if isinstance(value, list) else "{}"
    return f"{begin}\n{inner}" + f",\n{inner}".join(parts) + f"\n{outer}{end}"


_REPORT = {
    "trainerStatus": {
        "progressPercentage": 45,
        "estimatedRemainingSeconds": 984,
        "metrics": [
            {"name": "loss", "value": "0.2347"},
            {"name": "current_step", "value": "450"},
            {"name": "total_steps", "value": "1000"},
        ],
        "lastUpdatedTime": "2026-11-30T08:00:00Z",
    },
    "headway": {
        "version": limits.PROTOCOL_VERSION,
        "run": "01JDX0V7W8Q3T5N9M1K2H4C6B8",
        "attempt": "slurm-4711-0",
        "seq": 17,
        "rank": 0,
        "worldSize": 8,
        "sentAfter": 820.4,
        "progress": {
            "step": 450,
            "totalSteps": 1000,
            "unit": "optimizer_step",
            "phase": "train",
            "lastStepAge": 0.3,
            "stepSeconds": 1.79,
        },
        "points": [
            [441, 812.4, {"loss": [0.2391, 9, 0.0031]}],
            [450, 820.1, {"loss": [0.2347, 9, 0.0029], "grad_norm": "NaN"}],
        ],
    },
}
_ANSWER = encode_answer(Answer(status=decode_report(_REPORT).status, ack=17, interval=1.0))
_INTRODUCTION = f"""<!-- Written by tools/generate_docs.py from the types of the protocol; change those. -->

# The wire

A run reports with `POST {limits.STATUS_PATH}`,
namespace and name percent-encoded, at most {limits.MAX_BODY_BYTES // 1024} KiB of strict JSON, with a token in
`Authorization: Bearer …`. The path and `trainerStatus` are those of Kubeflow Trainer, so its clients report to Headway as they
are; `headway` is what Headway adds, and may be left out. [wire.schema.json](wire.schema.json) says the same to programs.

- **Where a run sends**: `HEADWAY_URL`; else `KUBEFLOW_TRAINER_SERVER_URL`; else the server of this user on this machine; else a
  file that the next server takes in. Under `KUBEFLOW_TRAINER_SERVER_URL` a report holds `headway` only once an answer did.
- **Numbers** that JSON has no word for travel as `"NaN"`, `"Infinity"`, `"-Infinity"`.
- **Acknowledged means on disk.** `ack` in the answer names the report that is persisted; until then the run keeps it. The same
  `run` and `seq` twice is one report.
- **Mended, not refused**: what breaks a limit of `trainerStatus` (more than {limits.MAX_METRICS} metrics, names or values over
  {limits.MAX_NAME_LENGTH} characters, 45.5 per cent) is shortened or rounded, and `warnings` says so.
- **Refused**: 403 the token does not open this job; 404 no such job; 413 too large; 422 not strict JSON or a wrong type, with
  the field's name; 429 too fast, and 503 not ready or the disk is full, both with `Retry-After`. Errors are Kubernetes `Status`
  objects.
- **Kept reports** are handed on with `{limits.HEADER_AGE}` (seconds that they were kept), and those of clients that send no
  `headway` also with `{limits.HEADER_ATTEMPT}`, `{limits.HEADER_RUN}` and `{limits.HEADER_SEQ}`, so that one sent
  twice counts once.
- **Unknown fields** are ignored by both sides.

An example:

```json
{_compact(_REPORT)}
```

and its answer:

```json
{_compact(_ANSWER)}
```
"""
_FIRST = ("Report", "RunReport", "Answer")


def wire_page() -> str:
    """The page on the wire."""
    kinds: dict[str, Any] = wire_schema()["$defs"]
    names = [*_FIRST, *sorted(name for name in kinds if name not in _FIRST)]
    sections = [line for name in names for line in _section(name, kinds[name])]
    return _INTRODUCTION + "\n" + "\n".join(sections).rstrip() + "\n"


def _section(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield from (f"## {name}", "")
    if says := schema.get("description"):
        yield from (cell(says), "")
    if "properties" in schema:
        yield from ("| field | type | |", "|---|---|---|")
        yield from _rows(schema, "")
        yield ""
    elif "enum" in schema:
        yield from (" · ".join(f"`{each}`" for each in schema["enum"]), "")
    else:
        yield from (f"{_kind(schema)}", "")


def _rows(schema: dict[str, Any], before: str) -> Iterator[str]:
    required = schema.get("required", ())
    for name, part in schema["properties"].items():
        full = f"{before}{name}"
        need = "" if name in required else " *optional*"
        yield f"| `{full}` | {_kind(part)}{need} | {cell(part.get('description', ''))} |"
        inner = part.get("items", part)
        if "properties" in inner:
            yield from _rows(inner, f"{full}[]." if "items" in part else f"{full}.")


def _kind(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_kind(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(each)}`" for each in schema["enum"])
    if "prefixItems" in schema:
        return "\\[" + ", ".join(_kind(each) for each in schema["prefixItems"]) + "\\]"
    kind = schema.get("type", "any value")
    if kind == "array":
        return f"array of {_kind(schema['items'])}" if "properties" not in schema["items"] else "array of objects"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_kind(schema['additionalProperties'])}"
    if isinstance(kind, list):
        return " or ".join(kind)
    limits_ = [f"{word} {schema[key]}" for key, word in _LIMITS.items() if key in schema]
    return f"{kind}, {', '.join(limits_)}" if limits_ else str(kind)


_LIMITS = {
    "minimum": "at least",
    "maximum": "at most",
    "maxLength": "longest",
    "format": "as",
}
