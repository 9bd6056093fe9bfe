"""What a faulty server costs training: a loop of steps of 10 ms with a reporter under each fault, against the same loop without.

    python benchmarks/hung_server.py [--steps 100] [--rounds 5] [--json FILE]

Every loop is a process of its own; a round runs all of them, in turn, and the ratio is taken within the round.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

LOOP = """
import sys, time
steps = int(sys.argv[1])
if sys.argv[2] == "with":
    import headway
    step = headway.track(total_steps=steps).step
else:
    def step(**metrics):
        pass
pause, clock, worst = time.sleep, time.perf_counter, 0.0
pause(0.3)
start = clock()
for i in range(steps):
    pause(0.01)
    began = clock()
    step(loss=i * 0.5, learning_rate=2e-5)
    worst = max(worst, clock() - began)
print(clock() - start, worst)
"""


def loop(steps: int, url: str | None, home: str) -> tuple[float, float]:
    environ = {**os.environ, "HEADWAY_HOME": home, "HEADWAY_FINISH_TIMEOUT": "0.2", "HEADWAY_INTERVAL": "0.2"}
    if url is not None:
        environ |= {"HEADWAY_URL": url, "HEADWAY_TOKEN": "t", "HEADWAY_JOB": "local/bench"}
    command = [sys.executable, "-c", LOOP, str(steps), "without" if url is None else "with"]
    done = subprocess.run(command, env=environ, check=True, capture_output=True, text=True)
    seconds, worst = done.stdout.split()
    return float(seconds), float(worst)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()

    from headway.testing.servers import ScriptedServer, black_hole, refused_url

    rows: dict[str, dict[str, float]] = {}
    with ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory())
        urls: dict[str, str] = {}
        for fault in ("ok", "hang", "error", "slow", "busy", "garbage"):
            server = stack.enter_context(ScriptedServer(interval=0.2))
            server.behave(fault)
            urls[fault] = server.url
        urls["accepts, never reads"] = stack.enter_context(black_hole())
        urls["refuses"] = refused_url()
        urls["name does not resolve"] = "http://no-such-host.invalid:1"
        results: dict[str, list[tuple[float, float]]] = {name: [] for name in urls}
        for _ in range(arguments.rounds):
            bare, _ = loop(arguments.steps, None, home)
            for name, url in urls.items():
                seconds, worst = loop(arguments.steps, url, home)
                results[name].append((seconds / bare, worst))
    print(f"{'server':25}{'ratio':>8}{'worst call':>14}   (median of {arguments.rounds} rounds; worst of all)")
    for name, found in results.items():
        rows[name] = {
            "ratio": statistics.median(each[0] for each in found),
            "worst_ms": max(each[1] for each in found) * 1e3,
        }
        print(f"{name:25}{rows[name]['ratio']:8.3f}{rows[name]['worst_ms']:11.3f} ms")
    if arguments.json:
        arguments.json.write_text(
            json.dumps({"steps": arguments.steps, "rounds": arguments.rounds, "servers": rows}, indent=2)
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
