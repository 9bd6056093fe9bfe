"""The architecture is a test: what imports what, how large a module may be, what the public API is."""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "headway"
MODULES = sorted(SOURCE.rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def run_bare(code: str) -> str:
    """Output of a bare interpreter: no site packages, no user settings, only the source tree on the path."""
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r})\n{code}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_layers_hold() -> None:
    result = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command; lint_imports_command(['--no-cache'])",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_bare_interpreter_imports_the_public_api_and_nothing_else() -> None:
    imported = run_bare(
        "before = set(sys.modules)\n"
        "import headway\n"
        "headway.track, headway.steps\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(new - set(sys.stdlib_module_names)))"
    ).split()
    assert imported == ["headway"]


ADAPTERS = sorted(
    path for path in (SOURCE / "adapters").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
)
"""The modules, and the packages of those that take several."""


@pytest.mark.parametrize("path", ADAPTERS, ids=lambda path: path.stem)
def test_an_adapter_imports_its_framework_only_when_it_is_used(path: Path) -> None:
    name = "headway.adapters" if path.stem == "__init__" else f"headway.adapters.{path.stem}"
    imported = run_bare(
        f"before = set(sys.modules)\nimport {name}\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(new - set(sys.stdlib_module_names)))"
    ).split()
    assert imported == ["headway"]


def test_every_adapter_is_independent_of_the_others_and_says_what_it_reports() -> None:
    import configparser
    import importlib

    linter = configparser.ConfigParser()
    linter.read(ROOT / ".importlinter")
    independent = set(linter["importlinter:contract:adapters"]["modules"].split())
    shared = {"__init__", "auto", "base", "loops"}
    modules = {f"headway.adapters.{path.stem}" for path in ADAPTERS if path.stem not in shared}
    assert independent == modules
    for name in modules:
        assert importlib.import_module(name).ABOUT.title


def test_what_needs_the_client_extra_says_so() -> None:
    for name in ("Client", "AsyncClient"):
        said = run_bare(f"try:\n    from headway import {name}\nexcept ImportError as error:\n    print(error)")
        assert said == f"headway.{name} needs the client extra: pip install 'headway[client]'\n"
    assert run_bare("from headway import until\nprint(until.finished())") == "the end\n"


def test_the_command_says_what_it_needs_where_only_the_base_is_installed() -> None:
    said = run_bare("try:\n    import headway.cli.main\nexcept SystemExit as end:\n    print(end.code)")
    assert said == "headway: the command line needs the cli extra: pip install 'headway[cli]'\n"
    said = run_bare("try:\n    import headway.app.__main__\nexcept SystemExit as end:\n    print(end.code)")
    assert said == "headway: the server needs the server extra: pip install 'headway[server]'\n"


def test_importing_headway_alone_loads_no_heavy_part_of_the_standard_library() -> None:
    loaded = set(run_bare("import headway\nprint(*sys.modules)").split())
    assert not loaded & {"asyncio", "http.client", "ssl", "urllib.request", "subprocess", "multiprocessing", "logging"}


def test_the_public_api_is_exact() -> None:
    import headway

    assert list(headway.__all__) == sorted(headway.__all__)
    assert all(getattr(headway, name) is not None for name in headway.__all__)
    public = {name for name in dir(headway) if not name.startswith("_")}
    modules = {path.stem if path.is_file() else path.name for path in SOURCE.iterdir()}
    assert public - modules == set(headway.__all__) - {"__version__"}


def test_version_and_changelog_agree() -> None:
    import headway

    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {headway.__version__}" in changelog


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_fits_in_one_sitting(path: Path) -> None:
    assert lines(path) <= 400


def test_the_median_module_is_short() -> None:
    assert statistics.median(lines(path) for path in MODULES if path.name != "__init__.py") < 150


@pytest.mark.parametrize("path", TESTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_test_module_fits_in_two_sittings(path: Path) -> None:
    assert lines(path) <= 600


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_says_what_it_is_for(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert docstring
    assert len(docstring) > 30


def test_the_wheel_brings_no_dependency() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["dependencies"] == []


def test_the_map_shows_every_package_and_no_other() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    tree = text.partition("## Where things are")[2].partition("```")[2].partition("```")[0]
    package, _, beside = tree.partition("tests/")
    shown = {name for line in re.findall(r"^  (\S.*?)  ", package, re.MULTILINE) for name in line.split()}
    assert shown == {
        path.name + "/" * path.is_dir()
        for path in SOURCE.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    for folder in re.findall(r"^(\w+)/", "tests/" + beside, re.MULTILINE):
        assert (ROOT / folder).is_dir()
