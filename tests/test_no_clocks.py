"""No test passes or fails by how fast the machine is, or how busy."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PYTHON = re.compile(
    r"\btime\.(?:time|perf_counter|process_time|thread_time|monotonic|sleep|clock_gettime)(?:_ns)?\b"
    r"|\bfrom time import|\bdatetime\.now\(|\bthreading\.Timer\("
)
CPP = re.compile(r"std::chrono|chrono_literals|sleep_for|sleep_until|wait_for\(|wait_until\(")

ALLOWED: dict[str, tuple[int, str]] = {
    "tests/waiting.py": (3, "waits for what other processes do; gives up what hangs for minutes"),
    "tests/test_interrupts.py": (1, "a script that runs until it is interrupted"),
    "tests/explore/run.py": (2, "make explore runs for as long as it is told to"),
    "tests/explore/shrinking.py": (2, "make explore does not shrink for ever"),
    "tests/explore/signals.py": (1, "make explore presses Ctrl-C at random moments"),
    "cpp/tests/main.cpp": (3, "says which tests are slow; none fails for it"),
}
"""How many times a file may name a clock, and why."""


def uses(folder: str, pattern: str, clock: re.Pattern[str]) -> Counter[str]:
    """How many times each file names a clock, also in scripts inside it."""
    found: Counter[str] = Counter()
    for path in sorted((ROOT / folder).rglob(pattern)):
        if path != Path(__file__):
            found[path.relative_to(ROOT).as_posix()] = len(
                clock.findall(path.read_text(encoding="utf-8"))
            )
    return +found


def test_tests_name_no_clock() -> None:
    """Limits are tested by counted work, or by a clock that the test moves (clocks.py).

    Where a test has to wait for another process, it waits for what that one says or does
    (waiting.py), however long it takes. How fast something is, `benchmarks/` measures.
    """
    found = uses("tests", "*.py", PYTHON) + uses("cpp/tests", "*.[ch]pp", CPP)
    assert found == {name: count for name, (count, _) in ALLOWED.items()}


@pytest.mark.parametrize(
    ("clock", "text"),
    [
        (PYTHON, "start = time.perf_counter()"),
        (PYTHON, "time.sleep(1)"),
        (PYTHON, "now = time.monotonic_ns()"),
        (PYTHON, "from time import sleep"),
        (PYTHON, 'script = """\nimport time; time.time()\n"""'),
        (CPP, "std::this_thread::sleep_for(2ms)"),
        (CPP, "const auto start = std::chrono::steady_clock::now();"),
    ],
)
def test_clocks_are_noticed(clock: re.Pattern[str], text: str) -> None:
    """The check can fail."""
    assert clock.search(text)


TIGHT = re.compile(r"\btimeout=([0-9.]+)|\.(?:wait|join|communicate)\(([0-9.]+)\)")


def test_what_hangs_is_given_up_late() -> None:
    """A time after which a test gives up is minutes long (waiting.HANG), so load is no reason."""
    for path in sorted((ROOT / "tests").glob("*.py")):
        for match in TIGHT.finditer(path.read_text(encoding="utf-8")):
            assert float(match[1] or match[2]) >= 300, f"{path.name}: {match[0]}"
