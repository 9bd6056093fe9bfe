"""XGBoost on two processes that train one model by its own collective. Knows nothing of Headway."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import xgboost
from xgboost.tracker import RabitTracker

ROUNDS = 30


class Pace(xgboost.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log) -> bool:
        time.sleep(0.04)
        return False


def work(**where: str) -> None:
    with xgboost.collective.CommunicatorContext(**where):
        x = np.random.default_rng(xgboost.collective.get_rank()).normal(size=(200, 8))
        data = xgboost.DMatrix(x, x.sum(1))
        options = {"max_depth": 3, "nthread": 1, "tree_method": "hist"}
        xgboost.train(options, data, ROUNDS, evals=[(data, "train")], callbacks=[Pace()], verbose_eval=False)


if __name__ == "__main__":
    if "--port" in sys.argv:
        work(dmlc_tracker_uri="127.0.0.1", dmlc_tracker_port=int(sys.argv[-2]), dmlc_task_id=sys.argv[-1])
    else:
        tracker = RabitTracker(host_ip="127.0.0.1", n_workers=2)
        tracker.start()
        port = str(tracker.worker_args()["dmlc_tracker_port"])
        workers = [subprocess.Popen([sys.executable, __file__, "--port", port, str(task)]) for task in range(2)]
        codes = [worker.wait() for worker in workers]
        tracker.wait_for()
        sys.exit(max(codes))
