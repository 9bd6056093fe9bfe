"""``python -m headway.app``: the server in the foreground."""

from __future__ import annotations

import sys

try:
    from headway.app.process import main
except ModuleNotFoundError as missing:
    raise SystemExit("headway: the server needs the server extra: pip install 'headway[server]'") from missing

if __name__ == "__main__":
    sys.exit(main())
