"""What a loop of short steps pays while its server fails: as good as nothing, in time and in the longest call."""

from __future__ import annotations

import json

import pytest

from headway.testing.servers import ScriptedServer
from headway.testing.sockets import black_hole

LOOP = """
import json, time, headway

def steps(call):
    began, longest = time.perf_counter(), 0.0
    for step in range(100):
        time.sleep(0.01)
        before = time.thread_time()
        call(step)
        longest = max(longest, time.thread_time() - before)
    return time.perf_counter() - began, longest

bare = min(steps(lambda step: None)[0] for _ in range(2))
rounds = []
run = headway.track(total_steps=10_000)
while len(rounds) < 6 and not (rounds and min(each[0] for each in rounds) <= 1.03 * bare):
    rounds.append(steps(lambda step: run.step(loss=0.5, grad_norm=1.0)))
run.finish(timeout=0.1)
print(json.dumps([min(each[0] for each in rounds) / bare, min(each[1] for each in rounds)]))
"""


@pytest.mark.quiet
@pytest.mark.parametrize("fault", ["hang", "refuse", "error", "black hole", "unknown host"])
def test_steps_of_ten_milliseconds_take_no_longer(script, server: ScriptedServer, fault: str) -> None:
    """At most 1.03 x the time, in the best of a few rounds; no call needs a millisecond of the processor."""
    with black_hole() as hole:
        url = {"black hole": hole, "unknown host": "http://no-such-host.invalid:1"}.get(fault, server.url)
        if url == server.url:
            server.behave(fault)
        done = script.run(LOOP, HEADWAY_URL=url)
    assert done.code == 0, done.err
    ratio, longest = json.loads(done.out)
    assert ratio <= 1.03
    assert longest < 1e-3
