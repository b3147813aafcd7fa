"""A page opened in headless Chromium, and all that it did which it should not."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
WIDE = {"width": 1280, "height": 1000}


@dataclass
class Seen:
    """An open page, and what it did that it should not."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def chromium() -> Iterator[Any]:
    """Open a browser; the test is skipped with a reason where there is none."""
    sync_api: Any = pytest.importorskip(
        "playwright.sync_api", reason="playwright, which drives the browser, is not installed"
    )
    with sync_api.sync_playwright() as driver:
        own = Path(driver.chromium.executable_path)
        found = next(filter(None, map(shutil.which, _NAMES)), str(own) if own.exists() else None)
        if found is None:
            pytest.skip("no Chromium is installed (apt-get install chromium)")
        opened = driver.chromium.launch(executable_path=found)
        yield opened
        opened.close()


def opened(browser: Any, report: Path, **options: Any) -> Seen:
    # Without smooth scrolling, what is measured on the screen stays where it is.
    calm = {"viewport": WIDE, "reduced_motion": "reduce"}
    seen = Seen(browser.new_context(**{**calm, **options}).new_page())
    seen.page.on("console", lambda message: seen.complaints.append(message.text))
    seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    seen.page.on("dialog", lambda dialog: seen.complaints.append(dialog.message))
    seen.page.on("request", lambda request: seen.requests.append(request.url))
    seen.page.goto(report.as_uri())
    return seen


def wait_until(page: Any, condition: str) -> None:
    """Ask again and again: the policy of the page forbids the browser to do so by itself."""
    for _ in range(600):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never came true: {condition}")


def draw_everything(page: Any) -> None:
    """Open all that is folded, and look at every plot."""
    page.evaluate("document.querySelectorAll('main details').forEach((one) => (one.open = true))")
    for plot in page.query_selector_all(".plot"):
        plot.scroll_into_view_if_needed()
    wait_until(page, "[...document.querySelectorAll('.plot')].every((plot) => plot.dataset.drawn)")
