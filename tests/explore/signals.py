"""Campaign: Ctrl-C at random moments, to processes of the command line.

The seed gives the delays. The moment that they hit varies with the machine; what is checked has to
hold for any moment: a documented exit code, no traceback, JSON that is whole, files that are whole
or absent.
"""

from __future__ import annotations

import functools
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import coreplan
from cli_runs import SMALL, valid_result
from coreplan import FormatError, Policy, read_problem
from coreplan.proof.certificate import read_certificate
from explore.campaign import Campaign, Case
from explore.checks import check_ended
from explore.complaint import Complaint, demand
from helpers import dense_team

COMMANDS = [
    "solve {problem} --json --time-limit 20",
    "solve {problem} --json --time-limit 20 --save-policy {policy} --certificate {certificate}",
    "solve {problem} --time-limit 20 --save-policy {policy}",
    "solve {problem} --algorithm dp --json --time-limit 20",
    "compare {problem} --time-limit 5 --json",
    "simulate {problem} --time-limit 5 --runs 20000 --json",
]
LONGEST = 3.0
"""Seconds until the signal, at most."""

ENDS_WITHIN = 90.0
"""Seconds after which a process that was interrupted counts as hanging."""

SIGNALLED = -signal.SIGINT
"""Exit code of a process that the signal ended before Python could take notice of it."""


RUN = "from coreplan_launcher import main; main()"
"""What the command ``coreplan`` does."""

RUN_AND_TELL = """
import os, sys
from coreplan import cli
os.close(int(sys.argv[1]))
cli.main(sys.argv[2:])
"""

SOURCE = Path(coreplan.__file__).parent.parent


def draw(seed: int) -> Case:
    """Draw a command, a problem that takes long or not, and moments for one signal or two."""
    drawn = random.Random(f"signals {seed}")
    delays = [math.exp(drawn.uniform(math.log(0.1), math.log(LONGEST)))]
    if drawn.random() < 0.3:
        delays.append(drawn.uniform(0.0, 1.0))
    return {
        "command": drawn.choice(COMMANDS),
        "from": drawn.choice(["start", "imports", "imports"]),
        "large": drawn.random() < 0.7,
        "delays": delays,
    }


@functools.cache
def _text(large: bool) -> str:
    return json.dumps(dense_team(30)) if large else SMALL


def check(case: Case) -> None:
    """Start the command, press Ctrl-C, look at what is left."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("problem.json" if case["large"] else "problem.yaml")
        path.write_text(_text(case["large"]), encoding="utf-8")
        outputs = Path(folder) / "outputs"
        outputs.mkdir()
        places = {
            "problem": path,
            "policy": outputs / "policy.json",
            "certificate": outputs / "certificate.json.gz",
        }
        arguments = [part.format(**places) for part in case["command"].split()]
        code, out, err = interrupt_after(arguments, case["from"], case["delays"])
        check_interrupted(code, out, err, "--json" in arguments)
        check_files(path, outputs)


def interrupt_after(arguments: list[str], moment: str, delays: list[float]) -> tuple[int, str, str]:
    """Run a command, send SIGINT after each delay; its exit code and what it printed.

    The delays count from the start of the process, or from the end of its imports, which may take
    longer than all of them.
    """
    told, tell = os.pipe()
    script = ["-c", RUN] if moment == "start" else ["-c", RUN_AND_TELL, str(tell)]
    with subprocess.Popen(
        [sys.executable, *script, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        pass_fds=[tell],
    ) as process:
        os.close(tell)
        with os.fdopen(told, "rb") as pipe:
            if moment != "start":
                pipe.read()
        for delay in delays:
            time.sleep(delay)
            process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Complaint("hangs", f"{ENDS_WITHIN} s after the last signal") from None
    return process.returncode, out, err


def check_interrupted(code: int, out: str, err: str, as_json: bool) -> None:
    """The exit code is documented, and what was printed is whole."""
    if "Traceback" in err and str(SOURCE) not in err:
        return  # Python itself was still starting
    check_ended(code, out, err, (0, 3, 130, SIGNALLED))
    if not as_json:
        return
    if code == 0:
        demand(bool(out), "no result", "exit code 0 and nothing was printed")
    if out:
        try:
            printed = json.loads(out)
        except ValueError as error:
            raise Complaint("json", f"{error}: {out[-300:]!r}") from None
        if isinstance(printed, dict) and printed.get("format") == "result/1":
            valid_result(out)


def check_files(problem_file: Path, folder: Path) -> None:
    """Files are whole or absent, and nothing else is left."""
    problem = read_problem(problem_file)
    readers = {
        "policy.json": Policy.load,
        "certificate.json.gz": read_certificate,
    }
    for path in sorted(folder.iterdir()):
        demand(path.name in readers, "left behind", path.name)
        try:
            readers[path.name](path, problem)
        except FormatError as error:
            raise Complaint("half a file", f"{path.name}: {str(error)[-300:]}") from None


def smaller(case: Case) -> Iterator[Case]:
    """One signal instead of two, and the small problem."""
    if len(case["delays"]) > 1:
        yield {**case, "delays": case["delays"][:1]}
    if case["large"]:
        yield {**case, "large": False}


CAMPAIGN = Campaign("signals", draw, check, smaller)
