"""``python -m headway.app``: the server in the foreground."""

from __future__ import annotations

import sys

from headway.app.process import main

if __name__ == "__main__":
    sys.exit(main())
