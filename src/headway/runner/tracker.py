"""Everything that stands beside the command while it runs: relay, forwarder and the line to the server."""

from __future__ import annotations

import os
import shlex
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from headway.errors import HeadwayError
from headway.protocol.action import ActionOutcome
from headway.protocol.lifecycle import Command, Lifecycle, LifecycleKind
from headway.protocol.report import Ending
from headway.reporter.folders import Folders, private_folder
from headway.reporter.identity import new_run_id
from headway.reporter.watchdog import STACKS_VARIABLE
from headway.runner.answers import Answers
from headway.runner.enrol import Connector, Enrolment, enrol
from headway.runner.environment import RELAY_VARIABLE, RUNNER_VARIABLE, for_processes, job_variable
from headway.runner.link import Link
from headway.runner.logs import clear_away_meanwhile
from headway.runner.names import attempt_id
from headway.runner.on_condition import OnCondition
from headway.runner.relay.forwarder import Forwarder
from headway.runner.relay.leftovers import Leftovers
from headway.runner.relay.queue import ReportQueue
from headway.runner.relay.server import Relay
from headway.runner.relay.upstream import Upstream
from headway.runner.request import RunRequest
from headway.runner.stacks import Stacks

_LEAST_SECONDS: Final = 0.2
"""What an ending gets to be told in, where the server did not answer before."""
_EVENT_SECONDS: Final = 5.0
"""What the user's own command gets for the last events, once the run is over."""


class Tracker:
    """Tracks one job over all its attempts.

    Args:
        request: what to run.
        on_command: hears each command of the server.
        answers: what the runs have been told, and have acknowledged.
        say: tells the user one line.

    Raises:
        ConflictError: the name that the user asked for is another living runner's.
        OSError: neither a port nor a file can be had.
        HeadwayError: a setting cannot be used.
    """

    def __init__(
        self,
        request: RunRequest,
        on_command: Callable[[Command], None],
        answers: Answers,
        say: Callable[[str], None],
    ) -> None:
        self._request, self._say = request, say
        self.runner = new_run_id()
        own = Folders.from_env(request.environ)
        folders = _usable(own, say)
        self._taken_in = f"you move it to {own.spool}" if folders != own else None
        connector = Connector(request, folders)
        enrolment = enrol(request, self.runner, connector, folders, say)
        self.key, self._registration = enrolment.key, enrolment.registration
        self._announce(enrolment)
        self._folders = folders
        self.log = Path(enrolment.registration.log or "")
        private_folder(self.log.parent)
        self._token_file = private_folder(folders.runtime) / f"relay-{self.runner}.token"
        self._server = connector.named
        attempt = self._registration.attempt
        self._queue = ReportQueue(folders.spool, self.key, f"relay-{self.runner}", attempt, server=self._server)
        self._answers = answers
        self._upstream = Upstream.from_env(request.environ, say)
        heard = self._upstream.offer if self._upstream is not None else lambda _: None
        self._relay = Relay(self.key, self._queue, answers, say, heard)
        self._token_file.touch(mode=0o600)
        self._token_file.write_text(self._relay.token, encoding="utf-8")
        self._stacks = Stacks(folders.runtime / f"stacks-{self.runner}")
        self._on_condition: OnCondition | None = None
        if request.on_condition:
            self._on_condition = OnCondition(request.on_condition, self.key, request.environ, say)
        self._link = Link(
            self.key,
            connector.client,
            on_command,
            revive=connector.revive,
            say=say,
            stuck=self._stacks.stuck,
            on_conditions=self._on_condition.hear if self._on_condition is not None else lambda _: None,
        )
        self._forwarder = Forwarder(self._queue, answers, self._link.report, self._link.renew, say)
        self._leftovers = Leftovers(folders.spool, self._server, connector.client, say) if self._server else None
        self._link.on_back = self._back
        self._start(enrolment)
        clear_away_meanwhile(folders.logs, request.environ, say)

    def _start(self, enrolment: Enrolment) -> None:
        if enrolment.client is not None and enrolment.registered is not None:
            registered = enrolment.registered
            self._link.adopt(enrolment.client, self._registration, registered.token, registered.heartbeat)
        else:
            self._link.register(self._registration)
        self._relay.start()
        if self._upstream is not None:
            self._upstream.start()
        self._link.start()
        self._forwarder.start()

    def _back(self) -> None:
        """The server is heard."""
        self._forwarder.nudge()
        if self._leftovers is not None:
            self._leftovers.nudge()

    def _announce(self, enrolment: Enrolment) -> None:
        if enrolment.problem is not None:
            self._say(
                f"{self.key} is not shown anywhere yet, its reports are kept: {' '.join(str(enrolment.problem).split())}"
            )
        elif not self._request.quiet:
            self._say(f"tracking {self.key}; see it with `headway watch {shlex.quote(self.key.name)}`")

    def begin(self, ordinal: int) -> dict[str, str]:
        """The ``ordinal``-th attempt (from 1) is about to start: the environment for its processes."""
        attempt = attempt_id(self.runner, ordinal, self._request.environ)
        if ordinal > 1:
            self._registration = replace(self._registration, attempt=attempt)
            self._link.register(self._registration)
        self._answers.begin()
        self._relay.begin(attempt, f"stock-{self.runner}-{ordinal}")
        own = {
            "HEADWAY_URL": self._relay.url,
            "HEADWAY_TOKEN": self._relay.token,
            "HEADWAY_JOB": job_variable(self.key),
            "HEADWAY_ATTEMPT": attempt,
            RUNNER_VARIABLE: self.runner,
            RELAY_VARIABLE: self._server or "",
            STACKS_VARIABLE: str(self._stacks.folder),
            "KUBEFLOW_TRAINER_SERVER_URL": self._relay.status_url,
            "KUBEFLOW_TRAINER_SERVER_TOKEN": str(self._token_file),
        }
        return for_processes(self._request.environ, own, self._request.stall_floor)

    def poke(self) -> None:
        """Asks the server for commands now."""
        self._link.poke()

    def started(self, pid: int) -> None:
        """The processes of the attempt were started."""
        self._link.tell(self._event(LifecycleKind.STARTED, pid=pid))

    def ended(
        self,
        ending: Ending,
        *,
        restarting: bool = False,
        paused: bool = False,
        outcomes: tuple[ActionOutcome, ...] = (),
        hurry: Callable[[], bool],
    ) -> None:
        """The attempt ended. What it reported goes out first, as far as the finish time-out allows.

        Args:
            ending: how.
            restarting: the next attempt follows.
            paused: the next attempt follows when somebody asks for it.
            outcomes: what came of commands.
            hurry: whether the user has lost patience.
        """
        flushed = _until(self._forwarder.flush, self._finish_timeout(), hurry)
        # A run that ended because its client heard a stop need not have come round to saying so: the relay passed it on.
        event = self._event(LifecycleKind.ENDED, ending=ending, restarting=restarting)
        self._link.tell(replace(event, paused=paused, outcomes=outcomes))
        if not restarting:
            heard = flushed and self._link.reachable
            _until(self._link.flush, self._finish_timeout() if heard else _LEAST_SECONDS, hurry)

    def close(self) -> None:
        """Ends everything; what could not be handed on stays on disk, and the user hears of it."""
        self._forwarder.close(_LEAST_SECONDS)
        if self._leftovers is not None:
            self._leftovers.close(_LEAST_SECONDS)
        unheard = self._link.close(_LEAST_SECONDS)
        self._relay.close()
        if self._upstream is not None:
            self._upstream.close(self._finish_timeout())
        try:
            for age, item in unheard:
                self._queue.note(item, age)
        except OSError as error:
            self._say(f"how the run ended could not be kept: {error}")
        left = self._queue.close()
        self._token_file.unlink(missing_ok=True)
        self._stacks.close()
        if self._on_condition is not None:
            self._on_condition.close(_EVENT_SECONDS)
        if left or unheard:
            what = f"{left} report{'' if left == 1 else 's'}" if left else "how the run ended"
            when = "a server starts" if self._server is None else "the next `headway run` that reaches the same server"
            self._say(f"not sent: {what}; kept in {self._folders.spool} until {self._taken_in or when}")

    def _event(
        self,
        kind: LifecycleKind,
        *,
        ending: Ending | None = None,
        restarting: bool = False,
        pid: int | None = None,
    ) -> Lifecycle:
        registration = self._registration
        return Lifecycle(
            kind=kind,
            runner=registration.runner,
            attempt=registration.attempt,
            ending=ending,
            restarting=restarting,
            pid=pid,
            acks=() if ending is None else self._answers.stops(),
        )

    def _finish_timeout(self) -> float:
        try:
            return max(float(self._request.environ.get("HEADWAY_FINISH_TIMEOUT") or 3.0), 0.0)
        except ValueError:
            return 3.0


def _until(wait: Callable[[float], bool], timeout: float, hurry: Callable[[], bool]) -> bool:
    """Whether what is waited for came; looks up now and then whether it still matters."""
    end = time.monotonic() + timeout
    while True:
        left = end - time.monotonic()
        if wait(min(max(left, 0.0), 0.2)):
            return True
        if left <= 0 or hurry():
            return False


def _usable(folders: Folders, say: Callable[[str], None]) -> Folders:
    """The folders themselves, or ones under the system's temporary folder where they cannot be written."""
    try:
        for folder in (folders.spool, folders.logs, folders.runtime):
            if not os.access(private_folder(folder), os.W_OK | os.X_OK):
                raise PermissionError(f"{folder} cannot be written")
    except OSError as error:
        root = Path(tempfile.mkdtemp(prefix="headway-"))
        say(f"files of this run are kept in {root}: {error}")
        return Folders(root / "state", root / "run")
    return folders


def problem_of(error: Exception, environ: Mapping[str, str]) -> str:
    """Why tracking could not be set up, in one line."""
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or Folders.from_env(environ).state}: {error.strerror}"
    return text if isinstance(error, HeadwayError) and text else f"{type(error).__name__}: {text}"
