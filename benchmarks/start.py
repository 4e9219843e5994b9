"""The time to import coreplan, compared with numpy and Python itself.

Run by hand: .venv/bin/python benchmarks/start.py [--runs 15]

Every import runs in a fresh process, the kinds in turns: a busy machine then slows all of them. A
first run, which does not count, writes the bytecode. The table has, per kind, the least and the
median processor time of a process, and the least time without that of Python itself.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

KINDS = {
    "Python itself": "",
    "import numpy": "import numpy",
    "import coreplan": "import coreplan",
    "… import solve": "from coreplan import solve",
    "all layers": "import coreplan.all_layers",
    "import coreplan.cli": "import coreplan.cli",
}


def processor_seconds(statement: str, bytecode: str) -> float:
    """Processor time of a fresh process that executes a statement."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = subprocess.Popen([sys.executable, "-c", statement], env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{statement!r} failed")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=15, help="processes per kind")
    runs = parser.parse_args().runs
    times: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as bytecode:
        for number in range(runs + 1):
            for kind, statement in KINDS.items():
                seconds = processor_seconds(statement, bytecode)
                if number:
                    times[kind].append(seconds)
    bare = min(times["Python itself"])
    print(f"{'':22}{'least':>9}{'median':>9}{'beyond Python':>15}")
    for kind, seconds in times.items():
        least, median = min(seconds), statistics.median(seconds)
        print(f"{kind:22}{least:8.3f}s{median:8.3f}s{least - bare:14.3f}s")


if __name__ == "__main__":
    main()
