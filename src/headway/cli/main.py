"""The ``headway`` command. Each command's module is light; what it needs is imported when it runs."""

from __future__ import annotations

import io
import os
import signal
import sys
from typing import Annotated

try:
    import typer
except ModuleNotFoundError as missing:
    raise SystemExit("headway: the command line needs the cli extra: pip install 'headway[cli]'") from missing

from headway.cli.commands import actions, check, demo, doctor, jobs, logs, run, server, show, ui, watch

app = typer.Typer(
    name="headway",
    help="Tells whether a training job is making headway: how far it is, when it will end, whether it still learns.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_STARTING = "Start"
_LOOKING = "Look"
_ACTING = "Act"
_PLACE = "This machine"

app.command(
    "run",
    rich_help_panel=_STARTING,
    context_settings={"allow_interspersed_args": False, "ignore_unknown_options": False},
    options_metavar="[OPTIONS] --",
)(run.run)
app.command("demo", rich_help_panel=_STARTING)(demo.demo)
app.command("ui", rich_help_panel=_LOOKING)(ui.ui)
app.command("ls", rich_help_panel=_LOOKING)(jobs.ls)
app.command("watch", rich_help_panel=_LOOKING)(watch.watch)
app.command("show", rich_help_panel=_LOOKING)(show.show)
app.command("check", rich_help_panel=_LOOKING)(check.check)
app.command("logs", rich_help_panel=_LOOKING)(logs.logs)
app.command("checkpoint", rich_help_panel=_ACTING)(actions.checkpoint)
app.command("pause", rich_help_panel=_ACTING)(actions.pause)
app.command("resume", rich_help_panel=_ACTING)(actions.resume)
app.command("stop", rich_help_panel=_ACTING)(actions.stop)
app.command("rm", rich_help_panel=_ACTING)(jobs.rm)
app.add_typer(server.app, name="server", rich_help_panel=_PLACE)
app.command("doctor", rich_help_panel=_PLACE)(doctor.doctor)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"headway {version('headway')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Runs one command and exits: 0 done, 1 failed, 2 misused, 3 not found, 4 no server; 128 + n for signal n."""
    from headway.cli.terminal import PipeClosedError
    from headway.errors import HeadwayError

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal has no letters for is no failure
    code = 0
    try:
        app(prog_name="headway")
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
    except HeadwayError as error:
        code = _fail(error)
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    except (PipeClosedError, BrokenPipeError):
        code = 128 + signal.SIGPIPE
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = 128 + signal.SIGPIPE
    if code == 128 + signal.SIGPIPE:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter complains at its end
    sys.exit(code)


def _fail(error: Exception) -> int:
    from headway.cli.terminal import complain
    from headway.errors import NotFoundError, UnavailableError

    complain(str(error) or type(error).__name__)
    if isinstance(error, NotFoundError):
        return 3
    return 4 if isinstance(error, UnavailableError) else 1


if __name__ == "__main__":
    main()
