"""``headway ls`` and ``headway rm``: the list of jobs, and forgetting those that have ended."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from headway.cli.commands.options import LOCAL, AllNamespaces, Json, Namespace

if TYPE_CHECKING:
    from enum import StrEnum

    Word = TypeVar("Word", bound=StrEnum)

NEWEST_FIRST = "-createdAt"


def ls(
    *,
    namespace: Namespace = LOCAL,
    all_namespaces: AllNamespaces = False,
    state: Annotated[
        list[str] | None, typer.Option(metavar="STATE", help="Only jobs in this state; may be repeated.")
    ] = None,
    verdict: Annotated[
        list[str] | None, typer.Option(metavar="VERDICT", help="Only jobs with this verdict; may be repeated.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="Only jobs with this tag; may be repeated.")
    ] = None,
    text: Annotated[str, typer.Option("--filter", metavar="TEXT", help="Only jobs whose name holds this text.")] = "",
    sort: Annotated[
        str,
        typer.Option(
            metavar="FIELD",
            help="createdAt, updatedAt, name, namespace, state, verdict, percent, eta or spent; "
            "with - before it, the other way round.",
        ),
    ] = NEWEST_FIRST,
    limit: Annotated[int, typer.Option(min=0, help="At most so many jobs; 0: all.")] = 0,
    json: Json = False,
) -> None:
    """List jobs: state, verdict, progress, remaining time."""
    import itertools
    import time

    from headway.cli import documents, terminal
    from headway.cli.render.listing import SORTED_BY, listing
    from headway.cli.render.view import Seen
    from headway.client.client import Client
    from headway.protocol.job import SORTABLE, JobQuery, State
    from headway.protocol.verdict import Verdict

    if sort.removeprefix("-") not in SORTABLE:
        raise typer.BadParameter(f"{sort!r} is not one of {', '.join(SORTABLE)}", param_hint="--sort")
    query = JobQuery(
        namespaces=frozenset() if all_namespaces else frozenset({namespace}),
        states=frozenset(_word(State, each, "--state") for each in state or ()),
        verdicts=frozenset(_word(Verdict, each, "--verdict") for each in verdict or ()),
        tags=frozenset(tag or ()),
        text=text,
        sort=sort,
        limit=min(limit or 500, 500),
    )
    with Client() as client:
        found = list(itertools.islice(client.iter_jobs(query), limit or None))
        now = time.time()
        elsewhere = 0
        if not found and not all_namespaces and not json:
            elsewhere = client.jobs(JobQuery(limit=1)).total
    if json:
        terminal.write(documents.strict_json(documents.jobs_document(found)) + "\n")
    elif found:
        needed = SORTED_BY.get(sort.removeprefix("-")) if sort != NEWEST_FIRST else None
        seen = [Seen(job, now) for job in found]
        terminal.show(listing(seen, terminal.view(now), namespaces=all_namespaces, needed=needed))
    else:
        terminal.note(_nothing(bool(state or verdict or tag or text), namespace, elsewhere))


def _nothing(filtered: bool, namespace: str, elsewhere: int) -> str:
    if filtered:
        return "no job matches"
    if elsewhere:
        return f"no jobs in namespace {namespace}; {elsewhere} in others: headway ls -A"
    return "no jobs yet; start one with: headway run -- python train.py"


def _word(kind: type[Word], text: str, option: str) -> Word:
    for member in kind:
        if member.value.lower() == text.lower():
            return member
    raise typer.BadParameter(f"{text!r} is not one of {', '.join(kind)}", param_hint=option)


def rm(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME", help="Names of jobs that have ended.", show_default=False)
    ],
    namespace: Namespace = LOCAL,
) -> None:
    """Forget jobs that have ended, with their history."""
    from headway.cli import terminal
    from headway.client.client import Client
    from headway.errors import ConflictError, NotFoundError

    code = 0
    with Client() as client:
        for name in names:
            try:
                client.delete(name, namespace=namespace)
                terminal.say(f"{namespace}/{name} removed")
            except NotFoundError as error:
                terminal.complain(str(error))
                code = code or 3
            except ConflictError as error:
                terminal.complain(f"{error} (headway stop {shlex.quote(name)})")
                code = 1
    if code:
        raise typer.Exit(code)
