"""A training loop of one's own: a bigram model of Python's standard library, in numpy. Headway takes two lines of it."""

import argparse
import sysconfig
from pathlib import Path

import numpy as np

import headway


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=3000)
    steps = parser.parse_args().steps

    text = b"".join(path.read_bytes() for path in sorted(Path(sysconfig.get_path("stdlib")).glob("a*.py")))
    ids = np.frombuffer(text, dtype=np.uint8)
    random = np.random.default_rng(0)
    table = np.zeros((256, 256), dtype=np.float32)  # logits of the next byte, given this one

    run = headway.track(total_steps=steps, config={"learning_rate": 20.0, "batch": 256})
    for step in range(steps):
        rate = 20.0 * (1 - step / steps)
        at = random.integers(0, len(ids) - 1, size=256)
        now, after = ids[at], ids[at + 1]
        logits = table[now] - table[now].max(1, keepdims=True)
        probability = np.exp(logits)
        probability /= probability.sum(1, keepdims=True)
        loss = -np.log(probability[np.arange(256), after] + 1e-9).mean()
        probability[np.arange(256), after] -= 1
        np.add.at(table, now, -rate / 256 * probability)
        run.step(loss=loss, learning_rate=rate)
    print(f"loss {loss:.3f} nats a byte after {steps} steps")


if __name__ == "__main__":
    main()
