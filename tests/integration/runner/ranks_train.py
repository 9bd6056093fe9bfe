"""Trains with gloo, on each of several processes: ``ranks_train.py FOLDER TOTAL SECONDS``. Saves when it is asked to, with a
collective, so that ranks which save at different steps would hang; begins where the last checkpoint in FOLDER was made. Each says
by a file once they know of each other."""

import json
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

import headway

folder, total, seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
saved = folder / "checkpoint.json"
start = json.loads(saved.read_text())["step"] if saved.exists() else 0
run = headway.track(total_steps=total, start_step=start)
(folder / f"pid-{rank}").write_text(str(os.getpid()))
met = folder / f"met-{rank}"
weight = torch.zeros(4)
told = {"rank": rank, "start": start, "saved": [], "stopped": None}
for step in range(start + 1, total + 1):
    if seconds:
        time.sleep(seconds)
    gradient = torch.full((4,), float(rank))
    dist.all_reduce(gradient)
    weight += gradient
    run.step(step, loss=1.0 / step)
    if run.should_checkpoint:
        began = time.monotonic()
        steps = [torch.zeros(1, dtype=torch.int64) for _ in range(dist.get_world_size())]
        dist.all_gather(steps, torch.tensor([step]))
        assert {int(each) for each in steps} == {step}
        if rank == 0:
            saved.write_text(json.dumps({"step": step}))
        dist.barrier()
        run.checkpointed(step, seconds=time.monotonic() - began, path=saved)
        told["saved"].append(step)
    if run.should_stop:
        told["stopped"] = step
        break
    if not met.exists() and run._reporter.asking._all_here():
        met.touch()
(folder / f"told-{rank}.json").write_text(json.dumps(told))
dist.destroy_process_group()
