"""``headway doctor``: what is set up, and what stands in the way."""

from __future__ import annotations

import typer

from headway.cli.commands.options import Json


def doctor(json: Json = False) -> None:
    """Check this machine: Python, extras, folders, server, clock, frameworks, environment. Exit code 1 on a failure."""
    from rich.text import Text

    from headway.cli import terminal
    from headway.cli.checks import Level, every_check
    from headway.cli.documents import strict_json
    from headway.cli.render import words

    styles = {Level.OK: "green", Level.WARN: "yellow", Level.FAIL: "bold red"}
    failed = False
    documents = []
    for check in every_check():
        failed = failed or check.level is Level.FAIL
        if json:
            documents.append(
                {"level": check.level.value, "subject": check.subject, "text": check.text, "todo": check.todo}
            )
            continue
        line = Text.assemble((f"{check.level.value:<5}", styles[check.level]), f"{words.clean(check.subject):<15} ")
        lines = [line.append(words.clean(check.text))]
        if check.todo:
            lines.append(Text.assemble(" " * 21, ("-> ", "dim"), words.clean(check.todo)))
        terminal.show(lines)
    if json:
        terminal.write(strict_json(documents) + "\n")
    if failed:
        raise typer.Exit(1)
