"""What is written in one turn of the event loop is sent at once, in order, and before the connection closes."""

import asyncio
from typing import cast

from headway.server.connection import GatheringTransport


class Wire:
    """Stands for a transport: remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[bytes | str] = []

    def write(self, data: bytes) -> None:
        self.told.append(data)

    def close(self) -> None:
        self.told.append("closed")

    def is_closing(self) -> bool:
        return "closed" in self.told

    def get_extra_info(self, name: str) -> str:
        return f"the {name}"


def gathering(wire: Wire) -> GatheringTransport:
    return GatheringTransport(cast("asyncio.Transport", wire), asyncio.get_running_loop())


async def test_head_and_body_are_one_write():
    wire = Wire()
    transport = gathering(wire)
    transport.write(b"head ")
    transport.write(b"body")
    assert wire.told == []

    await asyncio.sleep(0)
    transport.write(b"more")
    await asyncio.sleep(0)

    assert wire.told == [b"head body", b"more"]


async def test_nothing_is_lost_when_the_connection_closes_at_once():
    wire = Wire()
    transport = gathering(wire)
    transport.write(b"the last word")
    transport.close()
    await asyncio.sleep(0)

    assert wire.told == [b"the last word", "closed"]


async def test_nothing_is_written_to_a_connection_that_the_other_side_closed():
    wire = Wire()
    transport = gathering(wire)
    transport.write(b"too late")
    wire.close()
    await asyncio.sleep(0)

    assert wire.told == ["closed"]


async def test_all_else_is_the_transports_own():
    assert gathering(Wire()).get_extra_info("peername") == "the peername"
