"""Which reader a file needs: told by its name, and by its first bytes where the name does not say."""

from __future__ import annotations

import json
from pathlib import Path

from headway.errors import InvalidError
from headway.readers.jsonl import read_jsonl
from headway.readers.log import Log
from headway.readers.tabular import read_table
from headway.readers.tensorboard import read_events
from headway.readers.trainer_state import read_trainer_state


def read_log(path: Path) -> Log:
    """Read a log of any known kind; for a folder, its ``trainer_state.json`` or TensorBoard event files.

    Raises:
        InvalidError: it is missing, cannot be read or not understood; the message says what is wrong and where.
    """
    try:
        if path.is_dir():
            state = path / "trainer_state.json"
            return read_trainer_state(state) if state.exists() else read_events(path)
        return _read_file(path)
    except FileNotFoundError as error:
        raise InvalidError(f"{path} does not exist") from error
    except OSError as error:
        raise InvalidError(f"{path} cannot be read: {error.strerror or error}") from error


def _read_file(path: Path) -> Log:
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
