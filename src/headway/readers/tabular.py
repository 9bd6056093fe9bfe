"""Tables: a step column and metrics. Lightning's ``metrics.csv`` and Ultralytics' ``results.csv`` are read as they come."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from headway.errors import InvalidError
from headway.readers.log import (
    STEP_NAMES,
    TIME_NAMES,
    Log,
    Reading,
    by_epoch,
    choose,
    finite,
    parse_number,
    read_text,
    to_points,
)

_DELIMITERS: Final = ",;\t"
_PARTS: Final = {"loss": "train/", "eval_loss": "val/"}
"""Ultralytics logs the parts of its loss; their sum is what it minimises."""
_EXTREMES: Final = ("__MIN", "__MAX")
"""Columns that W&B exports beside each metric."""


def read_table(path: Path) -> Log:
    """Read a table with a header. Columns that hold no numbers are left out; so is a torn last line.

    Raises:
        InvalidError: there is no header, no step or epoch column, a row of another width, or a cell that is no number in a
            column of numbers; the message says where. Where ``;`` separates, a comma may be the decimal one.
    """
    text = read_text(path)
    header = text.partition("\n")[0]
    if not header.strip():
        raise InvalidError(f"{path} is empty or has no header in its first line")
    delimiter = max(_DELIMITERS, key=header.count)
    rows = csv.reader(text.splitlines(), delimiter=delimiter)
    try:
        header_row = [name.strip() for name in next(rows)]
    except csv.Error as error:
        raise InvalidError(f"{path}, line 1: no table ({error})") from error
    names = _named(header_row)
    step_name = choose(names, (*STEP_NAMES, "epoch"))
    if step_name is None:
        raise InvalidError(
            f"{path} has no step column: its columns are {', '.join(names[:12])}; expected one of "
            f"{', '.join(STEP_NAMES[:6])}, or epoch"
        )
    table = _Table(path, names, header_row, step_name)
    table.decimal_comma = delimiter == ";"
    readings = table.readings(rows, complete=text.endswith("\n"))
    try:
        points = tuple(to_points(by_epoch(readings, table.warnings) if step_name.lower() == "epoch" else readings))
    except csv.Error as error:
        raise InvalidError(f"{path}, line {rows.line_num}: no table ({error})") from error
    if not points:
        raise InvalidError(
            f"{path} has no row with numbers but those of {step_name}" + "".join(f"; {each}" for each in table.warnings)
        )
    return Log(path=path, format="csv", points=points, warnings=tuple(table.warnings))


def _named(names: list[str]) -> list[str]:
    """Names of the columns. W&B exports ``RUN - METRIC``: the metric's own name, where the table is of one run."""
    own = [name.rpartition(" - ")[2] for name in names]
    return own if len(set(own)) == len(own) else names


class _Table:
    def __init__(self, path: Path, names: list[str], header: list[str], step_name: str) -> None:
        self.path = path
        self.names = names
        self.header = header
        self.decimal_comma = False
        self.step_at = names.index(step_name)
        time_name = choose(names, TIME_NAMES)
        self.time_at = names.index(time_name) if time_name is not None else None
        self.warnings: list[str] = []
        self._left_out = {at for at, name in enumerate(names) if name.endswith(_EXTREMES)}
        self._textual: dict[int, bool] = {}
        self._summed: set[str] = set()
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
        if not any(cell.strip() for cell in row) or [cell.strip() for cell in row] == self.header:
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
            if number is not None and at not in (self.step_at, self.time_at) and at not in self._left_out:
                values[self.names[at]] = number
        for total, parts in self._sums.items():
            known = [number for at in parts if (number := numbers[at]) is not None]
            if parts and len(known) == len(parts):
                if total not in self._summed:
                    self._summed.add(total)
                    self.warnings.append(f"{total} is the sum of {', '.join(self.names[at] for at in parts)}")
                values[total] = math.fsum(known) if all(map(math.isfinite, known)) else math.nan
        return Reading(finite(step, where), math.nan if time is None else time, values)

    def _number(self, at: int, cell: str, where: str) -> float | None:
        if self._textual.get(at):
            return None
        try:
            number = parse_number(cell.replace(",", ".") if self.decimal_comma else cell)
        except ValueError as error:
            if at in (self.step_at, self.time_at) or at in self._textual:
                raise InvalidError(f"{where}: {self.names[at]} is {_short(cell)}, not a number") from error
            self._textual[at] = True
            line = where.rpartition(", ")[2]
            self.warnings.append(f"column {self.names[at]} holds text ({line}: {_short(cell)}) and was left out")
            return None
        if number is not None:
            self._textual[at] = False
        return number


def _short(cell: str) -> str:
    text = cell.strip()
    return repr(text if len(text) <= 20 else text[:20] + "…")
