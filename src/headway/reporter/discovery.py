"""Finds the server on this host, and makes sure that it is the one that it says it is.

A server leaves its address and the user's token in a file that only the user can read. The address alone proves nothing: the
server may be gone and its port taken by somebody else's program. So before the token is sent anywhere, the other side must
answer a nonce with ``HMAC-SHA256(token, nonce)``, which only who knows the token can. Each connection that the token is to
travel over is asked anew: the server may go, and its port be taken, between any two of them.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import os
import secrets
import stat
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from headway.errors import SettingsError
from headway.reporter.folders import private_folder

PROOF_PATH = "/api/v1/prove"
LONGEST_PROOF = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRecord:
    """What a server on this host says of itself."""

    url: str
    token: str
    """The user's token: opens everything."""
    pid: int
    version: str


def write_record(path: Path, record: ServerRecord) -> None:
    """Leaves the record where :func:`read_record` finds it, readable by its owner alone; replaces one that is there."""
    private_folder(path.parent)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(asdict(record), file)
        temporary.replace(path)
    except OSError:  # a full disk
        temporary.unlink(missing_ok=True)
        raise


def read_record(path: Path) -> ServerRecord | None:
    """The record that a server left, whether or not the server still runs; None where there is none.

    Raises:
        SettingsError: the file can be read or written by others, or belongs to somebody else: it is not to be trusted.
    """
    try:
        with path.open(encoding="utf-8") as file:
            status = os.fstat(file.fileno())
            text = file.read()
    except OSError:
        return None
    if status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077:
        raise SettingsError(
            f"{path} can be read or changed by others, so it was not used; remove it and restart the server"
        )
    try:
        return ServerRecord(**json.loads(text))
    except (ValueError, TypeError):
        return None


def prove(token: str, nonce: str) -> str:
    """The answer to a nonce, in hex, that only who knows the token can give."""
    return hmac.new(token.encode(), nonce.encode(), hashlib.sha256).hexdigest()


def find_server(path: Path, *, timeout: float = 1.0) -> ServerRecord | None:
    """The server whose record lies at ``path``, if it answers within ``timeout`` seconds and proves to be it."""
    record = read_record(path)
    if record is None:
        return None
    address = urlsplit(record.url)
    connection = http.client.HTTPConnection(address.hostname or "127.0.0.1", address.port, timeout=timeout)
    try:
        return record if proved(connection, record.token) else None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def proved(connection: http.client.HTTPConnection, token: str) -> bool:
    """Whether the other end of a connection knows the token. The connection may be used on.

    Raises:
        OSError, http.client.HTTPException: it does not answer as an HTTP server does.
    """
    nonce = secrets.token_hex(16)
    connection.request("GET", proof_target(nonce))
    response = connection.getresponse()
    answer = response.read(LONGEST_PROOF)
    if not response.isclosed():
        connection.close()  # longer than any proof
    return is_proof(answer, token, nonce)


def proof_target(nonce: str) -> str:
    """What to ask the server for."""
    return f"{PROOF_PATH}?nonce={nonce}"


def is_proof(answer: bytes, token: str, nonce: str) -> bool:
    """Whether an answer shows that who gave it knows the token."""
    return hmac.compare_digest(answer.strip(), prove(token, nonce).encode())
