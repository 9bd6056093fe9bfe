"""Tables: a step column and metrics. Lightning's ``metrics.csv`` and Ultralytics' ``results.csv`` are read as they come."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from headway.errors import InvalidError
from headway.readers.log import STEP_NAMES, TIME_NAMES, Log, Reading, choose, parse_number, read_text, to_points, whole

_DELIMITERS: Final = ",;\t"
_PARTS: Final = {"loss": "train/", "eval_loss": "val/"}
"""Ultralytics logs the parts of its loss; their sum is what it minimises."""


def read_table(path: Path) -> Log:
    """Read a table with a header. Columns that hold no numbers are left out; so is a torn last line.

    Raises:
        InvalidError: there is no header, no step or epoch column, a row of another width, or a cell that is no number in a
            column of numbers; the message says where.
    """
    text = read_text(path)
    header = text.partition("\n")[0]
    if not header.strip():
        raise InvalidError(f"{path} is empty or has no header in its first line")
    delimiter = max(_DELIMITERS, key=header.count)
    rows = csv.reader(text.splitlines(), delimiter=delimiter)
    names = [name.strip() for name in next(rows)]
    step_name = choose(names, (*STEP_NAMES, "epoch"))
    if step_name is None:
        raise InvalidError(
            f"{path} has no step column: its columns are {', '.join(names[:12])}; expected one of "
            f"{', '.join(STEP_NAMES[:6])}, or epoch"
        )
    table = _Table(path, names, step_name, choose(names, TIME_NAMES))
    complete = text.endswith("\n")
    points = tuple(to_points(table.readings(rows, complete=complete)))
    if not points:
        raise InvalidError(f"{path} has a header and no row with numbers")
    return Log(path=path, format="csv", points=points, warnings=tuple(table.warnings))


class _Table:
    def __init__(self, path: Path, names: list[str], step_name: str, time_name: str | None) -> None:
        self.path = path
        self.names = names
        self.step_at = names.index(step_name)
        self.time_at = names.index(time_name) if time_name is not None else None
        self.warnings: list[str] = []
        self._textual: dict[int, bool] = {}
        self._sums = {
            total: [at for at, name in enumerate(names) if name.startswith(prefix) and name.endswith("_loss")]
            for total, prefix in _PARTS.items()
            if total not in names
        }

    def readings(self, rows: Iterator[list[str]], *, complete: bool) -> Iterator[Reading]:
        held: list[str] | None = None
        line = 1
        for row in rows:
            if held is not None and (reading := self._reading(held, line)) is not None:
                yield reading
            held, line = row, line + 1
        if held is None:
            return
        if not complete and len(held) != len(self.names):
            self.warnings.append(f"line {line} is cut off and was left out")
        elif (reading := self._reading(held, line)) is not None:
            yield reading

    def _reading(self, row: list[str], line: int) -> Reading | None:
        if not any(cell.strip() for cell in row) or [cell.strip() for cell in row] == self.names:
            return None
        where = f"{self.path}, line {line}"
        if len(row) != len(self.names):
            raise InvalidError(f"{where}: {len(row)} fields, but the header has {len(self.names)}")
        values: dict[str, float] = {}
        numbers = [self._number(at, cell, where) for at, cell in enumerate(row)]
        step = numbers[self.step_at]
        if step is None:
            raise InvalidError(f"{where}: {self.names[self.step_at]} is blank")
        time = numbers[self.time_at] if self.time_at is not None else None
        for at, number in enumerate(numbers):
            if number is not None and at not in (self.step_at, self.time_at):
                values[self.names[at]] = number
        for total, parts in self._sums.items():
            known = [number for at in parts if (number := numbers[at]) is not None]
            if parts and len(known) == len(parts):
                values[total] = math.fsum(known) if all(map(math.isfinite, known)) else math.nan
        return Reading(whole(step, where), math.nan if time is None else time, values)

    def _number(self, at: int, cell: str, where: str) -> float | None:
        if self._textual.get(at):
            return None
        try:
            number = parse_number(cell)
        except ValueError as error:
            if at in (self.step_at, self.time_at) or at in self._textual:
                raise InvalidError(f"{where}: {self.names[at]} is {cell.strip()!r}, not a number") from error
            self._textual[at] = True
            self.warnings.append(f"column {self.names[at]} holds text and was left out")
            return None
        if number is not None:
            self._textual[at] = False
        return number
