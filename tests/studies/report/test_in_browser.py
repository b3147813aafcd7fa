"""The page in a real browser, from a file: no errors, no requests, and everything does something.

`JETTISON_SCREENSHOTS` names a folder that gets pictures of the page: light, dark, on a phone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jettison.studies.report.page import write_report
from jettison.studies.report.run import load_runs
from jettison.studies.result_folder import ResultFolder
from tests.studies.report.browser import Seen, chromium, draw_everything, opened, wait_until
from tests.studies.report.conftest import HOSTILE, TinyResults

pytest.importorskip("plotly", reason="plotly is not installed (jettison[report])")

_PHONE = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened_browser:
        yield opened_browser


@pytest.fixture(scope="module")
def report(tiny_results: TinyResults, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    folder = ResultFolder(tiny_results.path)
    write_report(load_runs(folder).runs, folder, path, title=HOSTILE)
    return path


@pytest.fixture(scope="module")
def wide(browser: Any, report: Path) -> Seen:
    seen = opened(browser, report, color_scheme="light", accept_downloads=True)
    draw_everything(seen.page)
    return seen


def colour(page: Any, selector: str, name: str) -> str:
    found: str = page.eval_on_selector(selector, f"(one) => getComputedStyle(one).{name}")
    return found


def brightness(text: str) -> float:
    return sum(map(float, re.findall(r"[\d.]+", text)[:3])) / 3


def test_the_page_opens_without_complaints_or_requests_and_all_plots_are_drawn(
    wide: Seen, report: Path
) -> None:
    plots = wide.page.query_selector_all(".plot")
    # Two problems: two profiles and a curve and a schedule each, and the traces of one.
    assert len(plots) == 9
    for plot in plots:
        assert plot.query_selector("svg.main-svg .scatterlayer path, svg.main-svg .barlayer path")
    _picture(wide.page, "light")
    assert wide.complaints == []
    assert wide.requests == [report.as_uri()]


def test_texts_of_the_results_stay_texts(wide: Seen) -> None:
    assert wide.page.query_selector("main img, header img") is None
    assert wide.page.inner_text("h1") == HOSTILE
    assert HOSTILE in wide.page.inner_text("main .panel h3")


def test_pointing_at_a_curve_shows_the_exact_time(wide: Seen) -> None:
    place = wide.page.query_selector(".panel .plot[data-figure^='curves-']")
    place.scroll_into_view_if_needed()
    wanted = place.evaluate("(one) => one.data.find((t) => t.name === 'rotor-exact').text[0]")
    index = place.evaluate("(one) => one.data.findIndex((t) => t.name === 'rotor-exact')")
    # Hovering by coordinates: where plotly has put the first point on the screen.
    x, y = place.evaluate(
        """(one, index) => {
          const [xaxis, yaxis] = [one._fullLayout.xaxis, one._fullLayout.yaxis];
          const trace = one.data[index];
          const box = one.getBoundingClientRect();
          return [box.left + xaxis._offset + xaxis.d2p(trace.x[0]),
                  box.top + yaxis._offset + yaxis.d2p(trace.y[0])];
        }""",
        index,
    )
    wide.page.mouse.move(x - 40, y - 40)
    wide.page.mouse.move(x, y, steps=4)
    label = place.wait_for_selector(".hoverlayer .hovertext")
    shown = "".join(label.text_content().split())
    (exact,) = re.findall(r"time [^(]*\(([^)]*ns)\)", wanted)
    assert "".join(exact.split()) in shown


def test_a_schedule_zooms_by_its_buttons_and_by_dragging(wide: Seen) -> None:
    panel = wide.page.query_selector(".panel:has(.timeline)")
    place = panel.query_selector(".timeline")

    def span() -> float:
        left, right = place.evaluate("(one) => one.layout.xaxis.range.map(Number)")
        return float(right - left)

    whole = span()
    panel.query_selector("[data-move='zoom-in']").click()
    assert span() == pytest.approx(whole / 2)
    panel.query_selector("[data-move='right']").click()
    assert span() == pytest.approx(whole / 2)
    panel.query_selector("[data-move='all']").click()
    assert span() == pytest.approx(whole)
    place.scroll_into_view_if_needed()
    box = place.bounding_box()
    middle = box["y"] + 0.3 * box["height"]
    wide.page.mouse.move(box["x"] + 0.4 * box["width"], middle)
    wide.page.mouse.down()
    wide.page.mouse.move(box["x"] + 0.6 * box["width"], middle + 4, steps=5)
    wide.page.mouse.up()
    wide.page.wait_for_timeout(400)
    assert 0.1 * whole < span() < 0.4 * whole
    panel.query_selector("[data-move='all']").click()


def test_pointing_at_a_bar_names_its_operation(wide: Seen) -> None:
    place = wide.page.query_selector(".timeline")
    place.scroll_into_view_if_needed()
    bar = place.query_selector(".barlayer .point path")
    box = bar.bounding_box()
    wide.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=3)
    label = place.wait_for_selector(".hoverlayer .hovertext").text_content()
    # Stages are called "<b>layer</b> 3", which stays a text.
    assert re.search(r"\((<b>layer</b> \d|loss)\)", label)
    assert re.search(r"takes .*\d ns", label)


def test_tables_sort_and_all_jobs_can_be_filtered(wide: Seen) -> None:
    button = wide.page.query_selector(".gaps thead th:last-child button")
    button.click()
    values = [
        float(cell.get_attribute("data-value"))
        for cell in wide.page.query_selector(".gaps").query_selector_all("tbody td:last-child")
    ]
    assert values == sorted(values)
    assert len(set(values)) > 1
    assert "13 jobs" in wide.page.inner_text("#job-count")
    wide.page.fill("#job-filter", "revolve failed")
    assert wide.page.inner_text("#job-count").startswith("1 of 13 jobs")
    assert len(wide.page.query_selector_all("#job-table tbody tr")) == 1
    wide.page.fill("#job-filter", "")
    wide.page.click("#job-table thead th:nth-child(8) button")
    times = wide.page.eval_on_selector_all(
        "#job-table tbody td:nth-child(8)", "(cells) => cells.map((one) => one.title)"
    )
    known = [int(re.sub(r"\D", "", title)) for title in times if title]
    assert known == sorted(known)
    assert len(known) > 3


def test_an_instance_that_the_page_carries_is_downloaded_byte_by_byte(
    wide: Seen, tiny_results: TinyResults
) -> None:
    button = wide.page.query_selector("button.download")
    with wide.page.expect_download() as waiting:
        button.click()
    saved = Path(waiting.value.path())
    sha256 = button.get_attribute("data-file")
    wanted = ResultFolder(tiny_results.path).instance_path(sha256).read_bytes()
    assert saved.read_bytes() == wanted
    assert waiting.value.suggested_filename == f"{sha256}.json"


def test_dark_mode_follows_the_system_and_the_button(browser: Any, report: Path) -> None:
    seen = opened(browser, report, color_scheme="dark")
    page = seen.page
    page.wait_for_selector(".plot[data-drawn] .xtick text")
    assert brightness(colour(page, "body", "backgroundColor")) < 60
    assert brightness(colour(page, ".plot[data-drawn] .xtick text", "fill")) > 180
    _picture(page, "dark")
    page.click("#theme")
    wait_until(
        page,
        "getComputedStyle(document.querySelector('.plot[data-drawn] .xtick text')).fill"
        " === 'rgb(26, 29, 33)'",
    )
    assert brightness(colour(page, "body", "backgroundColor")) > 220
    page.click("#theme")
    assert brightness(colour(page, "body", "backgroundColor")) < 60
    assert seen.complaints == []


def test_on_a_phone_nothing_is_wider_than_the_screen(browser: Any, report: Path) -> None:
    seen = opened(browser, report, viewport=_PHONE, is_mobile=True, has_touch=True)
    draw_everything(seen.page)
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 360
    assert seen.page.evaluate("document.body.scrollWidth") <= 360
    for plot in seen.page.query_selector_all(".plot"):
        box = plot.query_selector(".main-svg").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
    seen.page.evaluate("scrollTo(0, 0)")
    _picture(seen.page, "phone")
    assert seen.complaints == []
    assert seen.requests == [report.as_uri()]


def _picture(page: Any, name: str) -> None:
    folder = os.environ.get("JETTISON_SCREENSHOTS")
    if folder:
        page.screenshot(path=Path(folder) / f"report-{name}.png", full_page=True)
