"""Which reader a file needs: told by its name, and by its first bytes where the name does not say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from headway.errors import InvalidError
from headway.readers.jsonl import read_jsonl
from headway.readers.log import Log
from headway.readers.tabular import read_table
from headway.readers.tensorboard import read_events
from headway.readers.trainer_state import read_trainer_state

_NAMES: Final = ("trainer_state.json", "metrics.csv", "results.csv", "log_history.json", "metrics.jsonl", "log.jsonl")
"""Logs that trainers leave in their folders: Transformers, Lightning, Ultralytics, and common names."""


def read_log(path: Path) -> Log:
    """Read a log of any known kind; of a folder, the log that its trainer left there, or in its newest checkpoint.

    Raises:
        InvalidError: it is missing, cannot be read or not understood; the message says what is wrong and where.
    """
    try:
        return _read_folder(path) if path.is_dir() else _read_file(path)
    except FileNotFoundError as error:
        raise InvalidError(f"{path} does not exist") from error
    except OSError as error:
        raise InvalidError(f"{path} cannot be read: {error.strerror or error}") from error


def _read_folder(folder: Path) -> Log:
    for name in _NAMES:
        if (folder / name).is_file():
            return _read_file(folder / name)
    if any("tfevents" in each.name for each in folder.iterdir()):
        return read_events(folder)
    checkpoints = [
        (int(number), each)
        for each in folder.glob("checkpoint-*/trainer_state.json")
        if (number := each.parent.name.removeprefix("checkpoint-")).isdigit()
    ]
    if checkpoints:
        return read_trainer_state(max(checkpoints)[1])
    raise InvalidError(
        f"{folder} holds no log that is known: none of {', '.join(_NAMES)}, no TensorBoard event file "
        "(events.out.tfevents.…), no checkpoint-*/trainer_state.json"
    )


def _read_file(path: Path) -> Log:
    if path.exists() and not path.is_file():
        raise InvalidError(f"{path} is no regular file: save what it holds into one, and check that")
    with path.open("rb") as file:
        head = file.read(4096)
    if not head.strip():
        raise InvalidError(f"{path} is empty")
    suffix = path.suffix.lower()
    if "tfevents" in path.name or b"brain.Event" in head[:64]:
        return read_events(path)
    if suffix in (".csv", ".tsv"):
        return read_table(path)
    if suffix in (".jsonl", ".ndjson"):
        return read_jsonl(path)
    first = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if first == b"[":
        return read_jsonl(path)
    if first == b"{":
        return read_jsonl(path) if _is_one_a_line(head) else read_trainer_state(path)
    return read_table(path)


def _is_one_a_line(head: bytes) -> bool:
    """Whether the first line is a JSON object by itself, and no trainer_state.json without line breaks."""
    try:
        line = json.loads(head.split(b"\n", 1)[0])
    except ValueError:
        return False
    return "log_history" not in line
