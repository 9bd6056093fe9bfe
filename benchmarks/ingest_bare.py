"""The least that a server could do, for ``ingest.py``: HTTP in, a row of the raw body into SQLite, an answer once it is on disk.

No routing, no token, no decoding, no folding, no judging: what Headway's figure stands to this one is what all of that costs.
The same uvicorn and the same rules as in Headway: ``synchronous=FULL``, and the writer takes whatever queued while it committed.

    python benchmarks/ingest_bare.py PORT DATABASE
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import threading
from queue import Empty, SimpleQueue
from typing import Any

import uvicorn
import uvloop

ANSWER = b'{"headway":{"ack":1}}'
HEADERS = [(b"content-type", b"application/json"), (b"content-length", str(len(ANSWER)).encode())]

Queue = SimpleQueue[tuple[bytes, "asyncio.Future[None]"]]


def write(path: str, queue: Queue, loop: asyncio.AbstractEventLoop) -> None:
    """The writer's thread."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE report (id INTEGER PRIMARY KEY, body BLOB)")

    def done(heard: list[asyncio.Future[None]]) -> None:
        for each in heard:
            if not each.done():
                each.set_result(None)

    while True:
        batch = [queue.get()]
        try:
            while True:
                batch.append(queue.get_nowait())
        except Empty:
            pass
        connection.execute("BEGIN IMMEDIATE")
        values = ",".join("(?)" for _ in batch)
        connection.execute(f"INSERT INTO report (body) VALUES {values}", [body for body, _ in batch])
        connection.execute("COMMIT")
        loop.call_soon_threadsafe(done, [heard for _, heard in batch])


async def main(port: int, path: str) -> None:
    loop = asyncio.get_running_loop()
    queue: Queue = SimpleQueue()
    threading.Thread(target=write, args=(path, queue, loop), daemon=True).start()

    async def app(_: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        heard: asyncio.Future[None] = loop.create_future()
        queue.put((body, heard))
        await heard
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send({"type": "http.response.body", "body": ANSWER})

    config = uvicorn.Config(
        app, host="127.0.0.1", port=port, lifespan="off", log_level="warning", access_log=False, ws="none"
    )
    await uvicorn.Server(config).serve()


if __name__ == "__main__":
    sys.setswitchinterval(0.0002)
    uvloop.run(main(int(sys.argv[1]), sys.argv[2]))
