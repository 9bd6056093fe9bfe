"""What a command is told to do next can be pasted into a shell, whatever the job is called."""

from __future__ import annotations

import shlex

import pytest

RUN = """
    import sys
    from headway.runner.request import RunRequest
    from headway.runner.run import run
    sys.exit(run(RunRequest(command=("true",), name=sys.argv[1])))
"""


@pytest.mark.parametrize("name", ["plain", "naïve 日本", "it's; rm -rf ~", "$(id)"])
def test_names_are_quoted(make_home, name):
    home = make_home()
    _, record = home.server()
    script = home.script(RUN, name, HEADWAY_URL=record.url, HEADWAY_TOKEN=record.token, PYTHONIOENCODING="utf-8")
    assert script.wait(60) == 0
    said = (home.path / "output.log").read_text(encoding="utf-8")
    command = said.partition("see it with `")[2].partition("`")[0]
    assert shlex.split(command) == ["headway", "watch", name]
