"""Many processes: forked and spawned children stay silent, and exactly one rank writes progress."""

from __future__ import annotations

import json
import os
import sys

import pytest

from headway.testing.servers import ScriptedServer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks")


def test_a_child_forked_while_the_reporter_holds_its_lock_ends_at_once_and_says_nothing(script, server) -> None:
    done = script.run(
        """
        import os, sys, time, headway
        run = headway.track(total_steps=1000)
        run.step(loss=1.0)
        slowest = 0.0
        for round in range(20):
            with run._reporter._delivery.lock:
                children = []
                for _ in range(4):
                    child = os.fork()
                    if child == 0:
                        run.step(loss=float("nan"), step=999)
                        run.log(eval_loss=1.0)
                        with run.phase("eval"):
                            pass
                        run.finish()
                        sys.exit(0)   # with all exit handlers
                    children.append(child)
                began = time.monotonic()
                for child in children:
                    _, status = os.waitpid(child, 0)
                    assert status == 0, status
                slowest = max(slowest, time.monotonic() - began)
            run.step(loss=1.0)
        time.sleep(1.2)
        run.step(loss=1.0)
        print(slowest)
        """,
        HEADWAY_INTERVAL="0.1",
    )
    assert done.code == 0, done.err
    assert float(done.out) < 2
    assert {body["headway"]["run"] for body in server.taken()} == {server.taken()[0]["headway"]["run"]}
    assert len({body["headway"]["job"]["pid"] for body in server.taken() if "job" in body["headway"]}) == 1
    assert max(server.steps_of_points()) == 22
    assert server.endings() == [{"kind": "completed", "step": 22, "totalSteps": 1000}]


@pytest.mark.frameworks
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_data_loader_workers_stay_silent(script, server: ScriptedServer, method: str) -> None:
    pytest.importorskip("torch")
    done = script.run(
        f"""
        import time, torch, headway
        from torch.utils.data import DataLoader, Dataset
        run = headway.track(total_steps=40)   # not under __main__, as many scripts have it

        class Data(Dataset):
            def __len__(self):
                return 8
            def __getitem__(self, index):
                run.step(loss=float(index))   # a mistake that users make
                return torch.tensor(float(index))

        if __name__ == "__main__":
            for epoch in range({3 if method == "fork" else 1}):
                loader = DataLoader(Data(), batch_size=2, num_workers=2, multiprocessing_context="{method}")
                for batch in loader:
                    run.step(loss=batch.mean())
            run.finish()
        """,
        timeout=100,
    )
    assert done.code == 0, done.err
    assert len({body["headway"]["run"] for body in server.taken()}) == 1
    (ending,) = server.endings()
    assert ending["step"] == (12 if method == "fork" else 4)


def test_a_terminated_child_dies_of_its_signal_alone(script, server: ScriptedServer) -> None:
    done = script.run(
        """
        import multiprocessing, time, headway
        run = headway.track()
        child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
        child.start()
        time.sleep(0.3)
        child.terminate()
        child.join(2)
        print(child.exitcode)
        """
    )
    assert done.out.split() == ["-15"]
    assert [ending["kind"] for ending in server.endings()] == ["completed"]


@pytest.mark.parametrize(
    ("target", "kind"), [("steps", "completed"), ("broken", "failed")], ids=["a good child", "a failing child"]
)
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_that_trains_reports_for_itself(script, server: ScriptedServer, target: str, kind: str, method) -> None:
    done = script.run(
        f"""
        import multiprocessing, headway
        def steps():
            run = headway.track(total_steps=5)
            for _ in range(5):
                run.step(loss=1.0)
        def broken():
            steps()
            raise ValueError("no")
        if __name__ == "__main__":
            child = multiprocessing.get_context("{method}").Process(target={target})
            child.start()
            child.join()
            print(child.exitcode)
        """
    )
    assert done.out.split() == ["0" if kind == "completed" else "1"]
    assert [ending["kind"] for ending in server.endings()] == [kind]
    assert server.endings()[0]["step"] == 5


RANKED = """
    import os, sys, time, headway
    {before}
    run = headway.track(total_steps=10, name="job")
    {after}
    for _ in range(10):
        run.step(loss=1.0)
        time.sleep(0.03)
    time.sleep(0.4)
    run.finish()
"""


def run_ranks(
    script, server: ScriptedServer, environs: list[dict[str, str]], before: str = "", after: str = ""
) -> None:
    code = RANKED.format(before=before, after=after)
    processes = [script.start(code, HEADWAY_INTERVAL="0.1", **environ) for environ in environs]
    for process in processes:
        _, err = process.communicate(timeout=90)
        assert process.returncode == 0, err


def eight(**names: str) -> list[dict[str, str]]:
    """Variables of 8 processes on 2 nodes; ``{r}`` global rank, ``{l}`` local rank, ``{n}`` node."""
    return [{name: text.format(r=rank, l=rank % 4, n=rank // 4) for name, text in names.items()} for rank in range(8)]


@pytest.mark.parametrize(
    "environs",
    [
        eight(RANK="{r}", WORLD_SIZE="8", LOCAL_RANK="{l}", TORCHELASTIC_RUN_ID="abc"),
        eight(LOCAL_RANK="{l}", GROUP_RANK="{n}", LOCAL_WORLD_SIZE="4"),
        eight(LOCAL_RANK="{l}", PET_NODE_RANK="{n}"),
        eight(SLURM_PROCID="{r}", SLURM_NTASKS="8", SLURM_LOCALID="{l}", SLURM_JOB_ID="77"),
        eight(OMPI_COMM_WORLD_RANK="{r}", OMPI_COMM_WORLD_SIZE="8", OMPI_COMM_WORLD_LOCAL_RANK="{l}"),
        eight(PMI_RANK="{r}", PMI_SIZE="8"),
        eight(JAX_PROCESS_ID="{r}", JAX_NUM_PROCESSES="8"),
        eight(JOB_COMPLETION_INDEX="{r}", JOBSET_RESTART_ATTEMPT="2"),
    ],
    ids=lambda environs: next(iter(environs[0])) + ("" if len(environs[0]) < 3 else "+"),
)
def test_exactly_one_of_eight_processes_writes(script, server: ScriptedServer, environs) -> None:
    run_ranks(script, server, environs)
    _one_writer(server)
    assert len({post.headway["attempt"] for post in server.posts}) == 1


def test_only_local_ranks_of_one_node(script, server: ScriptedServer) -> None:
    run_ranks(script, server, [{"LOCAL_RANK": str(rank)} for rank in range(4)])
    _one_writer(server, processes=4)


@pytest.mark.frameworks
def test_ranks_that_are_known_only_once_torch_distributed_is_up(script, server: ScriptedServer, tmp_path) -> None:
    pytest.importorskip("torch")
    join = (
        "import torch.distributed as dist; time.sleep(0.5); "
        f"dist.init_process_group('gloo', init_method='file://{tmp_path}/meet', "
        "rank=int(os.environ['MY_RANK']), world_size=4)"
    )
    environs = [{"MY_RANK": str(rank), "GLOO_SOCKET_IFNAME": "lo"} for rank in range(4)]
    run_ranks(script, server, environs, before="import torch", after=join)
    _one_writer(server, processes=4)


JAX = """
import types
class Jax(types.ModuleType):
    def process_index(self): return int(os.environ["MY_RANK"])
    def process_count(self): return 8
sys.modules["jax"] = Jax("jax")
"""


def test_jax_tells_its_process_index(script, server: ScriptedServer) -> None:
    run_ranks(script, server, [{"MY_RANK": str(rank)} for rank in range(8)], before=f"exec({JAX!r})")
    _one_writer(server)


def _one_writer(server: ScriptedServer, processes: int = 8) -> None:
    bodies = server.taken()
    writers = {body["headway"]["run"] for body in bodies if "trainerStatus" in body}
    assert len(writers) == 1
    ranks = {body["headway"]["run"]: body["headway"]["rank"] for body in bodies}
    assert len(ranks) == processes
    assert min(ranks.values()) == 0
    assert len(set(ranks.values())) == processes
    beats = [body["headway"] for body in bodies if body["headway"]["rank"] != 0]
    assert all("points" not in beat and "checkpoint" not in beat for beat in beats)
    assert any(beat["progress"]["step"] == 10 for beat in beats)
    ended = [body["headway"]["rank"] for body in bodies if "ending" in body["headway"]]
    assert 0 in ended
    assert len(set(ended)) == len(ended), "none says twice that it ended"


def test_under_a_kubeflow_server_only_rank_0_posts(script, server: ScriptedServer, tmp_path) -> None:
    (tmp_path / "token").write_text("pod")
    environs = [
        {
            "HEADWAY_URL": "",
            "KUBEFLOW_TRAINER_SERVER_URL": server.status_url("ns", "job"),
            "KUBEFLOW_TRAINER_SERVER_TOKEN": str(tmp_path / "token"),
            "RANK": str(rank),
            "WORLD_SIZE": "3",
        }
        for rank in range(3)
    ]
    run_ranks(script, server, environs)
    assert {body["headway"]["rank"] for body in server.taken() if "headway" in body} == {0}
    assert json.dumps(server.taken()[0]).find("headway") < 0
    assert os.environ.get("RANK") is None
