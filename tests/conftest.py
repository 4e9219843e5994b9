"""Settings that all tests share."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from browsers import browser, count_left_out, skip_without_browser
from cli_runs import large, run, schedule, small

__all__ = ["browser", "large", "run", "schedule", "small"]  # fixtures

# Problems are slow to draw and to judge; how long one takes says nothing of right or wrong.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
# The same examples every time: tests must not fail, or pass, by luck. `make explore` looks for new
# ones, and so does the profile `thorough`.
settings.register_profile("default", max_examples=25, derandomize=True, **_COMMON)
settings.register_profile("quick", max_examples=5, derandomize=True, **_COMMON)
settings.register_profile("thorough", max_examples=2000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A shell lets what it starts in the background ignore Ctrl-C, and programs that tests start
    # would inherit that: a test of Ctrl-C would wait for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)

SLOW = frozenset(
    f"test_{name}"
    for name in (
        # solve at length, or many problems, whatever the number of examples
        "bench_sets",
        "compare",
        "core",
        "dec_mdp",
        "group_rule",
        "judge",
        "limits",
        "memory_limit",
        "preference",
        "repeats",
        "rounding",
        "search",
        "sensitivity",
        "simulate",
        "verify_search",
        # start many processes
        "bench_runner",
        "cli_bench",
        "cli_plan",
        "cli_solve",
        "extension",
        "interrupts",
        "reading",
        # read, write or draw much
        "bench_figures",
        "benchmarks",
        "cli_bench_figures",
        "docs",
        "document",
        "examples",
        "explore",
        "formats_hostile",
        "quick_json",
        "report",
        "report_browser",
        "language_scripts",
        "works_hostile",
    )
)
"""Files that `make test-quick` leaves out."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what cannot run here, and mark what is slow."""
    skip_without_browser(items)
    for item in items:
        if item.path.stem in SLOW:
            item.add_marker("slow")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests had to be left out."""
    left_out = count_left_out(terminalreporter.stats.get("skipped", []))
    if left_out:
        terminalreporter.write_line(left_out, yellow=True)
