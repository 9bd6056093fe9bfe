"""Curves, the comparison of runs and the fleet in a real browser: what they show is what the server answers."""

from __future__ import annotations

import json
import math
import re
import time
from urllib.parse import parse_qs, urlencode

import pytest

from headway.protocol.history import SeriesQuery
from headway.protocol.job import JobKey
from headway.protocol.lifecycle import LifecycleKind
from headway.protocol.report import Checkpoint, EndingKind
from headway.testing.fleet import PATIENT, Fleet
from headway.testing.live import live_server
from headway.testing.waiting import wait_until

LEARNER = "/?" + urlencode({"job": "nlp/learner", "tab": "curves"})
RUNS = "/compare?" + urlencode({"job": ["nlp/learner", "nlp/better", "vision/broken"]}, doseq=True)


@pytest.fixture
def server(tmp_path):
    with live_server(tmp_path, hub=PATIENT) as running:
        yield running


@pytest.fixture
def fleet(server):
    """Two runs that learn, one of them better, and one that has come to NaN; one waits."""
    made = Fleet(server)
    common = {"framework": "pytorch", "owner": "mei", "nodes": 2, "devices_per_node": 8}
    made.add("learner", namespace="nlp", price_per_hour=40.0, config={"lr": 3e-4, "seed": 1, "model": "tiny"}, **common)
    made.add("better", namespace="nlp", config={"lr": 1e-3, "seed": 1, "model": "tiny"}, **common)
    made.add("broken", namespace="vision", owner="ana", price_per_hour=50.0, devices_per_node=4, config={"lr": 0.1})
    for step in range(10, 410, 10):
        saved = Checkpoint(step=200) if step == 200 else None
        made.report("learner", step, namespace="nlp", metrics=learning(step, 0.15), checkpoint=saved)
        made.report("better", step, namespace="nlp", metrics=learning(step, 0.1))
        loss = 0.5 if step < 100 else math.nan
        made.report("broken", step, namespace="vision", metrics={"loss": loss, "lr": 0.1})
    return made


def learning(step, floor):
    return {"loss": floor + 0.3 / step, "eval_loss": floor + 0.4 / step, "lr": 1e-4}


def expect(locator):
    from playwright.sync_api import expect as expected

    expected.set_options(timeout=20_000)
    return expected(locator)


def parameter(page, name):
    return parse_qs(page.evaluate("location.search.slice(1)")).get(name, [None])[0]


def chart(page, title):
    """A chart with its canvas drawn."""
    figure = page.get_by_role("figure", name=title, exact=True)
    expect(figure.locator("canvas")).to_be_visible()
    return figure


def zoom(page):
    text = parameter(page, "zoom")
    return None if text is None else tuple(map(float, text.split("~")))


def drag(page, figure, begin, end, *, shift=False):
    """Moves the mouse, its button down, between two parts of a chart's width."""
    box = figure.locator(".u-over").bounding_box()
    middle = box["y"] + box["height"] / 2
    if shift:
        page.keyboard.down("Shift")
    page.mouse.move(box["x"] + box["width"] * begin, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * (begin + end) / 2, middle, steps=3)
    page.mouse.move(box["x"] + box["width"] * end, middle, steps=3)
    page.mouse.up()
    if shift:
        page.keyboard.up("Shift")


def test_dragging_zooms_all_charts_and_the_way_back(server, fleet, open_page):
    page = open_page(server, LEARNER)
    figure = chart(page, "loss · eval_loss")
    whole = figure.locator("canvas").screenshot()
    drag(page, figure, 0.25, 0.5)
    first = wait_until(lambda: zoom(page), "a range in the address")
    assert 60 < first[0] < 140
    assert 160 < first[1] < 240
    assert figure.locator("canvas").screenshot() != whole

    drag(page, figure, 0.5, 0.25, shift=True)
    moved = wait_until(lambda: zoom(page) != first and zoom(page), "the range moved")
    assert moved[0] > first[0]
    assert moved[1] - moved[0] == pytest.approx(first[1] - first[0], rel=1e-3)

    again = open_page(server, page.evaluate("location.pathname + location.search"))
    chart(again, "loss · eval_loss")
    expect(again.get_by_role("button", name="Show all")).to_be_visible()
    page.get_by_role("button", name="Show all").click()
    wait_until(lambda: zoom(page) is None, "everything shown")
    expect(page.get_by_role("button", name="Show all")).to_have_count(0)

    drag(page, figure, 0.25, 0.5)
    wait_until(lambda: zoom(page), "a range in the address")
    figure.locator(".u-over").dblclick()
    wait_until(lambda: zoom(page) is None, "everything shown after a double click")


def test_the_wheel_zooms_where_the_pointer_is(server, fleet, open_page):
    page = open_page(server, LEARNER)
    figure = chart(page, "loss · eval_loss")
    box = figure.locator(".u-over").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 20)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    begin, end = wait_until(lambda: zoom(page), "a range in the address")
    at = 1 + 0.75 * 399
    assert (at - begin) / (end - begin) == pytest.approx(0.75, abs=0.05)


def test_two_fingers_zoom_and_one_reads_and_pans(server, fleet, open_page):
    page = open_page(server, LEARNER, has_touch=True, viewport={"width": 390, "height": 844})
    figure = chart(page, "loss · eval_loss")
    plot = figure.locator(".u-over")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    touches = page.context.new_cdp_session(page)

    def touch(kind, *parts):
        points = [
            {"x": box["x"] + box["width"] * part, "y": box["y"] + 60, "id": each} for each, part in enumerate(parts)
        ]
        touches.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 0.5)
    touch("touchMove", 0.6)
    touch("touchMove", 0.75)
    expect(figure.locator(".hw-chart__card")).to_contain_text("step 300")
    touch("touchEnd")
    expect(figure.locator(".hw-chart__card")).to_have_count(0)
    assert zoom(page) is None

    touch("touchStart", 0.4)
    touch("touchStart", 0.4, 0.6)
    touch("touchMove", 0.35, 0.65)
    touch("touchMove", 0.1, 0.9)
    touch("touchEnd")
    begin, end = wait_until(lambda: zoom(page), "a range in the address")
    assert end - begin == pytest.approx(100, rel=0.3)
    assert begin < 205 < end

    touch("touchStart", 0.5)
    touch("touchMove", 0.6)
    touch("touchMove", 0.8)
    touch("touchEnd")
    moved = wait_until(lambda: zoom(page) != (begin, end) and zoom(page), "the range moved")
    assert moved[0] < begin
    assert moved[1] - moved[0] == pytest.approx(end - begin, rel=1e-3)


def test_the_keyboard_reads_zooms_and_returns(server, fleet, open_page):
    page = open_page(server, LEARNER)
    figure = chart(page, "loss · eval_loss")
    plot = figure.get_by_role("group", name="loss · eval_loss")
    plot.focus()
    page.keyboard.press("End")
    said = figure.get_by_role("status")
    expect(said).to_contain_text("step 400")
    newest = server.job(JobKey("nlp", "learner")).metrics["loss"]
    read = float(re.search(r"loss ([\d.]+)", said.inner_text()).group(1))
    assert read == pytest.approx(newest, rel=0.02)  # smoothed
    page.keyboard.press("ArrowLeft")
    expect(said).to_contain_text("step 390")
    page.keyboard.press("+")
    begin, end = wait_until(lambda: zoom(page), "a range in the address")
    assert begin < 390 < end
    page.keyboard.press("Shift+ArrowLeft")
    wait_until(lambda: zoom(page)[0] < begin, "the range moved")
    page.keyboard.press("Escape")
    wait_until(lambda: zoom(page) is None, "everything shown")
    expect(page.locator(".hw-panel")).to_be_visible()


def test_scale_axis_and_smoothing_stand_in_the_address(server, fleet, open_page):
    fleet.report("learner", 410, namespace="nlp", metrics={"loss": 0.0, "eval_loss": 1.0, "lr": 1e-4})
    page = open_page(server, LEARNER)
    figure = chart(page, "loss · eval_loss")
    linear = figure.locator("canvas").screenshot()
    expect(figure.get_by_text("no place on a logarithmic scale")).to_have_count(0)
    page.get_by_role("button", name="Log", exact=True).click()
    expect(figure.get_by_text("no place on a logarithmic scale")).to_be_visible()
    assert parameter(page, "scale") == "log"
    assert figure.locator("canvas").screenshot() != linear

    page.get_by_role("button", name="Time", exact=True).click()
    page.get_by_label("Smoothing").select_option("strong")
    wait_until(
        lambda: (parameter(page, "x"), parameter(page, "smooth")) == ("time", "strong"), "settings in the address"
    )
    expect(page.get_by_role("button", name="Epoch", exact=True)).to_be_disabled()  # the job tells of no epochs


def test_values_are_there_as_tables(server, fleet, open_page):
    page = open_page(server, LEARNER)
    figure = chart(page, "loss · eval_loss")
    figure.get_by_role("button", name="Values of loss · eval_loss as tables").click()
    summary = figure.get_by_role("table", name="loss · eval_loss in short")
    cells = summary.get_by_role("row").filter(has=page.get_by_role("rowheader", name="loss", exact=True))
    expect(cells).to_contain_text("0.1508 at 400")
    course = figure.get_by_role("table", name="Course of loss · eval_loss")
    assert course.get_by_role("row").count() == 21


def test_what_is_not_a_number_is_said(server, fleet, open_page):
    page = open_page(server, "/?" + urlencode({"job": "vision/broken", "tab": "curves"}))
    figure = chart(page, "loss")
    expect(figure.locator(".hw-chart__legend")).to_contain_text("NaN")
    figure.get_by_role("button", name="Values of loss as tables").click()
    row = figure.get_by_role("table", name="loss in short").get_by_role("row").nth(1)
    expect(row.get_by_role("cell").last).to_have_text("31")
    figure.locator(".u-over").hover(position={"x": 200, "y": 60})
    expect(figure.locator(".hw-chart__card")).to_contain_text("1 not finite")


def test_a_curve_grows_with_its_job_and_asks_only_for_what_is_new(server, fleet, open_page):
    page = open_page(server, LEARNER)
    figure = chart(page, "loss · eval_loss")
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/series" in request.url else None)
    time.sleep(3)
    assert asked == []  # nothing polls
    fleet.report("learner", 410, namespace="nlp", metrics={"loss": 0.125, "eval_loss": 0.25, "lr": 1e-4})
    expect(figure.locator(".hw-chart__legend")).to_contain_text("0.125")
    assert asked
    assert all("from=400" in url for url in asked)


def test_a_close_look_at_a_long_curve_is_fetched_finer(server, open_page):
    made = Fleet(server)
    made.add("long", total=20_000)
    for step in range(1, 4001):
        made.report("long", step, metrics={"loss": 1.0 + 1.0 / step}, t=float(step))
    page = open_page(server, "/?" + urlencode({"job": "local/long", "tab": "curves"}))
    figure = chart(page, "loss")
    with page.expect_response(lambda answer: "from=" in answer.url and "to=" in answer.url) as found:
        drag(page, figure, 0.5, 0.6)
    series = json.loads(found.value.text())["series"]
    key = JobKey("local", "long")
    (coarse,) = server.call(server.hub.series(key, SeriesQuery(metrics=("loss",), points=1000)))
    assert coarse.tier > 1
    assert [each["tier"] for each in series] == [1]
    begin, end = zoom(page)
    assert series[0]["points"][0][0] <= begin
    assert series[0]["points"][-1][0] >= end


def names(page):
    """The runs of the comparison, from the top."""
    return page.get_by_role("rowheader").locator("a").all_inner_texts()


def test_runs_are_ranked_and_the_best_is_marked(server, fleet, open_page):
    page = open_page(server, RUNS)
    # What is no number ranks worst, whatever it reached before, and moves nobody else.
    wait_until(lambda: names(page) == ["better", "learner", "broken"], "ranked by loss")
    table = page.get_by_role("table", name="Runs ranked by loss")
    best = table.get_by_role("row").filter(has=page.get_by_role("link", name="better"))
    expect(best.get_by_text("Best of all:").first).to_be_attached()
    broken = table.get_by_role("row").filter(has=page.get_by_role("link", name="broken"))
    expect(broken).to_contain_text("NaN")
    expect(broken.get_by_text("Best of all:")).to_have_count(0)
    expect(table.get_by_role("columnheader", name="lr", exact=True)).to_be_visible()
    expect(table.get_by_role("columnheader", name="seed", exact=True)).to_be_visible()  # one run has none
    expect(chart(page, "loss").locator(".hw-chart__legend .hw-chart__entry")).to_have_count(3)
    page.get_by_role("button", name="Rank by eval_loss").click()
    wait_until(lambda: parameter(page, "by") == "eval_loss", "the metric in the address")
    expect(page.get_by_role("table", name="Runs ranked by eval_loss")).to_be_visible()
    assert names(page) == ["better", "learner", "broken"]


def test_runs_are_chosen_in_the_list_in_the_menu_and_left_out_again(server, fleet, open_page):
    page = open_page(server, "/compare")
    page.get_by_role("button", name="Choose runs").click()
    page.get_by_role("textbox", name="Find by name").fill("LEARN")
    page.get_by_role("menuitem").or_(page.get_by_role("option")).get_by_text("learner").click()
    wait_until(lambda: names(page) == ["learner"], "the chosen run")
    page.get_by_role("textbox", name="Find by name").fill("bett")
    page.get_by_role("menuitem").or_(page.get_by_role("option")).get_by_text("better").click()
    page.keyboard.press("Escape")
    wait_until(lambda: names(page) == ["better", "learner"], "both runs")
    expect(page.get_by_text("(2 are the same)")).to_be_visible()
    page.get_by_role("button", name="Remove better").click()
    wait_until(lambda: names(page) == ["learner"], "one run")
    page.go_back()
    wait_until(lambda: names(page) == ["better", "learner"], "both runs again")

    page.goto(server.url)
    for name in ("learner", "broken"):
        page.get_by_role("checkbox", name=f"Select {name}").check()
    page.get_by_role("link", name="Compare").last.click()
    wait_until(lambda: sorted(names(page)) == ["broken", "learner"], "the runs chosen in the list")


def test_a_run_that_is_gone_is_said(server, fleet, open_page):
    page = open_page(server, "/compare?" + urlencode({"job": ["nlp/learner", "nlp/nowhere"]}, doseq=True))
    expect(page.get_by_text("1 chosen run is not there any more.")).to_be_visible()
    wait_until(lambda: names(page) == ["learner"], "the other run")


def test_the_fleet_says_what_runs_what_goes_nowhere_and_what_ends(server, fleet, open_page):
    wait_until(lambda: server.job(JobKey("vision", "broken")).verdict == "NonFinite", "the verdict")
    fleet.add("waiting", namespace="vision", owner="ana", devices_per_node=4)
    fleet.add("silentish", namespace="vision", owner="ana")  # says nothing of its devices
    page = open_page(server, "/fleet")
    tiles = page.locator(".hw-tile")
    expect(tiles.nth(0)).to_contain_text("5 jobs")
    expect(tiles.nth(0)).to_contain_text("40 devices")
    expect(tiles.nth(0)).to_contain_text("unknown for 1 job")
    expect(tiles.nth(2)).to_contain_text("$50.00/h")
    expect(tiles.nth(2)).to_contain_text("4 devices")

    first = page.get_by_role("region", name="Look at these first").get_by_role("listitem").first
    expect(first).to_contain_text("broken")
    expect(first).to_contain_text("Non-finite")
    since = server.job(JobKey("vision", "broken")).conditions[0].since_step
    expect(first).to_contain_text(f"loss is NaN since step {since}")

    ends = page.get_by_role("region", name="What ends next")
    estimated = {
        job.name for name in ("learner", "better", "broken") for job in [find(server, name)] if job.eta is not None
    }
    wait_until(
        lambda: {*ends.get_by_role("listitem").locator("a").all_inner_texts()} == estimated, "what has an estimate"
    )
    if estimated:
        expect(ends.get_by_role("listitem").first).to_contain_text("between")
    expect(ends.get_by_text("no estimate")).to_contain_text(f"{5 - len(estimated)} running job")

    shares = page.get_by_role("region", name="Who holds and spends")
    expect(shares.get_by_role("row").filter(has_text="nlp")).to_contain_text("2 / 2")
    shares.get_by_role("button", name="Owner").click()
    expect(shares.get_by_role("row").filter(has_text="mei")).to_contain_text("32")
    assert parameter(page, "by") == "owner"

    page.get_by_role("region", name="Device-hours by verdict").get_by_role("link", name="Non-finite").click()
    wait_until(lambda: parameter(page, "verdict") == "NonFinite", "the list of those jobs")
    expect(page.get_by_role("link", name="broken", exact=True)).to_be_visible()


def find(server, name):
    return server.job(JobKey("vision" if name == "broken" else "nlp", name))


def test_the_fleet_moves_with_its_jobs(server, fleet, open_page):
    page = open_page(server, "/fleet")
    expect(page.locator(".hw-tile").first).to_contain_text("3 jobs")
    fleet.end("better", EndingKind.FAILED, namespace="nlp", exit_code=1)
    expect(page.locator(".hw-tile").first).to_contain_text("2 jobs")
    first = page.get_by_role("region", name="Look at these first")
    expect(first.get_by_role("listitem").filter(has_text="better")).to_contain_text("Failed")
    fleet.tell("learner", LifecycleKind.ALIVE, namespace="nlp")


@pytest.mark.parametrize("language", ["ja", "it", "pt-BR"])
@pytest.mark.parametrize("path", [LEARNER, RUNS, "/fleet"])
def test_other_languages_leave_no_key_and_no_parameter_open(server, fleet, open_page, language, path):
    page = open_page(server, path, locale=language)
    wait_until(lambda: page.evaluate("document.documentElement.lang") == language, "the language")
    wait_until(lambda: page.locator("canvas, .hw-tile").count() > 0, "the page")
    text = page.locator("main").inner_text()
    assert not re.search(r"\{\w+\}|\b(chart|compare|fleet)\.[a-z]", text)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", [LEARNER, RUNS, "/compare", "/fleet"])
def test_axe_finds_nothing_serious(server, fleet, open_page, violations, path, theme):
    wait_until(lambda: server.job(JobKey("vision", "broken")).verdict == "NonFinite", "the verdict")
    page = open_page(server, path, color_scheme=theme)
    wait_until(lambda: page.locator("canvas, .hw-tile, .pf-v6-c-empty-state").count() > 0, "the page")
    for button in page.get_by_role("button", name=re.compile("^Values of")).all()[:1]:
        button.click()
    grave = violations(page)
    assert grave == [], json.dumps(grave, indent=1)
