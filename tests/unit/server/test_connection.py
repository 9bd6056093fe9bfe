"""What is written in one turn of the event loop is sent at once, in order, and before the connection closes."""

import asyncio
from functools import partial
from typing import Any, cast

import uvicorn
from uvicorn.server import ServerState

from headway.server.auth import Hosts
from headway.server.ingest.connection import GatheringTransport, HttpProtocol


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


IDLE = 0.4


class Echo:
    """Stands for the status endpoint: says at once, or when it is told to."""

    def __init__(self) -> None:
        self.held: list[Any] = []
        self.holds = False

    def answer(self, path: bytes, headers: Any, content: bytes, say: Any) -> None:
        if self.holds:
            self.held.append(partial(say, 200, content, ()))
        else:
            say(200, content, ())


REPORT = b"POST /apis/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nok"
OTHER = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def serve(echo: Echo) -> asyncio.Server:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"no"})

    config = uvicorn.Config(app, lifespan="off", log_config=None, ws="none", timeout_keep_alive=cast("int", IDLE))
    config.load()
    make = partial(
        HttpProtocol,
        config=config,
        server_state=ServerState(),
        app_state={},
        status=cast("Any", echo),
        hosts=Hosts(frozenset()),
    )
    return await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0)


async def test_a_connection_is_kept_as_long_as_it_is_used_and_a_while_longer():
    echo = Echo()
    server = await serve(echo)
    loop = asyncio.get_running_loop()
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    began = loop.time()
    for request in (REPORT, OTHER, REPORT, REPORT):
        writer.write(request)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        assert await reader.readexactly(2) == (b"no" if request is OTHER else b"ok")
        await asyncio.sleep(IDLE * 0.6)
    assert loop.time() - began > 2 * IDLE
    last = loop.time()
    assert await asyncio.wait_for(reader.read(), 10) == b""
    assert loop.time() - last < 10 * IDLE + 2
    writer.close()
    server.close()


async def test_a_connection_that_waits_for_its_answer_is_not_idle():
    echo = Echo()
    server = await serve(echo)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(REPORT)
    await reader.readuntil(b"\r\n\r\nok")
    echo.holds = True
    writer.write(REPORT)
    await asyncio.sleep(IDLE * 2)
    echo.held.pop()()
    assert (await asyncio.wait_for(reader.readuntil(b"\r\n\r\nok"), 10)).startswith(b"HTTP/1.1 200")
    assert await asyncio.wait_for(reader.read(), 10) == b"", "once it is answered, it is"
    writer.close()
    server.close()
