"""The OpenAPI 3.1 description of the API, from the routes themselves and the protocol's types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from litestar import Litestar
from litestar.routes import ASGIRoute, HTTPRoute

import headway
from headway.protocol.limits import STATUS_PATH
from headway.protocol.problem import Reason
from headway.server.endpoint import Access, Endpoint
from headway.server.params import Param
from headway.server.schema import Components, Schema
from headway.server.wire_schema import add_answer, add_report

_KINDS: Final = {str: "string", int: "integer", float: "number", bool: "boolean"}
_STATUS_ERRORS: Final = (404, 413, 429, 503)


class Described(NamedTuple):
    """One route with what is said of it."""

    method: str
    path: str
    endpoint: Endpoint


def endpoints(app: Litestar) -> Iterator[Described]:
    """Every described route, in the order of paths."""
    found: list[Described] = []
    for route in app.routes:
        if isinstance(route, HTTPRoute):
            for handler in route.route_handlers:
                if (endpoint := handler.opt.get("endpoint")) is not None:
                    path = re.sub(r":\w+}", "}", route.path)
                    found.extend(Described(str(method), path, endpoint) for method in sorted(handler.http_methods))
        elif isinstance(route, ASGIRoute) and (endpoint := route.route_handler.opt.get("endpoint")) is not None:
            found.append(Described("POST", STATUS_PATH, endpoint))
    yield from sorted(found, key=lambda each: (each.path, each.method))


def build(app: Litestar) -> Schema:
    """The whole description."""
    components = Components()
    report, answer = add_report(components), add_answer(components)
    problem = components.add("Status", _problem())
    paths: dict[str, dict[str, Any]] = {}
    for method, path, endpoint in endpoints(app):
        body: Schema | None = None
        shape: Schema | None = None
        if path == STATUS_PATH:
            body, shape = report, answer
        else:
            body = None if endpoint.body is None else components.of(endpoint.body)
            shape = _shape(components, endpoint.answer)
        paths.setdefault(path, {})[method.lower()] = _operation(path, endpoint, body, shape, problem)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Headway",
            "version": getattr(headway, "__version__", "0"),
            "description": "Whether training jobs make headway. Numbers that JSON has no word for travel as strings; "
            "errors are Kubernetes Status objects; names in paths are percent-encoded, slashes too.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": dict(sorted(components.schemas.items())),
            "securitySchemes": {
                "user": {"type": "http", "scheme": "bearer", "description": "The user's token."},
                "job": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": "One job's token."},
                "browser": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "headway-7447",
                    "description": "Set by /login; the name ends in the port. Changes need Origin and `Headway-Request: 1`.",
                },
            },
        },
    }


def _operation(path: str, endpoint: Endpoint, body: Schema | None, shape: Schema | None, problem: Schema) -> Schema:
    operation: Schema = {
        "summary": endpoint.says,
        "parameters": [*_path_parameters(path), *map(_parameter, endpoint.params)],
    }
    match endpoint.access:
        case Access.OPEN:
            operation["security"] = []
        case Access.JOB:
            operation["security"] = [{"job": []}, {"user": []}, {"browser": []}]
        case Access.USER:
            operation["security"] = [{"user": []}, {"browser": []}]
    if path == STATUS_PATH:
        operation["security"] = [{"job": []}, {"user": []}]
    if body is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    success: Schema = {"description": "Success"}
    if endpoint.code not in (204, 303):
        kind = endpoint.kind.partition(";")[0]
        success["content"] = {kind: {"schema": shape if shape is not None else {"type": "string"}}}
    operation["responses"] = {str(endpoint.code): success}
    for code in _errors(path, endpoint, with_body=body is not None):
        word = next(reason.word for reason in Reason if reason.code == code)
        operation["responses"][str(code)] = {
            "description": word,
            "content": {"application/json": {"schema": problem}},
        }
    return operation


def _errors(path: str, endpoint: Endpoint, *, with_body: bool) -> list[int]:
    codes = {403, *endpoint.errors}
    if endpoint.params or with_body or "{" in path:
        codes.add(422)
    if with_body:
        codes |= {413, 503}
    if path == STATUS_PATH:
        codes |= set(_STATUS_ERRORS)
    return sorted(codes)


def _path_parameters(path: str) -> list[Schema]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "minLength": 1},
            "description": "A file's name." if name == "file" else f"The job's {name}, percent-encoded, slashes too.",
        }
        for name in re.findall(r"{(\w+)}", path)
    ]


def _parameter(param: Param) -> Schema:
    schema: Schema = {"type": _KINDS[param.kind]}
    if param.choices:
        schema["enum"] = list(param.choices)
    if param.least is not None:
        schema["minimum"] = param.least
    if param.most is not None:
        schema["maximum"] = param.most
    if param.many:
        schema = {"type": "array", "items": schema}
    elif param.default not in (None, ""):
        schema["default"] = param.default
    return {"name": param.name, "in": "query", "required": False, "schema": schema, "description": param.says}


def _shape(components: Components, answer: Any) -> Schema | None:
    if answer is None:
        return None
    if isinstance(answer, dict):
        properties = {name: components.of(hint) for name, hint in answer.items()}
        return {"type": "object", "required": list(properties), "properties": properties}
    return components.of(answer)


def _problem() -> Schema:
    text: Schema = {"type": "string"}
    cause: Schema = {"type": "object", "properties": {"reason": text, "message": text, "field": text}}
    return {
        "type": "object",
        "description": "A Kubernetes Status of kind Failure.",
        "required": ["kind", "apiVersion", "status", "message", "reason", "code"],
        "properties": {
            "kind": {"const": "Status"},
            "apiVersion": {"const": "v1"},
            "metadata": {"type": "object"},
            "status": {"const": "Failure"},
            "message": text,
            "reason": {"type": "string", "enum": [reason.word for reason in Reason]},
            "code": {"type": "integer"},
            "details": {"type": "object", "properties": {"causes": {"type": "array", "items": cause}}},
        },
    }
