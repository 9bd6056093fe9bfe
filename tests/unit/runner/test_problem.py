"""Why tracking could not be set up, in one line."""

from __future__ import annotations

import errno
import os

import pytest

from headway.errors import UnavailableError
from headway.runner.tracker import problem_of


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "/h/state: No space left on device"),
        (OSError(errno.EROFS, os.strerror(errno.EROFS), "/h/run/x"), "/h/run/x: Read-only file system"),
        (UnavailableError("nobody\n there"), "nobody there"),
        (KeyError("x"), "KeyError: 'x'"),
    ],
)
def test_problem(error: Exception, said: str) -> None:
    assert problem_of(error, {"HEADWAY_HOME": "/h"}) == said
