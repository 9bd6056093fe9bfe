"""What a job costs, as ``headway show`` lists it."""

from __future__ import annotations

from headway.cli.render import words
from headway.cli.render.sheet import Sheet
from headway.cli.render.view import Seen
from headway.protocol.job import Cost


def cost_words(cost: Cost) -> str | None:
    """``$12.40, 3.1 h``; None where nothing is known."""
    parts = [words.money(cost.money)] if cost.money is not None else []
    if cost.device_hours is not None:
        parts.append(words.hours(cost.device_hours))
    return ", ".join(parts) or None


def ledger_section(sheet: Sheet, seen: Seen) -> None:
    """What was spent, is still to be spent, stands at risk, and went for nothing."""
    ledger = seen.job.ledger
    rows = [("spent", ledger.spent)]
    if not seen.job.state.ended:
        rows += [("to go", ledger.remaining), ("at risk", ledger.at_risk)]
    if ledger.without_progress.device_hours:
        rows.append(("for nothing", ledger.without_progress))
    written = [(label, text) for label, cost in rows if (text := cost_words(cost)) is not None]
    if not written:
        return
    sheet.heading("Ledger")
    if ledger.price_per_hour is not None:
        sheet.pair("price", f"{words.money(ledger.price_per_hour)} an hour")
    for label, text in written:
        sheet.pair(label, text)
