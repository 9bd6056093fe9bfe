"""docs/reference/http.md: every endpoint of the server, from its routes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from litestar import Litestar

from headway.hub.hub import Hub
from headway.server.app import make_routes
from headway.server.context import Context
from headway.server.endpoint import Access
from headway.server.limits import RateLimiter
from headway.server.openapi import Described, build, endpoints
from headway.server.settings import ServerSettings
from headway.server.tokens import Keyring, Keys
from headway.store.memory import MemoryStore

ACCESS = {Access.OPEN: "none", Access.JOB: "job or user", Access.USER: "user"}
INTRODUCTION = """<!-- Written by tools/generate_docs.py from the routes of the server; change those. -->

# HTTP API

A running server describes itself at `/api/openapi.json` (OpenAPI 3.1), with the shape of every document.

- Answers are strict JSON. Numbers that JSON has no word for travel as `"NaN"`, `"Infinity"`, `"-Infinity"`, both ways.
- Errors are Kubernetes `Status` objects. `details.causes[0].field` names the field that was wrong.
  429 and 503 carry `Retry-After`.
- Namespaces and names in paths are percent-encoded, slashes too: job `a/b` in `local` is `/api/v1/jobs/local/a%2Fb`.
- A token goes into `Authorization: Bearer …`. The user's token opens everything, a job's own token its status and lifecycle
  endpoints. With the user's token a report makes its job known.
  A browser logs in with a one-time code; what it changes must carry `Origin` and `Headway-Request: 1`.
- `Host` must name the loopback interface, or a name that `HEADWAY_SERVER_ALLOWED_HOSTS` lists.

| | path | token | |
|---|---|---|---|
"""


def routes() -> Litestar:
    """The server's routes, over a hub that is not started."""
    settings = ServerSettings()
    context = Context(
        hub=Hub(MemoryStore()),
        keyring=Keyring(Keys.new()),
        settings=settings,
        limiter=RateLimiter(settings.reports_per_second, settings.report_burst),
    )
    return make_routes(context)


def http_page() -> str:
    """The page on the API."""
    app = routes()
    table = list(endpoints(app))
    document = build(app)
    rows = [f"| {method} | `{path}` | {ACCESS[about.access]} | {about.says} |" for method, path, about in table]
    sections = [line for each in table for line in _section(each, document["paths"][each.path][each.method.lower()])]
    return INTRODUCTION + "\n".join([*rows, "", *sections])


def _section(each: Described, operation: dict[str, Any]) -> Iterator[str]:
    shape = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    about = each.endpoint
    yield f"## {each.method} {each.path}"
    yield ""
    yield about.says
    yield ""
    if about.params:
        yield "| parameter | type | default | |"
        yield "|---|---|---|---|"
        for param in about.params:
            kind = f"{param.kind.__name__}, repeatable" if param.many else param.kind.__name__
            if param.least is not None:
                kind += f", {param.least} to {param.most}"
            default = "" if param.default in (None, "") else f"`{json.dumps(param.default)}`"
            yield f"| `{param.name}` | {kind} | {default} | {param.says} |"
        yield ""
    if shape is not None:
        yield f"Takes {_name(shape)}."
        yield ""
    answer = operation["responses"][str(about.code)]
    for kind, content in answer.get("content", {}).items():
        what = _name(content["schema"]) if kind in ("application/json", "text/event-stream") else "text"
        yield f"Answers {about.code} with {what} (`{kind}`)."
        yield ""
    errors = [
        f"{code} {each['description']}" for code, each in operation["responses"].items() if code != str(about.code)
    ]
    yield f"Errors: {', '.join(errors)}."
    yield ""


def _name(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2]}`"
    if "properties" in schema:
        inside = ", ".join(f'"{name}": {_name(part).strip("`")}' for name, part in schema["properties"].items())
        return f"`{{{inside}}}`"
    if schema.get("type") == "array":
        return f"[{_name(schema['items']).strip('`')}]"
    return str(schema.get("type", "JSON"))
