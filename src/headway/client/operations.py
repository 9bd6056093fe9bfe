"""Every call of Headway's HTTP API as a value: what to send, and how to read what comes back. No I/O.

:class:`~headway.client.client.Client` and :class:`~headway.client.async_client.AsyncClient` carry these out and differ in
nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlencode

from headway.errors import HeadwayError, InvalidError
from headway.protocol.action import ActionKind, ActionRequest
from headway.protocol.codec import decode, dumps, encode, loads
from headway.protocol.directive import Answer
from headway.protocol.history import Series, SeriesQuery
from headway.protocol.job import Attempt, Job, JobKey, JobPage, JobQuery, RankInfo
from headway.protocol.lifecycle import Lifecycle, LifecycleAnswer, Registered, Registration
from headway.protocol.limits import HEADER_AGE, HEADER_ATTEMPT, HEADER_RUN, HEADER_SEQ, STATUS_PATH, STREAM_SECONDS
from headway.protocol.problem import error_from_status
from headway.protocol.report import Envelope
from headway.protocol.wire import decode_answer

T = TypeVar("T")

_JOBS = "/api/v1/jobs"


@dataclass(frozen=True, slots=True)
class Operation(Generic[T]):
    """One call: the request, and ``read``, which turns the body of a good answer into what the caller gets."""

    method: str
    target: str
    """Path, percent-encoded, with its query."""
    read: Callable[[bytes], T]
    body: bytes | None = None
    headers: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """A job's attempts, oldest first, and the processes of the current one."""

    attempts: tuple[Attempt, ...] = ()
    ranks: tuple[RankInfo, ...] = ()


@dataclass(frozen=True, slots=True)
class Health:
    """Whether a server is ready to work, and its own words where it is not."""

    ready: bool
    text: str


def segment(name: str) -> str:
    """One path segment, percent-encoded; a lone dot or two would otherwise vanish on the way."""
    encoded = quote(name, safe="")
    return encoded.replace(".", "%2E") if encoded in {".", ".."} else encoded


def job_path(key: JobKey, *rest: str) -> str:
    """Path of a job, or of what belongs to it."""
    return "/".join((_JOBS, segment(key.namespace), segment(key.name), *rest))


def status_path(key: JobKey) -> str:
    """Path that a job's reports are posted to."""
    return STATUS_PATH.format(namespace=segment(key.namespace), name=segment(key.name))


def _target(path: str, params: list[tuple[str, str]]) -> str:
    return f"{path}?{urlencode(params)}" if params else path


def _document(body: bytes) -> Any:
    try:
        return loads(body)
    except InvalidError as error:
        raise HeadwayError(f"the answer is not one of a Headway server: {error}") from error


def _reader(cls: type[T]) -> Callable[[bytes], T]:
    return lambda body: decode(cls, _document(body))


def _list_reader(cls: type[T], name: str) -> Callable[[bytes], list[T]]:
    def read(body: bytes) -> list[T]:
        document = _document(body)
        items: list[T] = decode(list[cls], document.get(name, []) if isinstance(document, dict) else document, name)  # type: ignore[valid-type]
        return items

    return read


def _nothing(_: bytes) -> None:
    return None


def jobs(query: JobQuery) -> Operation[JobPage]:
    """One page of the list of jobs."""
    params: list[tuple[str, str]] = []
    for name, values in (
        ("namespace", query.namespaces),
        ("state", query.states),
        ("verdict", query.verdicts),
        ("framework", query.frameworks),
        ("owner", query.owners),
        ("tag", query.tags),
    ):
        params += [(name, str(value)) for value in sorted(values)]
    params += [("job", "/".join(quote(part, safe="") for part in key)) for key in sorted(query.keys)]
    if query.text:
        params.append(("text", query.text))
    params += [("sort", query.sort), ("limit", str(query.limit))]
    if query.cursor is not None:
        params.append(("cursor", query.cursor))
    return Operation("GET", _target(_JOBS, params), _reader(JobPage))


def job(key: JobKey) -> Operation[Job]:
    """One job."""
    return Operation("GET", job_path(key), _reader(Job))


def delete(key: JobKey) -> Operation[None]:
    """Forgets a job that has ended, and its history."""
    return Operation("DELETE", job_path(key), _nothing)


def series(key: JobKey, query: SeriesQuery) -> Operation[list[Series]]:
    """Metric history."""
    params = [("metric", metric) for metric in query.metrics]
    if query.attempt is not None:
        params.append(("attempt", query.attempt))
    params.append(("points", str(query.points)))
    if query.first_step is not None:
        params.append(("from", str(query.first_step)))
    if query.last_step is not None:
        params.append(("to", str(query.last_step)))
    return Operation("GET", _target(job_path(key, "series"), params), _list_reader(Series, "series"))


def metrics(key: JobKey) -> Operation[list[str]]:
    """Names of the metrics that a job has history of."""
    return Operation("GET", job_path(key, "metrics"), _list_reader(str, "metrics"))


def attempts(key: JobKey) -> Operation[Attempts]:
    """Attempts of a job and the processes of the current one."""
    return Operation("GET", job_path(key, "attempts"), _reader(Attempts))


def register(key: JobKey, registration: Registration) -> Operation[Registered]:
    """Makes a job known, or begins its next attempt."""
    return Operation("PUT", job_path(key), _reader(Registered), dumps(encode(registration)))


def lifecycle(key: JobKey, event: Lifecycle) -> Operation[LifecycleAnswer]:
    """Tells what happened to a job's processes."""
    return Operation("POST", job_path(key, "lifecycle"), _reader(LifecycleAnswer), dumps(encode(event)))


def act(key: JobKey, kind: ActionKind, request: ActionRequest) -> Operation[Job]:
    """Asks for something to be done to a job."""

    def read(body: bytes) -> Job:
        document = _document(body)
        return decode(Job, document.get("job") if isinstance(document, dict) else document, "job")

    return Operation("POST", job_path(key, kind), read, dumps(encode(request)))


def token(key: JobKey) -> Operation[str]:
    """A job's own token; makes the job known."""

    def read(body: bytes) -> str:
        document = _document(body)
        if not isinstance(document, dict) or not isinstance(document.get("token"), str):
            raise HeadwayError("the server answered without a token")
        return str(document["token"])

    return Operation("POST", job_path(key, "token"), read, b"{}")


def log(key: JobKey, *, tail: int, follow: bool) -> Operation[None]:
    """The end of a job's log; to be read as a stream."""
    params = [("tail", str(tail)), ("follow", "true" if follow else "false")]
    return Operation("GET", _target(job_path(key, "log"), params), _nothing)


def events(
    namespace: str | None, name: str | None, last_event_id: str | None, seconds: float | None = None
) -> Operation[None]:
    """The stream of changes, for ``seconds``; to be read with :class:`~headway.client.events.EventParser`."""
    params = [(key, value) for key, value in (("namespace", namespace), ("name", name)) if value is not None]
    if seconds is not None:
        params.append(("seconds", f"{min(max(seconds, 0.0), STREAM_SECONDS):.3f}"))
    headers = {"accept": "text/event-stream"}
    if last_event_id is not None:
        headers["last-event-id"] = last_event_id
    return Operation("GET", _target("/api/v1/events", params), _nothing, headers=headers)


def report(key: JobKey, body: bytes, envelope: Envelope) -> Operation[Answer | None]:
    """Hands on a report as it came, with what is known of it. The answer of a stock server reads as None."""
    headers = {}
    if envelope.age > 0:
        headers[HEADER_AGE] = f"{envelope.age:.3f}"
    for name, value in ((HEADER_ATTEMPT, envelope.attempt), (HEADER_RUN, envelope.run), (HEADER_SEQ, envelope.seq)):
        if value is not None:
            headers[name] = quote(str(value), safe="")
    return Operation("POST", status_path(key), lambda answer: decode_answer(_document(answer)), body, headers)


def ready() -> Operation[Health]:
    """Whether the server is ready."""
    return Operation("GET", "/readyz", lambda body: Health(True, body.decode("utf-8", "replace").strip()))


def code() -> Operation[str]:
    """The address, good once, that logs a browser in."""

    def read(body: bytes) -> str:
        document = _document(body)
        if not isinstance(document, dict) or not isinstance(document.get("url"), str):
            raise HeadwayError("the server answered without a login address")
        return str(document["url"])

    return Operation("POST", "/api/v1/codes", read, b"{}")


def error_of(status: int, body: bytes, retry_after: str | None = None) -> HeadwayError:
    """The error that an answer other than 2xx stands for."""
    message, field = "", None
    try:
        document = loads(body)
    except InvalidError:
        document = None
    if isinstance(document, dict):
        message = str(document.get("message") or "")
        details = document.get("details")
        causes = details.get("causes") if isinstance(details, dict) else None
        if isinstance(causes, list) and causes and isinstance(causes[0], dict):
            field = causes[0].get("field")
    if not message:
        words = body[:200].decode("utf-8", "replace").strip()
        message = f"HTTP {status}, not as a Headway server says it" + (f": {words}" if words else "")
    try:
        seconds = None if retry_after is None else float(retry_after)
    except ValueError:
        seconds = None  # an HTTP date: wait as for an answer without one
    return error_from_status(status, message, field=field, retry_after=seconds)
