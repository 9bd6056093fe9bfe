"""Headway tells whether a training job is making headway.

The public API, and nothing else: names are imported when they are first used, so that ``import headway`` costs next to nothing.

    run = headway.track(total_steps=10_000, config={"lr": 2e-5})
    run.step(loss=loss, learning_rate=lr)
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headway.client import until as until
    from headway.client.async_client import AsyncClient as AsyncClient
    from headway.client.client import Client as Client
    from headway.errors import HeadwayError as HeadwayError
    from headway.errors import RetryableError as RetryableError
    from headway.reporter.run import Run as Run
    from headway.reporter.start import current_run as current_run
    from headway.reporter.start import track as track
    from headway.reporter.steps import steps as steps

__version__ = "0.1.0"

_HOMES = {
    "AsyncClient": "headway.client.async_client",
    "Client": "headway.client.client",
    "HeadwayError": "headway.errors",
    "RetryableError": "headway.errors",
    "Run": "headway.reporter.run",
    "current_run": "headway.reporter.start",
    "steps": "headway.reporter.steps",
    "track": "headway.reporter.start",
    "until": "headway.client.until",
}
"""Where each public name lives."""
_MODULES = frozenset({"until"})
"""Public names that are modules."""

__all__ = [
    "AsyncClient",
    "Client",
    "HeadwayError",
    "RetryableError",
    "Run",
    "__version__",
    "current_run",
    "steps",
    "track",
    "until",
]


def __getattr__(name: str) -> object:
    if (home := _HOMES.get(name)) is None:
        raise AttributeError(f"module 'headway' has no attribute {name!r}")
    import importlib

    try:
        module = importlib.import_module(home)
    except ModuleNotFoundError as error:
        if error.name != "httpx2":
            raise
        raise ImportError(f"headway.{name} needs the client extra: pip install 'headway[client]'") from error
    value: object = module if name in _MODULES else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
