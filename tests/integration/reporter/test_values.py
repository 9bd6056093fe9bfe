"""What becomes of metrics, totals, tokens and frameworks' scalars, seen from the server."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from headway.testing.servers import ScriptedServer


def test_float_is_called_for_what_is_sent_not_for_every_step(script, server: ScriptedServer) -> None:
    done = script.run(
        """
        import time, headway
        class Scalar:
            calls = 0
            def __float__(self):
                Scalar.calls += 1
                return 0.25
        run = headway.track(total_steps=1000)
        for _ in range(1000):
            run.step(loss=Scalar())
            time.sleep(0.0001)
        run.finish()
        print(Scalar.calls)
        """,
        HEADWAY_INTERVAL="5",
    )
    assert 1 <= int(done.out) <= 2
    assert server.points()[-1][2] == {"loss": 0.25}
    assert server.points()[-1][0] == 1000


def test_numbers_arrive_and_the_rest_is_left_out_with_one_warning_per_name(script, server: ScriptedServer) -> None:
    done = script.run(
        """
        import decimal, fractions, numpy as np, headway
        run = headway.track(total_steps=3)
        for _ in range(3):
            run.step(
                a_float=1.5, an_int=2, a_bool=True, np32=np.float32(0.5), np64=np.float64(0.25), npi=np.int64(7),
                dec=decimal.Decimal("2.5"), frac=fractions.Fraction(1, 2), one=np.array([3.0]),
                nothing=None, text="0.5", pairs={"a": 1}, many=np.ones((2, 2)), cplx=1j, huge=10**400, obj=object(),
            )
        run.finish()
        """
    )
    assert done.code == 0
    point = server.points()[-1]
    means = {name: cell[0] for name, cell in point[2].items()}
    assert means == {
        "a_float": 1.5, "an_int": 2, "a_bool": 1, "np32": 0.5, "np64": 0.25, "npi": 7, "dec": 2.5, "frac": 0.5, "one": 3.0,
    }  # fmt: skip
    warned = [line for line in done.err.splitlines() if "was left out" in line]
    for name in ("nothing", "text", "pairs", "many", "cplx", "huge", "obj"):
        assert len([line for line in warned if f"'{name}'" in line]) == 1, done.err
    assert len(warned) == 7


def means(points: list[Any]) -> dict[str, float]:
    """The mean of each metric over the samples behind all points, however the steps were cut into points."""
    cells: dict[str, list[tuple[float, int]]] = {}
    for _, _, metrics in points:
        for name, cell in metrics.items():
            cells.setdefault(name, []).append((cell[0], cell[1]) if isinstance(cell, list) else (cell, 1))
    return {name: sum(m * n for m, n in each) / sum(n for _, n in each) for name, each in cells.items()}


@pytest.mark.frameworks
def test_jax_arrays_arrive(script, server: ScriptedServer) -> None:
    pytest.importorskip("jax")
    done = script.run(
        """
        import jax, jax.numpy as jnp, headway
        run = headway.track(total_steps=2)
        for step in range(2):
            run.step(
                scalar=jnp.float32(2.5), one=jnp.full((1, 1), 3.0), half=jnp.bfloat16(0.5), number=jnp.int32(4),
                computed=jax.jit(lambda x: x * 2)(1.5), matrix=jnp.ones((2, 2)),
            )
        run.finish()
        """,
        JAX_PLATFORMS="cpu",
    )
    assert done.code == 0, done.err
    assert means(server.points()) == {"scalar": 2.5, "one": 3, "half": 0.5, "number": 4, "computed": 3}
    assert len([line for line in done.err.splitlines() if "was left out" in line]) == 1


@pytest.mark.frameworks
def test_tensors_arrive_and_no_graph_is_kept_alive(script, server: ScriptedServer) -> None:
    pytest.importorskip("torch")
    done = script.run(
        """
        import gc, torch, weakref, headway
        run = headway.track(total_steps=4)
        class Canary:
            pass

        class Half(torch.autograd.Function):
            @staticmethod
            def forward(ctx, value):
                ctx.canary = Canary()
                canaries.append(weakref.ref(ctx.canary))
                return value * 0.5

            @staticmethod
            def backward(ctx, grad):
                return grad * 0.5

        canaries = []
        weight = torch.ones(1, requires_grad=True)
        for step in range(4):
            attached = Half.apply(weight).sum()
            assert canaries[-1]() is not None
            reused = torch.full((), float(step))
            run.step(
                attached=attached, scalar=torch.tensor(2.0), one=torch.tensor([[3.0]]), half=torch.tensor(0.5).bfloat16(),
                number=torch.tensor(4), flag=torch.tensor(True), reused=reused, matrix=torch.ones(2, 2),
                meta=torch.empty((), device="meta"), cplx=torch.tensor(1j),
            )
            reused.fill_(1000.0)   # changed in place after the call
            del attached
            gc.collect()
            print(canaries[-1]() is None)
        run.log(attached=(weight * 0.25).sum(), matrix=torch.ones(3))
        run.finish()
        """
    )
    assert done.code == 0, done.err
    assert done.out.split() == ["True"] * 4
    *stepped, logged = server.points()
    assert means(stepped) == {
        "attached": 0.5,
        "scalar": 2,
        "one": 3,
        "half": 0.5,
        "number": 4,
        "flag": 1,
        "reused": 1.5,
    }
    assert logged[2] == {"attached": 0.25}
    warned = [line for line in done.err.splitlines() if "was left out" in line]
    assert len(warned) == 3
    assert "torch" not in script.run("import sys, headway; headway.track(); print('torch' in sys.modules)").err


def test_values_that_are_not_finite_travel_and_are_counted(script, server: ScriptedServer) -> None:
    script.run(
        """
        import headway
        run = headway.track()
        for loss in (1.0, float("nan"), 3.0):
            run.step(loss=loss, grad=float("-inf"), fine=1.0)
        run.log(eval_loss=float("inf"))
        run.finish()
        """
    )
    stepped, logged = server.points()
    assert stepped[2] == {"loss": [2.0, 3, 2.0, 1], "grad": ["-Infinity", 3, 0.0, 3], "fine": [1.0, 3, 0.0]}
    assert logged[2] == {"eval_loss": "Infinity"}
    metrics = {each["name"]: each["value"] for each in server.taken()[-1]["trainerStatus"]["metrics"]}
    assert metrics["eval_loss"] == "Infinity"
    assert metrics["grad"] == "-Infinity"


def test_awkward_names_and_a_great_many_metrics(script, server: ScriptedServer) -> None:
    done = script.run(
        """
        import headway
        run = headway.track(total_steps=2)
        run.step(**{"": 1.0, "x" * 80 + "a": 1.0, "x" * 80 + "b": 2.0, "naïve/<b>": 3.0, "nul\\0": 4.0})
        run.log(**{f"metric number {i} with a rather long name": i / 7 for i in range(3000)})
        run.finish()
        """
    )
    assert done.code == 0
    assert max(post.size for post in server.posts) <= 64 * 1024
    assert all(post.taken for post in server.posts)
    logged = {name: value for point in server.points() for name, value in point[2].items() if name.startswith("metric")}
    assert logged == {f"metric number {i} with a rather long name": i / 7 for i in range(3000)}
    first = {each["name"] for each in server.taken()[-1]["trainerStatus"]["metrics"]}
    assert all(0 < len(name) <= 64 for name in first)
    assert len([name for name in first if name.startswith("xxx")]) == 2
    assert server.taken()[-1]["trainerStatus"]["progressPercentage"] == 50


@pytest.mark.parametrize("total", ["-1", "0", "None", "sys.maxsize", "float('inf')", "float('nan')", "'many'", "[]"])
def test_a_total_that_is_none_leaves_progress_unknown(script, server: ScriptedServer, total: str) -> None:
    done = script.run(
        f"""
        import sys, headway
        run = headway.track(total_steps={total})
        for _ in range(5):
            run.step(loss=1.0)
        run.finish()
        """
    )
    assert done.code == 0
    last = server.taken()[-1]
    assert "progressPercentage" not in last["trainerStatus"]
    assert "totalSteps" not in last["headway"]["progress"]
    assert last["headway"]["progress"]["step"] == 5
    assert last["headway"]["ending"] == {"kind": "completed", "step": 5}


def test_past_the_total_progress_stays_at_99_with_one_warning(script, server: ScriptedServer) -> None:
    done = script.run(
        """
        import time, headway
        run = headway.track(total_steps=100)
        for _ in range(400):
            run.step(loss=1.0)
            time.sleep(0.004)
        time.sleep(0.5)
        run.finish()
        """,
        HEADWAY_INTERVAL="0.1",
    )
    percents = [body["trainerStatus"]["progressPercentage"] for body in server.taken()]
    assert percents == sorted(percents)
    assert percents[-2:] == [99, 100]
    assert max(percents[:-1]) == 99
    assert len([line for line in done.err.splitlines() if "past the announced total of 100" in line]) == 1


@pytest.mark.parametrize(
    ("loop", "percent", "step"),
    [
        ("for i in range(10): run.step(i, loss=1.0)", 100, 10),
        ("for i in range(1, 11): run.step(i, loss=1.0)", 100, 10),
        ("for i in range(4): run.step(i, loss=1.0)", 40, 4),
        ("run.set_total(20)\nfor i in range(10): run.step()", 50, 10),
        ("for i in range(10): run.log(step=i + 1, loss=1.0)", 100, 10),
        ("for i in range(10): run.log(step=i + 1, loss=1.0); run.step()", 100, 10),
    ],
)
def test_the_ways_to_count(script, server: ScriptedServer, loop: str, percent: int, step: int) -> None:
    body = "import headway\nrun = headway.track(total_steps=10)\n" + loop + "\nrun.finish()\n"
    script.run(body)
    last = server.taken()[-1]
    assert last["trainerStatus"]["progressPercentage"] == percent
    assert last["headway"]["progress"]["step"] == step


def test_resumed_progress_starts_where_the_checkpoint_was(script, server: ScriptedServer) -> None:
    script.run(
        """
        import time, headway
        run = headway.track(total_steps=1000, start_step=900, total_epochs=2)
        time.sleep(2.3)
        run.log(epoch=1.8, step=900, eval_loss=1.0)
        run.step(loss=1.0)
        run.finish("failed")
        """
    )
    first, last = server.taken()[0], server.taken()[-1]
    assert first["trainerStatus"]["progressPercentage"] == 90
    assert first["headway"]["progress"]["phase"] == "init"
    assert "estimatedRemainingSeconds" not in last["trainerStatus"]
    assert last["headway"]["progress"]["step"] == 901
    assert last["headway"]["progress"]["epoch"] == 1.8
    names = {each["name"]: each["value"] for each in last["trainerStatus"]["metrics"]}
    assert names["current_epoch"] == "1.8"
    assert names["total_epochs"] == "2"


def test_the_eta_is_in_the_snapshot(script, server: ScriptedServer) -> None:
    script.run(
        """
        import time, headway
        run = headway.track(total_steps=1000)
        for _ in range(90):
            time.sleep(0.05)
            run.step(loss=1.0)
        run.finish("cancelled")
        """
    )
    known = [
        (body["headway"]["progress"]["step"], body["trainerStatus"]["estimatedRemainingSeconds"])
        for body in server.taken()
        if "estimatedRemainingSeconds" in body["trainerStatus"]
    ]
    step, seconds = known[-1]
    assert math.isclose(seconds, (1000 - step) * 0.05, rel_tol=0.5)


def test_steps_counts_epochs_and_totals_by_itself(script, server: ScriptedServer) -> None:
    script.run(
        """
        import headway
        for epoch_end, batch in enumerate(headway.steps([10, 20, 30, 40], epochs=3)):
            if batch == 20:
                headway.current_run().step(loss=float(batch))   # counted once
            else:
                headway.current_run().log(seen=batch)
        for batch in headway.steps(iter([1, 2]), name="ignored"):
            pass
        """
    )
    last = server.taken()[-1]["headway"]
    assert last["progress"]["totalEpochs"] in (1, 3)
    assert last["progress"]["step"] == 14
    assert len(server.endings()) == 1


def test_phases_are_told(script, server: ScriptedServer) -> None:
    done = script.run(
        """
        import time, headway
        run = headway.track()
        run.step()
        with run.phase("eval"):
            time.sleep(0.6)
            with run.phase("checkpoint"):
                time.sleep(0.6)
        with run.phase("dreaming"):
            pass
        time.sleep(0.6)
        """,
        HEADWAY_INTERVAL="0.1",
    )
    phases = list(dict.fromkeys(body["headway"]["progress"]["phase"] for body in server.taken()))
    assert [phase for phase in phases if phase != "init"][-3:] in (
        ["eval", "checkpoint", "train"],
        ["train", "eval", "checkpoint"],
    )
    assert "dreaming" in done.err


def test_a_replaced_token_is_read_again(script, server: ScriptedServer, tmp_path, wait_until) -> None:
    token = tmp_path / "token"
    (tmp_path / "old").write_text("old")
    token.symlink_to(tmp_path / "old")
    server.require(token="old")
    process = script.start(
        """
        import time, headway
        run = headway.track(total_steps=1000)
        for step in range(1000):
            run.log(step=step + 1, loss=1.0)
            time.sleep(0.01)
        """,
        HEADWAY_TOKEN="",
        HEADWAY_TOKEN_FILE=str(token),
        HEADWAY_INTERVAL="0.2",
    )
    wait_until(server.points)
    server.require(token="new")
    (tmp_path / "new").write_text("")  # empty for a moment
    (tmp_path / "next").symlink_to(tmp_path / "new")
    (tmp_path / "next").replace(token)
    wait_until(lambda: not server.posts[-1].taken)
    (tmp_path / "new").write_text("new\n")
    wait_until(lambda: server.posts[-1].taken)
    assert process.wait(30) == 0
    assert [point[0] for point in server.points()] == list(range(1, 1001))
    assert "Traceback" not in process.stderr.read()


def test_a_stock_kubeflow_server_never_sees_more_than_it_knows(script, server: ScriptedServer, tmp_path) -> None:
    (tmp_path / "token").write_text("pod-token")
    kubeflow = {
        "HEADWAY_URL": "",
        "KUBEFLOW_TRAINER_SERVER_URL": server.status_url("team", "fraud"),
        "KUBEFLOW_TRAINER_SERVER_TOKEN": str(tmp_path / "token"),
        "HEADWAY_INTERVAL": "0.2",
    }
    server.behave("stock")
    code = """
        import time, headway
        run = headway.track(total_steps=10)
        for step in range(10):
            run.step(loss=0.5)
            time.sleep(0.15)
        run.finish()
    """
    done = script.run(code, **kubeflow)
    assert done.code == 0
    assert len(server.posts) > 3
    for post in server.posts:
        assert set(post.body) == {"trainerStatus"}
        assert isinstance(post.body["trainerStatus"]["progressPercentage"], int)
        assert post.headers["authorization"] == "Bearer pod-token"
        assert post.path.endswith("/namespaces/team/trainjobs/fraud/status")
        json.dumps(post.body, allow_nan=False)
    assert server.posts[-1].body["trainerStatus"]["progressPercentage"] == 100

    server.posts.clear()
    server.behave("ok")
    script.run(code, **kubeflow)
    assert "headway" not in server.posts[0].body
    assert all("headway" in post.body for post in server.posts[1:])
    assert server.steps_of_points()[-1] == 10
    assert len(server.endings()) == 1
