"""Ranks in ``headway show``: all of a few, of many the ones that stand out."""

from __future__ import annotations

from headway.cli.render.ranks import ranks_section
from headway.cli.render.sheet import Sheet
from headway.cli.render.view import Seen, View
from headway.protocol.job import Job, Platform, RankInfo, State
from headway.protocol.report import Phase

NOW = 1_800_000_000.0


def shown(ranks: tuple[RankInfo, ...]) -> list[list[str]]:
    job = Job(
        namespace="local",
        name="big",
        uid="1",
        platform=Platform.LOCAL,
        state=State.RUNNING,
        summary="Running",
        ranks=ranks,
        created_at=NOW,
        updated_at=NOW,
    )
    sheet = Sheet(View(now=NOW))
    ranks_section(sheet, Seen(job, NOW - 2))
    return [line.plain.split() for line in sheet.lines if line.plain.strip()]


def rank(number: int, step: int = 100, **more: object) -> RankInfo:
    return RankInfo(
        **{"run": f"r{number}", "rank": number, "attempt": "a", "last_contact_age": 1.0, "step": step, **more}
    )


def test_a_single_process_needs_no_table() -> None:
    assert shown((rank(0),)) == []


def test_a_few_are_listed_with_their_device() -> None:
    held = {"device_name": "NVIDIA H200", "memory_used": 80 << 30, "memory_total": 141 << 30}
    lines = shown((rank(0, 12_345, step_seconds=1.8, host="gpu-07", **held), rank(1, 12_340, phase=Phase.EVAL)))
    assert lines[-2] == [
        "0",
        "gpu-07",
        "12,345",
        "1.8",
        "s",
        "NVIDIA",
        "H200",
        "80.0",
        "of",
        "141",
        "GiB",
        "3",
        "s",
        "ago",
    ]
    assert lines[-1] == ["1", "-", "12,340", "eval", "-", "-", "-", "3", "s", "ago"]


def test_of_many_those_behind_are_listed_and_the_others_counted() -> None:
    lines = shown(tuple(rank(number, 90 if number == 700 else 100) for number in range(1000)))
    assert len(lines) == 2 + 16 + 1
    assert "700" in [line[0] for line in lines]
    assert lines[-1] == ["of", "1000,", "at", "steps", "90", "to", "100"]
