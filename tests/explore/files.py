"""Campaign: files with mistakes, through every reader and through the command line.

A reader refuses a file by an error of coreplan, or reads it. A command ends with a documented exit
code and no traceback. Work is counted in calls of Python functions, memory by what Python takes;
both are bounded by the size of the file.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import random
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cli_runs import SMALL
from coreplan import cli
from explore.campaign import Campaign, Case
from explore.checks import check_ended
from explore.complaint import Complaint, demand
from explore.mutations import mutate_bytes, mutate_structure
from explore.readers import READERS, Reader, read_content
from explore.shrinking import shorter

MOST_CALLS = (2_000_000, 3_000)
"""Calls of functions that a file may take: at all, and for each of its bytes."""

MOST_MEMORY = (60_000_000, 3_000)
"""Bytes that a file may take: at all, and for each of its bytes."""

COMMANDS: dict[str, list[str]] = {
    "mpp": ["solve {file} --time-limit 1 --json", "check {file}", "info {file} --json"],
    "ti-mmdp": ["solve {file} --time-limit 1 --json --threads 1", "check {file} --json"],
    "policy": ["evaluate {small} --policy {file} --time-limit 1"],
    "schedule": [
        "evaluate {small} --schedule {file} --time-limit 1",
        "solve {small} --start {file} --time-limit 1 --json",
    ],
    "state": ["solve {small} --stage 3 --state {file} --time-limit 1 --json"],
    "certificate": ["verify {small} {file}", "verify {small} {file} --json"],
    "works": ["import {file} --horizon 12 --start-date 2026-04-06 -o {output}"],
    "calendar": ["check {file}"],
    "bench": ["bench run {file} -o {output} --dry-run"],
}
"""Commands that read a kind of file; {small} is the problem that samples are for."""


def draw(seed: int) -> Case:
    """Draw a reader, one of its sound files, and changes."""
    drawn = random.Random(f"files {seed}")
    reader = READERS[drawn.choice(sorted(READERS))]
    content = drawn.choice(_samples(reader))
    if content[:1] == b"{" and drawn.random() < 0.6:
        document = json.loads(content)
        for _ in range(drawn.choice([1, 1, 2, 4])):
            mutate_structure(document, drawn)
        text = json.dumps(document, ensure_ascii=False)
        content = text.encode("utf-8", errors="replace")
    if content[:1] != b"{" or drawn.random() < 0.3:
        for _ in range(drawn.choice([1, 1, 2, 5])):
            content = mutate_bytes(content, drawn)
    command = drawn.choice([None, *COMMANDS.get(reader.name, [])])
    return {
        "reader": reader.name,
        "suffix": drawn.choice(reader.suffixes),
        "content": base64.b64encode(content).decode(),
        "command": command,
    }


_SAMPLES: dict[str, list[bytes]] = {}


def _samples(reader: Reader) -> list[bytes]:
    if reader.name not in _SAMPLES:
        _SAMPLES[reader.name] = reader.samples()
    return _SAMPLES[reader.name]


def check(case: Case) -> None:
    """Read the file, by the reader or by a command."""
    content = base64.b64decode(case["content"])
    reader = READERS[case["reader"]]
    if case["command"] is None:
        bounded(lambda: read_content(reader, content, case["suffix"]), len(content))
    else:
        bounded(lambda: check_command(case["command"], content, case["suffix"]), len(content))


def check_command(command: str, content: bytes, suffix: str) -> None:
    """Run a command in this process; it has to end as documented."""
    with tempfile.TemporaryDirectory() as folder:
        places = {
            name: Path(folder) / end
            for name, end in (("file", f"case{suffix}"), ("small", "s.yaml"), ("output", "o.yaml"))
        }
        places["file"].write_bytes(content)
        places["small"].write_text(SMALL, encoding="utf-8")
        arguments = [part.format(**places) for part in command.split()]
        out, err = io.StringIO(), io.StringIO()
        code: Any = None
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                cli.main(arguments)
            except SystemExit as ended:
                code = ended.code
    check_ended(code, out.getvalue(), err.getvalue())


def bounded(work: Callable[[], object], size: int) -> None:
    """Do some work, and complain if it takes more calls or memory than a file of a size may."""
    calls, most_calls = 0, MOST_CALLS[0] + MOST_CALLS[1] * size
    most_memory = MOST_MEMORY[0] + MOST_MEMORY[1] * size

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1
        if calls > most_calls:
            sys.setprofile(None)
            raise Complaint("work", f"more than {most_calls:,} calls for {size:,} bytes")

    tracemalloc.start()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    demand(peak <= most_memory, "memory", f"{peak:,} bytes for {size:,} bytes")


def smaller(case: Case) -> Iterator[Case]:
    """The reader instead of the command, then less of the file."""
    if case["command"] is not None:
        yield {**case, "command": None}
    for less in shorter(base64.b64decode(case["content"])):
        yield {**case, "content": base64.b64encode(less).decode()}


CAMPAIGN = Campaign("files", draw, check, smaller)
