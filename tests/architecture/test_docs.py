"""The documentation is held to the code: links lead somewhere, commands and options exist, Python compiles."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from headway.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page
    for top in ("*.md", "docs/**/*.md", "examples/**/*.md", "benchmarks/**/*.md", "web/*.md")
    for page in ROOT.glob(top)
    if "node_modules" not in page.parts
)
REFERENCE = ROOT / "docs" / "reference"
WRITTEN = [page for page in PAGES if page.parent != REFERENCE]
"""Those that people write; the others come from the code."""
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
every_written_page = pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))

FORBIDDEN = {
    "a number of an issue": r"\bH[1-9]\b|(?<![\w&/(])#\d+\b|\bissue \d+\b",
    "a host of a registry": r"pypi\.org|pythonhosted|npmjs\.|artifactory|devpi|docker\.io|ghcr\.io|quay\.io",
    "a path of one machine": r"/work/|/tmp/|/root/|/home/(?!ada\b)",
}


def blocks(page: Path, *languages: str) -> Iterator[str]:
    """Blocks of code in one of these languages."""
    text = page.read_text(encoding="utf-8")
    for language, body in re.findall(r"^ *```(\w*)\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL):
        if language in languages:
            yield body


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings make."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", heading.lower().replace("`", "")).replace(" ", "-")
        found.add(slug)
    return found


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"(?<!\\)\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{page.relative_to(ROOT)}: {target} leads nowhere"
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), f"{page.relative_to(ROOT)}: {target} has no such heading"


def command_lines(page: Path) -> Iterator[str]:
    """What a page tells people to type that begins with ``headway``: in blocks, and between backquotes."""
    for body in blocks(page, "console", "sh", "bash"):
        for line in body.replace("\\\n", " ").splitlines():
            yield from re.findall(r"(?:^|[|&;(] *|^\$ |\bsrun )(headway(?: [^|&;)#>]*)?)", line)
    for code in re.findall(r"`(headway [^`]*)`", prose(page)):
        yield code.replace("\\|", "|")


def check_command(line: str) -> str | None:
    """What is wrong with a command line; None when the app knows its command and options."""
    words = shlex.split(re.sub(r"[\[\]]", " ", line))[1:]
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands"):
        if not words or words[0].startswith("-"):
            break
        word = words.pop(0)
        found = [command.commands.get(each) for each in word.split("|")]
        if None in found:
            return f"there is no command {word!r}"
        command = found[0]
    known = {"--help", "-h"} | {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    for word in words:
        if word == "--":
            break
        if re.match(r"--?[a-zA-Z]", word) and word not in known and not word.startswith("-spent"):
            return f"{word} is no option of it"
    return None


@every_page
def test_commands_and_options_exist(page: Path) -> None:
    for line in command_lines(page):
        if any(mark in line for mark in ("…", "*")):
            continue
        assert (wrong := check_command(line)) is None, f"{page.relative_to(ROOT)}: `{line}`: {wrong}"


def test_a_wrong_command_and_a_wrong_option_are_seen() -> None:
    assert check_command("headway runn -- python train.py") == "there is no command 'runn'"
    assert check_command("headway run --nmae x -- python train.py --epochs 3") == "--nmae is no option of it"
    assert check_command("headway run --name x -- python train.py --epochs 3") is None
    assert check_command("headway server start|stop|status") is None
    assert check_command("headway server start|halt") is not None


@every_page
def test_python_compiles(page: Path) -> None:
    if page == REFERENCE / "python.md":
        return  # signatures
    for body in blocks(page, "python"):
        ast.parse(body, filename=str(page))


@every_written_page
def test_shell_blocks_name_no_prompt_but_in_console(page: Path) -> None:
    for body in blocks(page, "sh", "bash"):
        assert not re.search(r"^\$ ", body, re.MULTILINE), f"{page.relative_to(ROOT)}: a prompt in a block of sh"


@every_page
def test_the_project_speaks_of_itself_alone(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for what, pattern in FORBIDDEN.items():
        found = re.search(pattern, text)
        assert found is None, f"{page.relative_to(ROOT)}: {found[0]!r} looks like {what}"


def test_the_readme_lists_every_command() -> None:
    table = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Commands")[2].partition("\n## ")[0]
    listed: set[str] = set()
    for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE):
        for code in re.findall(r"`([^`]+)`", row.replace("\\|", "|")):
            listed |= set(re.findall(r"^(?:headway )?(\w+)", code))
    groups: Any = typer.main.get_command(app)
    assert listed == set(groups.commands)
    server = re.search(r"`headway server ([\w\\|]+)`", table)
    assert server is not None
    assert set(server[1].replace("\\", "").split("|")) <= set(groups.commands["server"].commands)


def test_every_variable_that_the_code_reads_is_described() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "src" / "headway").rglob("*.py")]
    read = {name for text in texts for name in re.findall(r"\bHEADWAY_[A-Z_]*[A-Z]\b", text)} - {"HEADWAY_TEST"}
    described = set(
        re.findall(r"^\| `(HEADWAY_[A-Z_]+)` \|", (REFERENCE / "settings.md").read_text("utf-8"), re.MULTILINE)
    )
    assert read == described


def test_every_page_is_reached_from_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    linked = {
        (index.parent / path.partition("#")[0]).resolve() for path in re.findall(r"\]\(([^)\s]+)\)", prose(index))
    }
    missing = [
        str(page.relative_to(ROOT))
        for page in (ROOT / "docs").rglob("*.md")
        if page not in linked and page != index and page.parent.name != "decisions"
    ]
    assert missing == []


def there_is(name: str) -> bool:
    """Whether a dotted name leads to a module, or to something in one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        try:
            for part in parts[length:]:
                found = getattr(found, part)
        except AttributeError:
            return False
        return True
    return False


def test_docstrings_name_what_there_is() -> None:
    source = ROOT / "src" / "headway"
    named = {
        (name, path.relative_to(ROOT))
        for path in source.rglob("*.py")
        for name in re.findall(r":(?:mod|class|func|meth|data|attr):`~?(headway\.[\w.]+)`", path.read_text("utf-8"))
    }
    assert len(named) > 50
    assert [f"{path}: {name}" for name, path in sorted(named) if not there_is(name)] == []
    assert not there_is("headway.errors.NoSuchError")
