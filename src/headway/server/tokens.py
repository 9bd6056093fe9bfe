"""Makes and checks everything that opens a door: the user's token, job tokens, browser sessions and one-time codes.

No HTTP here. The keys lie in one file that only its owner can read, so that tokens outlive a restart of the server; removing
the file makes all of them void.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import quote

import jwt

from headway.errors import ForbiddenError, SettingsError
from headway.protocol.job import JobKey
from headway.protocol.limits import STATUS_PATH
from headway.reporter.discovery import prove
from headway.reporter.folders import private_folder

_ALGORITHM: Final = "HS256"
_ISSUER: Final = "headway"
_SESSION: Final = "headway/session"
_MAX_CACHED: Final = 4096
_MAX_CODES: Final = 64

Wall = Callable[[], float]
"""Unix seconds by the wall clock: token times must mean the same after a restart."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The two secrets of a server."""

    signing: str
    """Signs job tokens and sessions."""
    user: str
    """The user's token: opens everything."""

    @classmethod
    def new(cls) -> Keys:
        """Fresh keys."""
        return cls(secrets.token_hex(32), secrets.token_urlsafe(32))


def load_keys(path: Path) -> Keys:
    """The keys that lie at ``path``; makes them when there are none.

    Raises:
        SettingsError: the file can be read or changed by others, or holds something else.
    """
    private_folder(path.parent)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read_keys(path)
    keys = Keys.new()
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump({"signing": keys.signing, "user": keys.user}, file)
        file.flush()
        os.fsync(file.fileno())
    return keys


def _read_keys(path: Path) -> Keys:
    with path.open(encoding="utf-8") as file:
        status = os.fstat(file.fileno())
        text = file.read()
    if status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077:
        raise SettingsError(
            f"{path} can be read or changed by others; remove it (all tokens become void) and start again"
        )
    try:
        value = json.loads(text)
        return Keys(str(value["signing"]), str(value["user"]))
    except (ValueError, KeyError, TypeError) as error:
        raise SettingsError(f"{path} does not hold keys; remove it and start again") from error


@lru_cache(_MAX_CACHED)
def audience_of(key: JobKey) -> str:
    """What a job's token is for, in the words of Kubeflow Trainer: the path of its status endpoint."""
    path = STATUS_PATH.format(namespace=quote(key.namespace, safe=""), name=quote(key.name, safe=""))
    return path.removeprefix("/apis/")


class Keyring:
    """Makes and checks tokens with a server's keys. Belongs to one event loop; not thread-safe."""

    def __init__(
        self,
        keys: Keys,
        *,
        job_token_days: float = 366.0,
        session_days: float = 30.0,
        code_seconds: float = 300.0,
        wall: Wall = time.time,
    ) -> None:
        self._keys = keys
        self._user = keys.user.encode()
        self._job_seconds = job_token_days * 86400
        self._session_seconds = session_days * 86400
        self._code_seconds = code_seconds
        self._wall = wall
        self._checked: dict[str, tuple[str, float]] = {}
        self._codes: dict[str, float] = {}

    def is_user(self, token: str) -> bool:
        """Whether this is the user's token; takes the same time for any wrong one."""
        return hmac.compare_digest(token.encode("utf-8", "replace"), self._user)

    def prove(self, nonce: str) -> str:
        """The answer to a nonce by which a client knows this server (:mod:`headway.reporter.discovery`)."""
        return prove(self._keys.user, nonce)

    def job_token(self, key: JobKey) -> str:
        """A token that opens the status and lifecycle endpoints of one job."""
        return self._sign(audience_of(key), self._job_seconds)

    def opens_job(self, token: str, key: JobKey) -> bool:
        """Whether a token is the job token of ``key``. Checked once, then remembered."""
        known = self._checked.get(token)
        if known is None:
            claims = self._verify(token)
            if claims is None:
                return False
            if len(self._checked) >= _MAX_CACHED:
                self._checked.clear()
            known = self._checked[token] = claims
        return known[1] > self._wall() and known[0] == audience_of(key)

    def session(self) -> str:
        """A session for a browser that has logged in."""
        return self._sign(_SESSION, self._session_seconds)

    def is_session(self, token: str) -> bool:
        """Whether a browser's cookie holds a session of this server."""
        claims = self._verify(token)
        return claims is not None and claims[0] == _SESSION

    @property
    def session_seconds(self) -> int:
        """How long a session lasts, in seconds."""
        return int(self._session_seconds)

    def new_code(self) -> str:
        """A code that logs a browser in, once."""
        now = self._wall()
        self._codes = {code: until for code, until in self._codes.items() if until > now}
        while len(self._codes) >= _MAX_CODES:
            del self._codes[next(iter(self._codes))]
        code = secrets.token_urlsafe(24)
        self._codes[code] = now + self._code_seconds
        return code

    def use_code(self, code: str) -> None:
        """Takes a code out of use.

        Raises:
            ForbiddenError: it was never given out, is used up, or too old.
        """
        until = self._codes.pop(code, 0.0)
        if until <= self._wall():
            raise ForbiddenError("this login link was used before or is too old; `headway ui` gives a new one")

    def _sign(self, audience: str, seconds: float) -> str:
        now = int(self._wall())
        claims = {"iss": _ISSUER, "aud": audience, "iat": now, "exp": now + int(seconds)}
        return jwt.encode(claims, self._keys.signing, algorithm=_ALGORITHM)

    def _verify(self, token: str) -> tuple[str, float] | None:
        """Audience and expiry of a token that this server signed and that has not expired; else None."""
        try:
            claims = jwt.decode(
                token,
                self._keys.signing,
                algorithms=[_ALGORITHM],
                issuer=_ISSUER,
                options={
                    "require": ["exp", "aud", "iss"],
                    "verify_aud": False,
                    "verify_exp": False,
                    "verify_iat": False,
                },
            )
            audience, expires = claims["aud"], float(claims["exp"])
        except (jwt.InvalidTokenError, ValueError, TypeError, RecursionError):
            return None
        return (audience, expires) if isinstance(audience, str) and expires > self._wall() else None
