"""Takes the screenshots of the documentation: each page of the dashboard, light and dark, over a fleet made up for it.

    python tools/screenshots.py [--browser /usr/bin/chromium]

Needs the built dashboard (`make dashboard`), Playwright (the test dependency group) and Chromium. Writes docs/images/*.png.
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from headway.protocol.report import Checkpoint, EndingKind
from headway.testing.fleet import PATIENT, Fleet
from headway.testing.live import live_server

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SIZE = {"width": 1440, "height": 860}
NAMES = ("llama-8b-sft", "bert-mnli", "gpt2-pretrain", "whisper-small", "vit-drowsy", "qlora-alpaca")
MORE = ("swin-woody", "xlmr-ner", "ppo-hopper", "mt5-ar-en", "wav2vec-libri", "yolo-wheat")
TEAMS = (("research", "mei"), ("nlp", "giulia"), ("vision", "ana"), ("speech", "kenji"))
CHOSEN = ("research/llama-8b-sft", "vision/gpt2-pretrain", "speech/whisper-small")
PAGES = {
    "jobs": "/",
    "job": f"/?job={CHOSEN[0].replace('/', '%2F')}",
    "compare": "/compare?" + "&".join(f"job={each.replace('/', '%2F')}" for each in CHOSEN),
    "fleet": "/fleet",
}


def loss(fate: int, step: int, chance: random.Random) -> float:
    """A loss that goes well, levels off, leaps up or stops being a number."""
    noise = chance.gauss(0, 0.04)
    if fate == 3 and step > 420:
        return 1.4 + (step - 420) / 150 + noise
    if fate == 4 and step > 500:
        return math.nan
    return (1.2 + 2 * math.exp(-step / 60) if fate == 1 else 0.4 + 3 * math.exp(-step / 300)) + noise


def people(fleet: Fleet) -> dict[tuple[str, str], tuple[int, int]]:
    """Fills a server with jobs of every fate; returns those that go on, with their fate and last step."""
    going: dict[tuple[str, str], tuple[int, int]] = {}
    chance = random.Random(7)  # noqa: S311 - the same fleet each time
    for number, name in enumerate(NAMES + MORE):
        namespace, owner = TEAMS[number % 4]
        given = {"nodes": 1 + number % 3, "devices_per_node": 8, "price_per_hour": 24.0 * (1 + number % 3)}
        config = {"lr": 3e-4 / (1 + number % 3), "batch_size": 32 * (1 + number % 2), "seed": number}
        framework = ("pytorch", "transformers", "jax")[number % 3]
        # From ten minutes to an hour and a half, at half a second a step.
        total = 1500 + 1300 * (5 * number % 7)
        described = {"namespace": namespace, "owner": owner, "framework": framework, "tags": ("nightly",)}
        fleet.add(name, total=total, config=config, **described, **given)
        last = 300 + 37 * number % 600
        for step in range(4, last, 4):
            metrics = {"loss": loss(number % 6, step, chance), "grad_norm": abs(chance.gauss(1, 0.2))}
            metrics["learning_rate"] = 3e-4 * min(1.0, step / 100)
            if step % 40 == 0:
                metrics["eval_loss"] = metrics["loss"] + 0.12
            saved = Checkpoint(step=step) if step % 100 == 0 else None
            fleet.report(name, step, namespace=namespace, t=step * 2.0, n=4, metrics=metrics, checkpoint=saved)
        going[namespace, name] = (number % 6, last)
        if number in (7, 10):
            del going[namespace, name]
            kind = EndingKind.COMPLETED if number == 7 else EndingKind.FAILED
            fleet.end(name, kind, namespace=namespace, step=last)
    return going


def go_on(fleet: Fleet, going: dict[tuple[str, str], tuple[int, int]], ended: threading.Event) -> None:
    """Reports on, a step every half second, as long as pictures are taken."""
    chance = random.Random(8)  # noqa: S311
    for count in itertools.count(1):
        if ended.wait(0.5):
            return
        for (namespace, name), (fate, last) in going.items():
            step = last + count
            metrics = {"loss": loss(fate, step, chance), "grad_norm": abs(chance.gauss(1, 0.2)), "learning_rate": 3e-4}
            fleet.report(name, step, namespace=namespace, t=last * 2.0 + count * 0.5, metrics=metrics)


def shoot(browser: Any, server: Any, theme: str) -> None:
    """Takes the pictures of one theme."""
    context = browser.new_context(viewport=SIZE, locale="en-US", color_scheme=theme, timezone_id="UTC")
    page = context.new_page()
    page.goto(f"{server.url}/login?code={server.context.keyring.new_code()}")
    for name, path in PAGES.items():
        page.goto(server.url + path)
        page.wait_for_load_state("load")
        page.mouse.move(SIZE["width"] - 1, SIZE["height"] - 1)
        page.wait_for_timeout(2500)  # until curves are drawn and bars have moved
        page.screenshot(path=IMAGES / f"{name}-{theme}.png")
    context.close()


def main() -> int:
    """Takes all pictures."""
    parser = argparse.ArgumentParser(description="Takes the screenshots of the documentation.")
    parser.add_argument("--browser", default="/usr/bin/chromium", help="path of Chromium")
    given = parser.parse_args()
    from playwright.sync_api import sync_playwright

    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, live_server(Path(folder), store="memory", hub=PATIENT) as server:
        fleet, ended = Fleet(server), threading.Event()
        reporter = threading.Thread(target=go_on, args=(fleet, people(fleet), ended))
        reporter.start()
        try:
            time.sleep(20)  # until a pace is known
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=given.browser, args=["--no-sandbox", "--disable-gpu"]
                )
                for theme in ("light", "dark"):
                    shoot(browser, server, theme)
                browser.close()
        finally:
            ended.set()
            reporter.join()
    return 0


if __name__ == "__main__":
    sys.exit(main())
