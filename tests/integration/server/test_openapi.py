"""The API's own description is a valid one, and what the server really takes and answers is as it says."""

from __future__ import annotations

import re

import pytest

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
}


def problems(schema, value, root, path="$"):
    """What a value breaks of a JSON Schema: the keywords that the description uses, and no others."""
    known = {
        "$ref", "description", "type", "enum", "const", "anyOf", "properties", "required", "additionalProperties",
        "items", "prefixItems", "minItems", "maxItems", "minimum", "maximum", "minLength", "maxLength", "format", "default",
    }  # fmt: skip
    assert set(schema) <= known, f"{path}: {set(schema) - known}"
    if "$ref" in schema:
        target = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        yield from problems(target, value, root, path)
    if "anyOf" in schema and all(list(problems(option, value, root, path)) for option in schema["anyOf"]):
        yield f"{path}: {value!r} fits none of the options"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is not one of {schema['enum']}"
    if "const" in schema and value != schema["const"]:
        yield f"{path}: {value!r} is not {schema['const']!r}"
    kind = schema.get("type")
    if kind in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, int if kind == "integer" else (int, float)):
            yield f"{path}: {value!r} is not of type {kind}"
        elif not schema.get("minimum", value) <= value <= schema.get("maximum", value):
            yield f"{path}: {value!r} is out of bounds"
    elif kind is not None and not isinstance(value, TYPES[kind]):
        yield f"{path}: {value!r} is not of type {kind}"
        return
    if isinstance(value, dict):
        for name in schema.get("required", ()):
            if name not in value:
                yield f"{path}: {name} is missing"
        inside = schema.get("properties", {})
        for name, item in value.items():
            if name in inside:
                yield from problems(inside[name], item, root, f"{path}.{name}")
            elif isinstance(schema.get("additionalProperties"), dict):
                yield from problems(schema["additionalProperties"], item, root, f"{path}.{name}")
            elif inside:
                yield f"{path}: {name} is not described"
    if isinstance(value, list):
        heads = schema.get("prefixItems", [])
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{path}: {len(value)} items"
        for index, item in enumerate(value):
            part = heads[index] if index < len(heads) else schema.get("items")
            if part is not None:
                yield from problems(part, item, root, f"{path}[{index}]")


@pytest.fixture(scope="module")
def description(server):
    import httpx2

    return httpx2.get(f"{server.url}/api/openapi.json").json()


def operations(description):
    for path, item in description["paths"].items():
        for method, operation in item.items():
            yield f"{method.upper()} {path}", path, operation


def test_it_is_an_openapi_3_1_document(description):
    assert description["openapi"].startswith("3.1")
    assert {"title", "version"} <= set(description["info"])
    for where, path, operation in operations(description):
        assert operation["summary"].endswith("."), where
        assert operation["responses"], where
        assert all(re.fullmatch(r"[1-5]\d\d", code) for code in operation["responses"]), where
        assert all(answer["description"] for answer in operation["responses"].values()), where
        parameters = [(each["in"], each["name"]) for each in operation["parameters"]]
        assert len(parameters) == len(set(parameters)), where
        in_path = {name for place, name in parameters if place == "path"}
        assert in_path == set(re.findall(r"{(\w+)}", path)), where
        schemes = description["components"]["securitySchemes"]
        assert all(set(each) <= set(schemes) for each in operation["security"]), where


def test_every_reference_leads_somewhere(description):
    def references(value):
        if isinstance(value, dict):
            if "$ref" in value:
                yield value["$ref"]
            for item in value.values():
                yield from references(item)
        elif isinstance(value, list):
            for item in value:
                yield from references(item)

    found = set(references(description))
    schemas = description["components"]["schemas"]
    assert found == {f"#/components/schemas/{name}" for name in schemas}, "all are used, and none is missing"
    assert all(schemas.values())


def test_every_route_is_described(description, user):
    assert {where for where, _, _ in operations(description)} >= {
        "GET /api/v1/jobs",
        "PUT /api/v1/jobs/{namespace}/{name}",
        "GET /api/v1/events",
        "POST /apis/trainer.kubeflow.org/v1alpha1/namespaces/{namespace}/trainjobs/{name}/status",
    }
    for where, path, operation in operations(description):
        method = where.partition(" ")[0]
        if path.endswith("/events"):
            continue
        url = path.replace("{namespace}", "no").replace("{name}", "body")
        answer = user.request(method, url, follow_redirects=False)
        assert str(answer.status_code) in operation["responses"], where
        content = operation["responses"][str(answer.status_code)].get("content")
        if content:
            (kind,) = content
            assert answer.headers["content-type"].partition(";")[0] == kind, where


def schema_of(operation, code="200"):
    (content,) = operation["responses"][code]["content"].values()
    return content["schema"]


def test_what_is_answered_is_as_described(description, user, status_path, wire_fixture):
    name = "described"
    jobs = description["paths"]["/api/v1/jobs/{namespace}/{name}"]
    registration = {
        "runner": "r",
        "attempt": "runner-1",
        "host": "here",
        "tags": ["a"],
        "spec": {"devicesPerNode": 8, "pricePerHour": 55, "framework": "torch", "command": ["python", "train.py"]},
    }
    taken = jobs["put"]["requestBody"]["content"]["application/json"]["schema"]
    assert not list(problems(taken, registration, description))
    registered = user.put(f"/api/v1/jobs/local/{name}", json=registration)
    assert not list(problems(schema_of(jobs["put"]), registered.json(), description))
    status = next(item["post"] for path, item in description["paths"].items() if path.startswith("/apis/"))
    for fixture in ("headway-report", "headway-beat", "stock-transformers"):
        body = wire_fixture(fixture)
        import json

        assert not list(
            problems(status["requestBody"]["content"]["application/json"]["schema"], json.loads(body), description)
        )
        answer = user.post(status_path(name), content=body)
        assert not list(problems(schema_of(status), answer.json(), description))
    answer = user.get(f"/api/v1/jobs/local/{name}")
    assert answer.json()["progress"]["step"] == 450
    assert not list(problems(schema_of(jobs["get"]), answer.json(), description))
    page = user.get("/api/v1/jobs")
    assert not list(problems(schema_of(description["paths"]["/api/v1/jobs"]["get"]), page.json(), description))
    for part in ("series", "metrics", "attempts"):
        answer = user.get(f"/api/v1/jobs/local/{name}/{part}")
        operation = description["paths"][f"/api/v1/jobs/{{namespace}}/{{name}}/{part}"]["get"]
        assert answer.json()[part]
        assert not list(problems(schema_of(operation), answer.json(), description))
    refused = user.get("/api/v1/jobs", params={"limit": "x"})
    operation = description["paths"]["/api/v1/jobs"]["get"]
    assert not list(problems(schema_of(operation, "422"), refused.json(), description))


def test_the_comparison_sees_what_is_wrong(description):
    job = {"$ref": "#/components/schemas/Job"}
    assert any("is missing" in problem for problem in problems(job, {"name": "x"}, description))
    assert any("is not one of" in problem for problem in problems(job, {"state": "Fine"}, description))
    assert list(problems({"$ref": "#/components/schemas/Number"}, "nan", description))
    assert not list(problems({"$ref": "#/components/schemas/Number"}, "NaN", description))
