"""Settings that all tests share."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

from browsers import browser, count_left_out, skip_without_browser
from cli_runs import large, run, schedule, small

__all__ = ["browser", "large", "run", "schedule", "small"]  # fixtures

# Problems are slow to draw and to judge; how long one takes says nothing of right or wrong.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
# The same examples every time: tests must not fail, or pass, by luck. `make explore` looks for new
# ones, and so does the profile `thorough`.
settings.register_profile("default", max_examples=100, derandomize=True, **_COMMON)
settings.register_profile("ci", max_examples=60, derandomize=True, **_COMMON)
settings.register_profile("thorough", max_examples=2000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what cannot run here."""
    skip_without_browser(items)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests had to be left out."""
    left_out = count_left_out(terminalreporter.stats.get("skipped", []))
    if left_out:
        terminalreporter.write_line(left_out, yellow=True)
