"""A real browser for tests: the Chromium that is installed, driven by playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from waiting import HANG

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
OPTIONS = (
    "--no-sandbox",  # tests may run as root, and open our own files only
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
NEEDED = "COREPLAN_NEEDS_CHROMIUM"
"""Set in the environment: tests that need a browser fail where there is none."""


def find_chromium() -> str | None:
    """The program, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def why_not() -> str:
    """Why there is no browser to test with; an empty text if there is one."""
    if find_chromium() is None:
        return "no Chromium was found"
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "the package playwright is not installed"
    return ""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A browser without a window; each page of it starts with nothing known."""
    reason = why_not()
    assert not reason, reason
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Playwright gives it an empty folder of its own.
        browser = playwright.chromium.launch(
            executable_path=find_chromium(),
            args=list(OPTIONS),
            headless=True,
            timeout=1000 * HANG,
        )
        yield browser
        browser.close()


class Watched:
    """A page, with all that it did besides showing itself."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.said: list[str] = []
        self.requests: list[str] = []
        page.set_default_timeout(1000 * HANG)
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", lambda dialog: (self.said.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self, path: Path) -> Page:
        """Open a file."""
        self.page.goto(path.as_uri())
        return self.page

    def check(self, path: Path) -> None:
        """It said nothing, and asked for nothing but itself."""
        assert self.said == []
        assert self.requests == [path.as_uri()]


def skip_without_browser(items: list[pytest.Item]) -> None:
    """Leave out the tests that need a browser where there is none, unless they have to run."""
    reason = why_not()
    if not reason or os.environ.get(NEEDED):
        return
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.skip(reason=f"{LEFT_OUT}: {reason}"))


LEFT_OUT = "needs a browser"


def count_left_out(reports: list[pytest.TestReport]) -> str:
    """How many tests were left out for want of a browser, in words; empty if none."""
    reasons = [
        report.longrepr[2]
        for report in reports
        if isinstance(report.longrepr, tuple) and LEFT_OUT in report.longrepr[2]
    ]
    if not reasons:
        return ""
    reason = reasons[0].partition(f"{LEFT_OUT}: ")[2]
    return f"browser tests left out: {len(reasons)} ({reason})"
