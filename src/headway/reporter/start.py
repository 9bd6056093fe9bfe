"""``headway.track()``: settles once who reports what to whom, and starts the reporter."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import FrameType
from typing import Any, Final

from headway.protocol.report import RunInfo, Unit
from headway.reporter.hooks import Hooks, on_fork
from headway.reporter.identity import local_name, new_run_id, restarts_before
from headway.reporter.notices import log
from headway.reporter.reporter import Reporter
from headway.reporter.run import Run, inert_run
from headway.reporter.settings import Settings
from headway.reporter.slots import Layer, Slots
from headway.reporter.voice import TRAINING_VARIABLE, Voice

_MOST_CONFIG: Final = 200
_MOST_TEXT: Final = 200


class _State:
    run: Run | None = None
    hooks: Hooks | None = None
    forks_watched = False


def track(
    total_steps: float | None = None,
    *,
    name: str | None = None,
    config: Any = None,
    tags: Iterable[str] | str = (),
    metrics: Mapping[str, str] | None = None,
    total_epochs: float | None = None,
    start_step: int = 0,
    unit: str = "optimizer_step",
    framework: str | None = None,
    devices: int | None = None,
) -> Run:
    """Begins to report this training process. Never raises; what goes wrong is logged, and the run then does nothing.

    A second call in the same process continues the run that is there (a library and a script may both call it): what it adds,
    such as a total or more configuration, is taken over. After :meth:`Run.finish` it begins a new run.

    Args:
        total_steps: steps that the whole training takes, counted from its very beginning, not from a resumed step.
        name: name of the job on this machine; the script's, with a short id, if left out. A launcher's name wins.
        config: hyperparameters: a mapping, or an object with attributes (a dataclass, an ``argparse.Namespace``).
        tags: words to find the job by.
        metrics: which way is better, for metrics that are not widely known: ``{"bleu": "max"}``.
        total_epochs: epochs that the whole training takes.
        start_step: steps already complete, when resuming from a checkpoint.
        unit: what a step is: optimizer_step, batch, sample, token or tree.
        framework: its name; found out if left out.
        devices: accelerators of the whole job, if known.
    """
    try:
        run = _State.run
        if run is None or not run.active:
            info = RunInfo(
                config=flat(config),
                tags=_tags(tags),
                metrics=_ways(metrics),
                devices=devices,
                host=socket.gethostname(),
                pid=os.getpid(),
            )
            run = _begin(Slots(max(0, int(start_step)), _unit(unit)), info, name)
        else:
            _describe(run, config, tags, metrics)
        run._slots.scripted = True
        run._slots.built_with(framework, Layer.SCRIPT)
        if total_steps is not None:
            run.set_total(total_steps)
        run.set_epoch(None, total_epochs)
        run._start()
    except Exception as error:  # noqa: BLE001 - tracking must never stop a training job
        log.warning("this run is not tracked: %r", error)
        return inert_run(Slots(0, Unit.OPTIMIZER_STEP))
    return run


def speak(
    layer: Layer,
    *,
    framework: str | None = None,
    claims: bool = True,
    start_step: int = 0,
    total_steps: float | None = None,
    total_epochs: float | None = None,
    unit: Unit = Unit.OPTIMIZER_STEP,
    config: Any = None,
    tags: Iterable[str] = (),
    metrics: Mapping[str, str] | None = None,
    place: tuple[int, int] | None = None,
) -> Voice:
    """The voice of an adapter in this process's run, which it begins if there is none. Never raises.

    A second call for a layer gives the voice that is there, with what the call adds; but one that claims the loop takes the
    place of one that did not, and counts from its own start.

    Args:
        layer: where the adapter stands; the outermost that counts is heard.
        framework: its name, for the job's description.
        claims: it owns the loop and will count every step, so it is heard from now on. Without: from its first step, and, for a
            layer further in than an engine, only where the script does not count for itself.
        start_step: steps complete before the first that it will see.
        total_steps: steps that the whole training takes.
        total_epochs: epochs that the whole training takes.
        unit: what a step is.
        config: hyperparameters, as for :func:`track`.
        tags: words to find the job by.
        metrics: which way is better, as for :func:`track`.
        place: rank and number of processes, where only the framework knows, and only on this thread.
    """
    try:
        run = _State.run
        if (run is None or not run.active) and _within_another():
            log.debug("%s says nothing: the process that started this one trains", framework)
            run = inert_run(Slots(start_step, unit))
        elif run is None or not run.active:
            info = RunInfo(
                config=flat(config),
                tags=_tags(tags),
                metrics=_ways(metrics),
                host=socket.gethostname(),
                pid=os.getpid(),
            )
            run = _begin(Slots(start_step, Unit.OPTIMIZER_STEP), info, None)
        else:
            _describe(run, config, tags, metrics)
        if run.active and TRAINING_VARIABLE not in os.environ:
            os.environ[TRAINING_VARIABLE] = str(os.getpid())
            run._on_finish.append(lambda: os.environ.pop(TRAINING_VARIABLE, None))
        if place is not None:
            run._slots.place = place
        news = run._slots.built_with(framework, layer)
        if news and run._reporter is not None:
            run._reporter.describe({}, (), {})
        voice = run._slots.lane(layer)
        if not isinstance(voice, Voice) or (claims and not voice.claims):
            voice = Voice(run._slots, layer, start_step, unit, claims=claims)
            if run.active:
                run._slots.join(voice)
            else:
                voice.mute()
        if total_steps is not None:
            voice.set_total(total_steps)
        voice.set_epoch(None, total_epochs)
        run._start()
    except Exception as error:  # noqa: BLE001 - an adapter must never stop a training job
        log.warning("%s is not tracked: %r", framework or layer.name.lower(), error)
        voice = Voice(Slots(0, unit), layer, 0, unit)
        voice.mute()
    return voice


def _begin(slots: Slots, info: RunInfo, name: str | None) -> Run:
    settings = Settings.from_env()
    if settings.disabled or _imported_again():
        return inert_run(slots)
    run_id = new_run_id()
    info = replace(info, stall_floor=settings.stall_floor, restarts=restarts_before(os.environ))
    reporter = Reporter(slots, settings, info, run_id, local_name(run_id, name, sys.argv))
    run = Run(slots, reporter, finish_timeout=settings.finish_timeout)
    _State.run = run
    _watch(run)
    return run


def current_run() -> Run | None:
    """The run of this process, if one is active."""
    run = _State.run
    return run if run is not None and run.active else None


def flat(config: Any, prefix: str = "") -> dict[str, str | int | float | bool | None]:
    """A configuration as one level of names and plain values; nested names are joined by dots, other values become text."""
    result: dict[str, str | int | float | bool | None] = {}
    if config is None:
        return result
    items = config if isinstance(config, Mapping) else getattr(config, "__dict__", None)
    if items is None:
        items = {name: getattr(config, name) for name in getattr(config, "__dataclass_fields__", ())}
    for key, value in items.items():
        name = f"{prefix}{key}"[:_MOST_TEXT]
        if isinstance(value, Mapping):
            result.update(flat(value, f"{name}."))
        elif value is None or isinstance(value, bool | int | float):
            result[name] = value if type(value) in (bool, int, float) or value is None else float(value)
        else:
            result[name] = str(value)[:_MOST_TEXT]
        if len(result) >= _MOST_CONFIG:
            break
    return dict(list(result.items())[:_MOST_CONFIG])


def _describe(run: Run, config: Any, tags: Any, metrics: Mapping[str, str] | None) -> None:
    if run._reporter is not None and (config or tags or metrics):
        run._reporter.describe(flat(config), _tags(tags), _ways(metrics))


def _within_another() -> bool:
    """Whether a process that trains has started this one, as an evaluation: its steps are none of the job's."""
    return os.environ.get(TRAINING_VARIABLE, str(os.getpid())) != str(os.getpid())


def _watch(run: Run) -> None:
    hooks = Hooks(run)
    hooks.install()
    _State.hooks = hooks
    run._on_finish.append(hooks.remove)
    if not _State.forks_watched:
        _State.forks_watched = True
        on_fork(_forget)


def _forget() -> None:
    """In a forked child: the run, its thread and its handlers are the parent's."""
    run, hooks = _State.run, _State.hooks
    _State.run = _State.hooks = None
    if hooks is not None:
        hooks.forget()
    if run is not None:
        run._abandon()


def _imported_again() -> bool:
    """Whether a spawned child of multiprocessing is importing the parent's script: it runs ``track()``, but trains nothing."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") == "__mp_main__":
            return True
        frame = frame.f_back
    return False


def _unit(unit: str) -> Unit:
    try:
        return Unit(unit)
    except ValueError:
        log.warning("unit %r is not known; it may be one of %s", unit, ", ".join(Unit))
        return Unit.OPTIMIZER_STEP


def _ways(metrics: Mapping[str, str] | None) -> dict[str, str]:
    return {str(name): way for name, way in (metrics or {}).items() if way in ("min", "max")}


def _tags(tags: Any) -> tuple[str, ...]:
    return tuple(str(tag)[:_MOST_TEXT] for tag in ([tags] if isinstance(tags, str) else list(tags or ())))[:64]
