"""The dashboard in a real browser: what it shows is what the server knows, and what it does shows in the API."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from headway.protocol.job import JobKey, State
from headway.protocol.lifecycle import LifecycleKind
from headway.protocol.report import Checkpoint, EndingKind
from headway.testing.fleet import PATIENT, Fleet
from headway.testing.live import live_server
from headway.testing.waiting import wait_until

ROOT = Path(__file__).parents[2]


@pytest.fixture
def server(tmp_path):
    with live_server(tmp_path, hub=PATIENT) as running:
        yield running


@pytest.fixture
def fleet(server):
    """Three jobs: one learns, one has diverged into NaN, one is done."""
    made = Fleet(server)
    made.add("learner", namespace="nlp", framework="pytorch", owner="mei", nodes=2, devices_per_node=8, tags=("prod",))
    made.add("broken", namespace="vision", framework="jax", owner="ana", price_per_hour=50.0, devices_per_node=4)
    made.add("finished", namespace="nlp", framework="jax", owner="mei")
    for step in range(10, 210, 10):
        made.report("learner", step, namespace="nlp", metrics={"loss": 3.0 / step, "eval_loss": 4.0 / step})
        loss = 0.5 if step < 100 else float("nan")
        made.report("broken", step, namespace="vision", metrics={"loss": loss})
    made.report("finished", 1000, namespace="nlp")
    made.end("finished", EndingKind.COMPLETED, namespace="nlp", step=1000, total_steps=1000)
    return made


def row(page, name):
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def rows(page):
    """The names in the table, from the top."""
    return page.locator("tbody .hw-name").all_inner_texts()


def menu_entry(page, name):
    """An entry of the menu that is open."""
    return page.locator(".pf-v6-c-menu").get_by_text(name, exact=True)


def expect(locator):
    from playwright.sync_api import expect as expected

    return expected(locator)


def query(page):
    return page.evaluate("location.search")


SCRIPT = """
import sys, time
import headway
with headway.track(total_steps=400) as run:
    for step in range(1, 401):
        run.step(loss=2.0 / step)
        time.sleep(0.05)
"""


def test_a_real_run_appears_and_moves_without_reload(server, open_page, tmp_path):
    page = open_page(server)
    expect(page.get_by_text("No jobs yet")).to_be_visible()
    page.evaluate("window.notReloaded = true")
    env = os.environ | {"HEADWAY_URL": server.url, "HEADWAY_TOKEN": server.token, "HEADWAY_JOB": "local/really"}
    process = subprocess.Popen([sys.executable, "-c", SCRIPT], env=env | {"HEADWAY_INTERVAL": "0.2"}, cwd=tmp_path)
    try:
        expect(row(page, "really")).to_contain_text("Running")
        bar = row(page, "really").get_by_role("progressbar")
        first = int(bar.get_attribute("aria-valuenow"))
        wait_until(lambda: int(bar.get_attribute("aria-valuenow")) > first, "more progress")
        wait_until(lambda: row(page, "really").locator(".hw-spark-line").count() == 1, "the curve of the loss")
    finally:
        process.terminate()
        process.wait(20)
    assert page.evaluate("window.notReloaded") is True


def test_the_list_says_what_the_server_knows(server, fleet, open_page):
    page = open_page(server, viewport={"width": 1600, "height": 900})
    learner, broken, finished = row(page, "learner"), row(page, "broken"), row(page, "finished")
    expect(learner).to_contain_text("2 × 8")
    expect(learner.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "20")
    expect(broken).to_contain_text("NaN")
    expect(finished).to_contain_text("Complete")
    expect(finished.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "100")
    expect(broken.get_by_role("img", name=re.compile("Loss of broken, now NaN"))).to_be_visible()
    wait_until(lambda: broken.locator(".hw-spark-gap").count() == 1, "the mark of what is not finite")
    unknown = row(page, "finished").locator("td").filter(has_text="unknown")
    assert unknown.count() >= 1  # no ETA after the end, and said so to screen readers


def test_filters_sorting_and_columns_stand_in_the_address(server, fleet, open_page):
    page = open_page(server)
    expect(page.get_by_text("3 jobs")).to_be_visible()
    page.get_by_role("button", name="Namespace", exact=True).and_(page.locator(".pf-v6-c-menu-toggle")).click()
    menu_entry(page, "nlp").click()
    page.keyboard.press("Escape")
    wait_until(lambda: sorted(rows(page)) == ["finished", "learner"], "the jobs of one namespace")
    assert "namespace=nlp" in query(page)
    expect(page.get_by_text("2 of 3 jobs")).to_be_visible()

    page.get_by_role("textbox", name="Find by name").fill("LEARN")
    wait_until(lambda: rows(page) == ["learner"], "the job with that name")
    assert "text=LEARN" in query(page)
    page.get_by_role("button", name="Clear all filters", exact=True).last.click()
    wait_until(lambda: len(rows(page)) == 3, "all jobs")
    assert query(page) == ""

    page.get_by_role("columnheader", name="Name", exact=True).get_by_role("button").click()
    wait_until(lambda: rows(page) == ["broken", "finished", "learner"], "by name")
    page.get_by_role("columnheader", name="Name", exact=True).get_by_role("button").click()
    wait_until(lambda: rows(page) == ["learner", "finished", "broken"], "by name, descending")
    assert "sort=-name" in query(page)

    page.get_by_role("button", name="Columns").click()
    menu_entry(page, "Owner").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("columnheader", name="Owner")).to_be_visible()
    assert "owner" in query(page)

    shared = page.evaluate("location.href")
    again = open_page(server, shared.removeprefix(server.url))
    wait_until(lambda: rows(again) == ["learner", "finished", "broken"], "the same list at the same address")
    expect(again.get_by_role("columnheader", name="Owner")).to_be_visible()

    page.go_back()
    expect(page.get_by_role("columnheader", name="Owner")).to_have_count(0)


def test_an_address_of_a_filter_that_nothing_matches_says_so(server, fleet, open_page):
    page = open_page(server, "/?state=Paused")
    expect(page.get_by_text("No job matches")).to_be_visible()


def test_the_panel_shows_one_job_in_depth(server, fleet, open_page):
    fleet.report("learner", 210, namespace="nlp", checkpoint=Checkpoint(step=200), metrics={"loss": 0.01, "lr": 1e-4})
    page = open_page(server)
    row(page, "learner").get_by_role("link").click()
    panel = page.locator(".hw-panel")
    expect(panel.get_by_role("heading", name="learner")).to_be_visible()
    assert "job=nlp%2Flearner" in query(page)
    expect(panel).to_contain_text("210 / 1,000")
    expect(panel).to_contain_text("step 200")
    wait_until(lambda: panel.locator("canvas").count() >= 1, "the curve")
    fleet.report("learner", 260, namespace="nlp", metrics={"loss": 0.009})
    expect(panel).to_contain_text("260 / 1,000")

    panel.get_by_role("tab", name="Curves").click()
    wait_until(lambda: panel.locator("canvas").count() >= 1, "all curves")
    page.set_viewport_size({"width": 1440, "height": 500})
    panel.hover()
    page.mouse.wheel(0, 2000)
    expect(panel.get_by_role("button", name="Checkpoint now")).not_to_be_in_viewport()
    expect(panel.get_by_role("tab", name="Curves")).to_be_in_viewport()
    expect(page.get_by_role("heading", name="Jobs", exact=True)).to_be_in_viewport()
    panel.get_by_role("tab", name="Configuration").click()
    expect(panel).to_contain_text("lr")
    expect(panel).to_contain_text("3e-4")
    panel.get_by_role("tab", name="History").click()
    expect(panel.get_by_role("grid", name="Attempts").or_(panel.get_by_role("table", name="Attempts"))).to_be_visible()
    assert "tab=history" in query(page)

    panel.get_by_role("button", name="Copy as code").click()
    line = page.get_by_text('Client().stop("learner", namespace="nlp", save=True)')
    expect(line).to_be_visible()
    page.keyboard.press("Escape")
    expect(line).to_have_count(0)
    expect(panel).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    assert "job=" not in query(page)


def test_a_panel_of_a_job_that_is_not_there_says_so(server, fleet, open_page):
    page = open_page(server, "/?job=local%2Fnowhere")
    expect(page.get_by_text("This job is not there")).to_be_visible()


def test_the_log_is_followed(server, open_page, tmp_path):
    log = tmp_path / "job.log"
    log.write_text("first line\n\x1b[31mred\x1b[0m words\n10%\r20%\r30%\n")
    fleet = Fleet(server)
    from headway.protocol.lifecycle import Registration

    registration = Registration(runner="r", attempt="a", log=str(log), host=os.uname().nodename)
    server.call(server.hub.register(JobKey("local", "talks"), registration))
    assert fleet.server is server
    page = open_page(server, "/?job=local%2Ftalks&tab=log")
    text = page.get_by_role("log")
    expect(text).to_contain_text("red words")
    assert text.inner_text().splitlines() == ["first line", "red words", "30%"]
    with log.open("a") as file:
        file.write("a new line\n")
    expect(text).to_contain_text("a new line")


def test_ranks_show_who_is_behind(server, open_page):
    fleet = Fleet(server)
    fleet.add("wide", ranks=4)
    fleet.report("wide", 500)
    page = open_page(server, "/?job=local%2Fwide&tab=ranks")
    cells = page.get_by_role("list", name="How each rank stands").get_by_role("listitem")
    expect(cells).to_have_count(4)
    expect(cells.nth(0)).to_have_class(re.compile("hw-standing-well"))
    expect(cells.nth(3)).to_have_class(re.compile("hw-standing-(behind|late|lost)"))
    page.get_by_role("button", name="Step", exact=True).click()
    expect(cells.nth(0)).to_have_attribute("style", re.compile("--hw-heat: 12%"))


def test_stop_says_what_would_be_lost_and_stops(server, fleet, open_page):
    fleet.report("learner", 250, namespace="nlp", checkpoint=Checkpoint(step=200))
    page = open_page(server, "/?job=nlp%2Flearner")
    page.locator(".hw-panel").get_by_role("button", name="Stop").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Stop learner?")
    expect(dialog).to_contain_text("50 steps since the checkpoint at step 200 would be lost")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    assert server.job(JobKey("nlp", "learner")).actions == ()

    page.locator(".hw-panel").get_by_role("button", name="Stop").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop", exact=True).click()
    wait_until(lambda: server.job(JobKey("nlp", "learner")).actions, "the action")
    (action,) = server.job(JobKey("nlp", "learner")).actions
    assert (action.kind, action.by) == ("stop", "dashboard")
    answer = fleet.tell("learner", LifecycleKind.ALIVE, namespace="nlp")
    assert [command.kind for command in answer.commands] == ["stop"]
    fleet.end("learner", EndingKind.CANCELLED, namespace="nlp", step=250)
    expect(row(page, "learner")).to_contain_text("Stopped")


def test_checkpoint_and_pause_are_asked_for(server, fleet, open_page):
    page = open_page(server, "/?job=vision%2Fbroken")
    panel = page.locator(".hw-panel")
    panel.get_by_role("button", name="Checkpoint now").click()
    key = JobKey("vision", "broken")
    wait_until(lambda: [each.kind for each in server.job(key).actions] == ["checkpoint"], "the checkpoint")
    panel.get_by_role("button", name="Pause").click()
    page.get_by_role("dialog").get_by_role("button", name="Pause", exact=True).click()
    wait_until(lambda: [each.kind for each in server.job(key).actions] == ["checkpoint", "pause"], "the pause")
    panel.get_by_role("tab", name="History").click()
    expect(panel.get_by_role("row").filter(has_text="Checkpoint").first).to_be_visible()


def test_many_are_stopped_at_once(server, fleet, open_page):
    page = open_page(server)
    for name in ("learner", "broken", "finished"):
        page.get_by_role("checkbox", name=f"Select {name}").check()
    expect(page.get_by_text("3 selected")).to_be_visible()
    page.get_by_role("button", name="Stop", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Stop 2 jobs?")  # the third has ended
    dialog.get_by_role("button", name="Stop", exact=True).click()
    for key in (JobKey("nlp", "learner"), JobKey("vision", "broken")):
        wait_until(lambda key=key: server.job(key).actions, f"the action of {key}")
    assert server.job(JobKey("nlp", "finished")).actions == ()
    expect(page.get_by_text("3 selected")).to_have_count(0)


@pytest.mark.parametrize(
    ("locale", "words", "language"),
    [
        ("ja-JP", "ジョブ", "ja"),
        ("it-IT", "Avanzamento", "it"),
        ("pt-BR", "Progresso", "pt-BR"),
        ("de-DE", "Progress", "en"),
    ],
)
def test_the_language_is_that_of_the_browser(server, fleet, open_page, locale, words, language):
    page = open_page(server, locale=locale)
    expect(page.locator("table thead, h1").filter(has_text=words).first).to_be_visible()
    assert page.evaluate("document.documentElement.lang") == language


def test_the_language_can_be_switched_and_is_kept(server, fleet, open_page):
    page = open_page(server)
    page.get_by_role("button", name="Language").click()
    page.get_by_role("option", name="日本語").click()
    expect(page.get_by_role("link", name="比較")).to_be_visible()
    page.reload()
    expect(page.get_by_role("link", name="比較")).to_be_visible()


def test_the_theme_follows_the_system_and_a_switch(server, fleet, open_page):
    def is_dark(page):
        return page.evaluate("document.documentElement.classList.contains('pf-v6-theme-dark')")

    assert is_dark(open_page(server, color_scheme="dark"))
    page = open_page(server, color_scheme="light")
    assert not is_dark(page)
    before = page.evaluate("getComputedStyle(document.querySelector('.pf-v6-c-page')).backgroundColor")
    page.get_by_role("button", name="Theme").click()
    page.get_by_role("option", name="Dark").click()
    wait_until(lambda: is_dark(page), "the dark theme")
    assert page.evaluate("getComputedStyle(document.querySelector('.pf-v6-c-page')).backgroundColor") != before
    page.reload()
    assert is_dark(page)


def test_html_in_a_name_does_nothing(server, open_page):
    name = '<img src=x onerror="window.hacked=1"><script>window.hacked=2</script><b>bold</b>'
    fleet = Fleet(server)
    fleet.add(name, namespace="<i>x</i>", owner="<u>me</u>", tags=("<s>tag</s>",), config={"<b>lr</b>": "<i>1</i>"})
    page = open_page(server, f"/?job={quote(quote('<i>x</i>', safe='') + '/' + quote(name, safe=''), safe='')}")
    expect(page.locator(".hw-panel").get_by_role("heading", name=name)).to_be_visible()
    for tab in ("History", "Configuration", "Overview"):
        page.get_by_role("tab", name=tab).click()
    expect(row(page, name)).to_be_visible()
    assert page.evaluate("window.hacked") is None
    assert page.locator("table b, table i, table img, .hw-panel b, .hw-panel img").count() == 0


def test_a_killed_server_shows_a_banner_and_heals(tmp_path, open_page):
    with live_server(tmp_path, hub=PATIENT) as server:
        port = int(server.url.rpartition(":")[2])
        fleet = Fleet(server)
        fleet.add("steady")
        page = open_page(
            server, forgiven=("ERR_CONNECTION_REFUSED", "Failed to load resource", "ERR_INCOMPLETE_CHUNKED")
        )
        expect(row(page, "steady")).to_contain_text("Running")
        page.evaluate("window.notReloaded = true")
    banner = page.get_by_text("The server is away")
    expect(banner).to_be_visible()
    expect(row(page, "steady")).to_be_visible()  # what was known stays
    with live_server(tmp_path, port=port, hub=PATIENT) as server:
        fleet.server = server
        expect(banner).to_have_count(0)
        fleet.add("newcomer")
        expect(row(page, "newcomer")).to_be_visible()
        assert page.evaluate("window.notReloaded") is True


def test_going_from_page_to_page_loads_none_anew(server, fleet, open_page):
    page = open_page(server)
    expect(row(page, "learner")).to_be_visible()
    page.evaluate("window.notReloaded = true")
    for name in ("Fleet", "Compare", "Jobs", "Headway"):
        page.get_by_role("link", name=name, exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert page.evaluate("window.notReloaded") is True
    assert server.context.counters.viewers == 1


def test_a_part_that_went_with_an_update_says_so(server, fleet, open_page):
    page = open_page(server, forgiven=("404", "Failed to fetch dynamically imported module", "/assets/Fleet-"))
    expect(row(page, "learner")).to_be_visible()
    page.route("**/assets/Fleet-*.js", lambda route: route.fulfill(status=404, body=""))
    newer = '<!doctype html><script type="module" src="/assets/index-newer.js"></script>'
    page.route(f"{server.url}/", lambda route: route.fulfill(body=newer, content_type="text/html"))
    page.get_by_role("link", name="Fleet").click()
    expect(page.get_by_text("This part could not be loaded")).to_be_visible()
    expect(page.get_by_text("A newer version of the dashboard is there")).to_be_visible()
    page.get_by_role("link", name="Jobs").click()
    expect(row(page, "learner")).to_be_visible()  # the rest goes on


def test_ten_tabs_cost_the_server_one_stream(server, fleet, open_page):
    page = open_page(server)
    expect(row(page, "learner")).to_be_visible()
    tabs = [page.context.new_page() for _ in range(3)]
    for tab in tabs:
        tab.goto(server.url)
        expect(row(tab, "learner")).to_be_visible()
    assert server.context.counters.viewers == 1
    fleet.report("learner", 500, namespace="nlp")
    for tab in (page, *tabs):
        expect(row(tab, "learner").get_by_role("progressbar")).to_have_attribute("aria-valuenow", "50")
    page.close()
    fleet.report("learner", 600, namespace="nlp")
    for tab in tabs:
        expect(row(tab, "learner").get_by_role("progressbar")).to_have_attribute("aria-valuenow", "60")


def test_who_has_not_logged_in_sees_how_to(server, fleet, browser, dashboard):
    context = browser.new_context(locale="en-US")
    try:
        page = context.new_page()
        page.goto(server.url)
        expect(page.get_by_text("Log in from a terminal")).to_be_visible()
        assert page.get_by_text("learner").count() == 0
        page.context.request.get(f"{server.url}/login?code={server.context.keyring.new_code()}")
        page.get_by_role("button", name="Check again").click()
        expect(row(page, "learner")).to_be_visible()
    finally:
        context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_stale_job_looks_stale(server, open_page, theme, violations):
    fleet = Fleet(server)
    fleet.add("quiet")
    page = open_page(server, color_scheme=theme)
    expect(row(page, "quiet")).to_be_visible()
    assert "hw-stale" not in row(page, "quiet").get_attribute("class")
    page.clock.install()
    page.clock.fast_forward(40_000)
    wait_until(lambda: "hw-stale" in row(page, "quiet").get_attribute("class"), "the look of a stale job")
    assert violations(page) == []  # pale, but to be read


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "path", ["/", "/?job=nlp%2Flearner", "/?job=nlp%2Flearner&tab=ranks", "/?job=vision%2Fbroken&tab=history"]
)
def test_axe_finds_nothing_serious(server, fleet, open_page, violations, path, theme):
    page = open_page(server, path, color_scheme=theme)
    expect(row(page, "learner")).to_be_visible()
    if "job=" in path:
        expect(page.locator(".hw-panel")).to_be_visible()
    assert violations(page) == []


def test_a_narrow_screen_shows_it_all(server, fleet, open_page, violations):
    page = open_page(server, viewport={"width": 390, "height": 844}, forgiven=("404 (Not Found)",))  # it has no log
    expect(row(page, "learner")).to_be_visible()
    expect(page.get_by_role("link", name="Fleet")).to_be_in_viewport()
    assert violations(page) == []
    row(page, "learner").get_by_role("link").click()
    panel = page.locator(".hw-panel")
    for tab in ("Overview", "Curves", "Ranks", "History", "Log", "Configuration"):
        panel.get_by_role("tab", name=tab).click()
        expect(panel.get_by_role("tab", name=tab)).to_be_in_viewport(ratio=0.95)  # a fraction of a pixel may be cut
        expect(panel.get_by_role("button", name="Close")).to_be_in_viewport()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_the_keyboard_reaches_everything(server, fleet, open_page):
    page = open_page(server)
    expect(row(page, "learner")).to_be_visible()
    row(page, "learner").get_by_role("link").focus()
    page.keyboard.press("Enter")
    panel = page.locator(".hw-panel")
    expect(panel).to_be_visible()
    assert page.evaluate("document.activeElement.closest('.hw-panel') !== null")
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)


def test_thousands_of_rows_are_drawn_as_dozens(tmp_path, open_page):
    with live_server(tmp_path, store="memory", hub=PATIENT) as server:
        fleet = Fleet(server)
        for number in range(600):
            fleet.add(f"job-{number:04}")
        page = open_page(server, "/?sort=name")
        expect(page.get_by_text("600 jobs")).to_be_visible()
        assert page.locator("tbody tr").count() < 80
        page.locator(".hw-table-scroll").evaluate("box => { box.scrollTop = box.scrollHeight; }")
        expect(row(page, "job-0599")).to_be_visible()
        assert page.locator("tbody tr").count() < 80
        assert server.job(JobKey("local", "job-0599")).state is State.RUNNING
