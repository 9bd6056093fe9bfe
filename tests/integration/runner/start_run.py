"""Runs what its first argument says, as `headway run` does: a process of its own, so that it may be killed."""

import json
import sys

from headway.errors import ConflictError
from headway.runner import RunRequest, run

if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    given["command"] = tuple(given["command"])
    given["tags"] = tuple(given.get("tags", ()))
    try:
        code = run(RunRequest(**given))
    except ConflictError as error:
        print(f"refused: {error}", file=sys.stderr)
        code = 99
    sys.exit(code)
