"""What reached a server of a test: every request as it came, and the reports in them, those sent twice once."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Post:
    """One request that reached the server, whatever it was answered."""

    at: float
    """Monotonic time."""
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    size: int
    body: Any
    taken: bool
    """It was answered 200."""

    @property
    def headway(self) -> dict[str, Any]:
        """The ``headway`` object; empty where there is none."""
        return self.body.get("headway") or {} if isinstance(self.body, dict) else {}


class PostLog:
    """Remembers requests, and answers what tests ask of them. May be written to from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.posts: list[Post] = []

    def taken(self) -> list[dict[str, Any]]:
        """Bodies of the reports that were answered 200, oldest first; one sent twice is there once."""
        with self._lock:
            posts = [post for post in self.posts if post.taken]
        seen: set[tuple[str, int]] = set()
        bodies = []
        for post in posts:
            key = (post.headway.get("run", ""), post.headway.get("seq", -1))
            if key[1] < 0 or key not in seen:
                seen.add(key)
                bodies.append(post.body)
        return bodies

    def points(self) -> list[list[Any]]:
        """All points taken, ``[step, t, metrics]``, in the order of their reports' sequence numbers."""
        reports = sorted((body["headway"] for body in self.taken() if "headway" in body), key=lambda each: each["seq"])
        return [point for report in reports for point in report.get("points", ())]

    def steps_of_points(self) -> list[int]:
        """The steps of all points taken."""
        return [point[0] for point in self.points()]

    def endings(self) -> list[dict[str, Any]]:
        """All endings taken."""
        return [body["headway"]["ending"] for body in self.taken() if body.get("headway", {}).get("ending")]

    def wait_for(self, condition: Any, *, timeout: float = 10.0) -> bool:
        """Polls ``condition(self)`` until it is true; False if it never was."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if condition(self):
                return True
            time.sleep(0.01)
        return bool(condition(self))
