"""Frameworks are found by themselves: hooks after imports, in every process that ``headway run`` starts, and in no other way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from headway.adapters import auto

FRAMEWORK = "steps = []\n"
ADAPTER = """
import sys
def hook(module):
    module.hooked = module.hooked + 1 if hasattr(module, "hooked") else 1
def broken(module):
    raise RuntimeError("of another version")
"""
SAY = """
import json, sys
def say(**facts):
    print(json.dumps(facts))
"""


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Runs Python with files beside it; the hooks are for modules in the same folder."""
    (tmp_path / "framework.py").write_text(FRAMEWORK)
    (tmp_path / "adapter.py").write_text(ADAPTER)
    (tmp_path / "say.py").write_text(SAY)

    def run(code: str, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "train.py").write_text(textwrap.dedent(code))
        return subprocess.run(
            [sys.executable, *(arguments or ("train.py",))],
            cwd=tmp_path,
            env={**os.environ, **environ},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


def told(result: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_a_hook_is_called_once_after_its_module(run: Any) -> None:
    result = run("""
        from headway.adapters import auto
        auto.install({"framework": "adapter:hook", "never": "adapter:hook"})
        import sys
        before = "framework" in sys.modules or "adapter" in sys.modules
        import importlib.util
        importlib.util.find_spec("framework")     # looking for it is no import
        import framework
        first = framework.hooked
        import importlib
        importlib.reload(framework)
        from say import say
        say(before=before, first=first, after=framework.hooked, loader=type(framework.__loader__).__name__,
            spec=type(framework.__spec__.loader).__name__, never="never" in sys.modules)
    """)
    assert told(result) == {
        "before": False,
        "first": 1,
        "after": 1,
        "loader": "SourceFileLoader",
        "spec": "SourceFileLoader",
        "never": False,
    }


def test_what_is_imported_already_is_hooked_at_once(run: Any) -> None:
    result = run("""
        import framework
        from headway.adapters import auto
        auto.install({"framework": "adapter:hook"})
        auto.install({"framework": "adapter:hook"})
        from say import say
        say(hooked=framework.hooked)
    """)
    assert told(result) == {"hooked": 1}


@pytest.mark.parametrize("hook", ["adapter:broken", "adapter:missing", "nowhere:hook"])
def test_a_hook_that_fails_is_told_of_and_the_script_goes_on(run: Any, hook: str) -> None:
    result = run(f"""
        from headway.adapters import auto
        auto.install({{"framework": {hook!r}}})
        import framework
        from say import say
        say(steps=framework.steps)
    """)
    assert told(result) == {"steps": []}
    assert "framework is not tracked by itself" in result.stderr


def test_a_module_that_fails_to_import_fails_as_ever_and_is_hooked_when_it_succeeds(run: Any, tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text("import os\nif not os.path.exists('ready'): raise ImportError('not ready')\n")
    result = run("""
        from headway.adapters import auto
        auto.install({"late": "adapter:hook"})
        try:
            import late
        except ImportError as error:
            failed = str(error)
        open("ready", "w").close()
        import late
        from say import say
        say(failed=failed, hooked=late.hooked)
    """)
    assert told(result) == {"failed": "not ready", "hooked": 1}


def test_each_hook_of_the_table_names_a_function_that_is_there() -> None:
    import importlib

    for module, hook in auto.HOOKS.items():
        home, _, function = hook.partition(":")
        assert home.startswith("headway.adapters."), module
        assert callable(getattr(importlib.import_module(home), function))


SEEN = """
    import sys
    from say import say
    finders = [type(each).__name__ for each in sys.meta_path]
    say(finders="Finder" in finders, headway=sorted(name for name in sys.modules if name.startswith("headway")),
        custom=getattr(sys.modules.get("sitecustomize"), "mine", None))
"""


def test_an_injected_process_loads_the_finder_and_nothing_else(run: Any) -> None:
    environ: dict[str, str] = {"PYTHONPATH": "elsewhere"}
    auto.inject(environ)
    auto.inject(environ)
    assert environ["PYTHONPATH"].split(os.pathsep) == [auto.FOLDER, "elsewhere"]
    assert told(run(SEEN, **environ)) == {
        "finders": True,
        "headway": ["headway", "headway.adapters", "headway.adapters.auto"],
        "custom": None,
    }


@pytest.mark.parametrize("variable", [{"HEADWAY_AUTO": "0"}, {"HEADWAY_DISABLED": "1"}])
def test_a_process_is_left_alone_when_the_environment_says_so(run: Any, variable: dict[str, str]) -> None:
    environ: dict[str, str] = {}
    auto.inject(environ)
    assert told(run(SEEN, **environ, **variable))["finders"] is False


def test_the_sitecustomize_that_is_hidden_is_run_all_the_same(run: Any, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text("mine = 'mine'\n")
    environ = {"PYTHONPATH": str(tmp_path / "own")}
    auto.inject(environ)
    seen = told(run(SEEN, **environ))
    assert seen["custom"] == "mine"
    assert seen["finders"] is True


def test_a_python_without_headway_gets_the_runner_s(run: Any, tmp_path: Path) -> None:
    environ: dict[str, str] = {}
    auto.inject(environ)
    lonely = tmp_path / "lonely"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(lonely)], check=True, timeout=60)
    code = (
        "import sys, headway; print(any(type(each).__name__ == 'Finder' for each in sys.meta_path), headway.__file__)"
    )
    alone = [str(lonely / "bin" / "python"), "-c", code]
    found = subprocess.run(alone, env={**os.environ, **environ}, capture_output=True, text=True, timeout=60, check=True)
    assert found.stdout.split() == ["True", str(Path(auto.FOLDER).parents[1] / "__init__.py")]
    assert subprocess.run(alone, capture_output=True, timeout=60, check=False).returncode != 0


SCRIPT = """
    import sys, __main__
    from say import say
    class Thing: pass
    import pickle
    thing = type(pickle.loads(pickle.dumps(Thing()))).__name__
    say(argv=sys.argv[1:], name=__name__, file=__file__.rsplit("/", 1)[-1], main=__main__.__dict__ is globals(), thing=thing,
        path=sys.path[0].rsplit("/", 1)[-1], package=__package__)
    if "raise" in sys.argv:
        raise ValueError("as it is")
    if "exit" in sys.argv:
        sys.exit(7)
    if "interrupt" in sys.argv:
        import os, signal
        os.kill(os.getpid(), signal.SIGINT)
"""


@pytest.mark.parametrize("argument", ["fine", "raise", "exit", "interrupt"])
@pytest.mark.parametrize("way", [["train.py"], ["-m", "train"]])
def test_run_through_the_module_a_script_sees_what_it_sees_without(run: Any, way: list[str], argument: str) -> None:
    plain = run(SCRIPT, *way, argument)
    ours = run(SCRIPT, "-m", "headway.auto", *way, argument)
    assert (ours.returncode, ours.stdout) == (plain.returncode, plain.stdout)
    without_runpy = "\n".join(line for line in plain.stderr.splitlines() if "runpy" not in line)
    if way == ["train.py"]:
        assert ours.stderr == plain.stderr
    else:
        assert [line for line in ours.stderr.splitlines() if line in without_runpy] == ours.stderr.splitlines()


def test_a_script_that_does_not_compile_and_one_that_is_not_there(run: Any) -> None:
    plain, ours = run("def"), run("def", "-m", "headway.auto", "train.py")
    assert (ours.returncode, ours.stderr) == (plain.returncode, plain.stderr)
    missing = run("", "-m", "headway.auto", "missing.py")
    assert missing.returncode == 2
    assert "missing.py" in missing.stderr
    assert run("", "-m", "headway.auto").returncode == 1


def test_children_of_a_script_run_through_the_module_find_frameworks_too(run: Any) -> None:
    result = run(
        """
        import subprocess, sys
        subprocess.run([sys.executable, "-c", "import sys; print('Finder' in [type(each).__name__ for each in sys.meta_path])"])
        """,
        *("-m", "headway.auto", "train.py"),
    )
    assert result.stdout == "True\n"


def test_the_runner_injects_unless_told_not_to(run: Any, tmp_path: Path) -> None:
    from headway.runner import RunRequest
    from headway.runner import run as run_job

    seen = tmp_path / "seen"
    code = (
        f"import sys; open({str(seen)!r}, 'w').write(str('Finder' in [type(each).__name__ for each in sys.meta_path]))"
    )
    environ = {
        **os.environ,
        "HEADWAY_URL": "http://127.0.0.1:9",
        "HEADWAY_TOKEN": "none",
        "HEADWAY_FINISH_TIMEOUT": "0.1",
    }
    for wanted in (True, False):
        request = RunRequest(command=(sys.executable, "-c", code), environ=environ, auto=wanted, quiet=True)
        assert run_job(request) == 0
        assert seen.read_text() == str(wanted)
