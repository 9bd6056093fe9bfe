"""How a run ended, told from what ended it."""

from __future__ import annotations

from headway.protocol.report import Ending, EndingKind

_MOST_MESSAGE = 500


def ending_of(error: BaseException | None) -> Ending | None:
    """The ending that an exception means; None for no exception and for an exit with code 0, which end nothing badly."""
    if error is None or isinstance(error, GeneratorExit):
        return None
    if isinstance(error, SystemExit):
        code = exit_code(error.code)
        return Ending(kind=EndingKind.FAILED, exit_code=code) if code else None
    if isinstance(error, KeyboardInterrupt):
        return Ending(kind=EndingKind.CANCELLED, signal="SIGINT", exception="KeyboardInterrupt")
    return Ending(
        kind=EndingKind.FAILED, exception=type_name(type(error)), message=_text(error)[:_MOST_MESSAGE] or None
    )


def exit_code(code: object) -> int:
    """The process's exit code that ``sys.exit(code)`` leads to."""
    if code is None:
        return 0
    return code & 0xFF if isinstance(code, int) else 1


def type_name(cls: type) -> str:
    """``torch.cuda.OutOfMemoryError``; without the module for built-in ones."""
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a broken __str__ must not hide the failure
        return ""
