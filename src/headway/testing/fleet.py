"""Jobs of a live server, registered as runners do and reported on as training processes do: for tests of what shows jobs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from headway.hub.settings import HubSettings
from headway.protocol.job import JobKey, Spec
from headway.protocol.lifecycle import Lifecycle, LifecycleKind, Registration
from headway.protocol.report import Ending, EndingKind, RunInfo
from headway.testing.live import LiveServer
from headway.testing.reports import SyntheticRun

RUNNER, ATTEMPT = "runner-1", "attempt-1"
PATIENT: Final = HubSettings(heartbeat=3600.0)
"""For the server: no runner stands behind these jobs, and nothing is lost for want of its word."""


@dataclass
class Fleet:
    """The jobs of one server."""

    server: LiveServer
    runs: dict[str, SyntheticRun] = field(default_factory=dict)

    def add(
        self, name: str, *, namespace: str = "local", total: int | None = 1000, ranks: int = 1, **given: Any
    ) -> None:
        """A job that has just started."""
        config = given.pop("config", {"lr": 3e-4})
        tags = given.pop("tags", ())
        key = JobKey(namespace, name)
        registration = Registration(runner=RUNNER, attempt=ATTEMPT, spec=Spec(**given), tags=tags)
        self.server.call(self.server.hub.register(key, registration))
        self.tell(name, LifecycleKind.STARTED, namespace=namespace)
        run = SyntheticRun(run=f"run-{len(self.runs)}", attempt=ATTEMPT, total=total, world_size=ranks)
        self.runs[str(key)] = run
        info = RunInfo(framework=given.get("framework"), config=config, host="gpu-07", pid=4711)
        self.report(name, 1, namespace=namespace, job=info, metrics={})
        for rank in range(1, ranks):
            other = SyntheticRun(run=f"{run.run}-{rank}", attempt=ATTEMPT, rank=rank, world_size=ranks)
            self.server.call(self.server.hub.ingest(key, other.beat(1, t=1.0)))

    def report(self, name: str, step: int, *, namespace: str = "local", **more: Any) -> None:
        """A report of the job's training process."""
        key = JobKey(namespace, name)
        self.server.call(self.server.hub.ingest(key, self.runs[str(key)].at(step, **more)))

    def tell(self, name: str, kind: LifecycleKind, *, namespace: str = "local", **more: Any) -> Any:
        """A word of the job's runner."""
        event = Lifecycle(kind=kind, runner=RUNNER, attempt=ATTEMPT, **more)
        return self.server.call(self.server.hub.lifecycle(JobKey(namespace, name), event))

    def end(self, name: str, kind: EndingKind, *, namespace: str = "local", **details: Any) -> None:
        """The runner's last word."""
        self.tell(name, LifecycleKind.ENDED, namespace=namespace, ending=Ending(kind=kind, **details))
