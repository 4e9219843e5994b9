"""A second opinion: the model checker Storm computes the value of a problem.

This needs the extra ``storm``. Storm runs in its own process, which a time limit or Ctrl-C can end
at any time.
"""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coreplan.errors import LimitError, SolverError
from coreplan.interop.prism import to_prism
from coreplan.model.indexed import JointState
from coreplan.solving.compile import AnyProblem
from coreplan.solving.limits import Callback, Limits
from coreplan.solving.result import Result, Status
from coreplan.solving.solver import DEFAULT_ALGORITHM, solve
from coreplan.support.checks import unknown_name

ENGINES = ("sparse", "dd", "hybrid")
"""Storm's engines: explicit states, decision diagrams, or both."""

TOLERANCE = 1e-6
"""Values agree if they differ by at most this times max(1, \\|value\\|)."""

_ROUNDING = 1e-12
"""The part of the added constants that rounding may lose."""


@dataclass(frozen=True)
class StormAnswer:
    """The answer of Storm.

    Attributes
    ----------
    value
        The optimal value of the problem.
    seconds
        Storm's own time: reading, building the model and computing the value.
    build_seconds
        The part of it until the model was built.
    engine
        The engine of Storm.
    states
        The number of states of Storm's model, including those between two choices.
    shift
        The sum of the constants added to the rewards; `value` does not include it.
    """

    value: float
    seconds: float
    build_seconds: float
    engine: str
    states: int
    shift: float = 0.0

    def to_dict(self) -> dict[str, object]:
        """All of it by name."""
        return {
            "engine": self.engine,
            "value": self.value,
            "seconds": self.seconds,
            "build_seconds": self.build_seconds,
            "states": self.states,
            "shift": self.shift,
        }


@dataclass(frozen=True)
class CrossCheck:
    """A result of coreplan beside Storm's answer.

    Attributes
    ----------
    result
        The result of coreplan.
    storm
        The answer of Storm.
    tolerance
        The largest difference that counts as agreement.
    agrees
        Whether Storm's value equals coreplan's or, without a proof, lies between its bounds.
    """

    result: Result
    storm: StormAnswer
    tolerance: float
    agrees: bool

    def to_dict(self) -> dict[str, object]:
        """All of it by name."""
        return {
            "agrees": self.agrees,
            "tolerance": self.tolerance,
            "storm": self.storm.to_dict(),
            "result": self.result.to_dict(),
        }

    def __str__(self) -> str:
        theirs = f"Storm ({self.storm.engine}): {self.storm.value:.10g}"
        if self.result.status is Status.OPTIMAL:
            ours = f"coreplan ({self.result.algorithm}): {self.result.value:.10g}, proven optimal"
            verdict = "they agree" if self.agrees else "THEY DISAGREE"
        else:
            ours = (
                f"coreplan ({self.result.algorithm}): {self.result.lower_bound:.10g} to "
                f"{self.result.upper_bound:.10g}, not proven optimal"
            )
            verdict = (
                "Storm's value is between coreplan's bounds"
                if self.agrees
                else "THEY DISAGREE: Storm's value is outside coreplan's bounds"
            )
        return f"{ours}\n{theirs}\n{verdict} (tolerance {self.tolerance:.3g})"


def check_storm(engine: str = "sparse") -> None:
    """Raise a SolverError if Storm is not installed or does not have the engine."""
    if engine not in ENGINES:
        raise SolverError(unknown_name(engine, "engine", ENGINES, "Storm"))
    if importlib.util.find_spec("stormpy") is None:
        raise SolverError(
            "Storm is not installed; install the extra `storm`: pip install 'coreplan[storm]'"
        )


def storm_value(
    problem: AnyProblem,
    *,
    engine: str = "sparse",
    time_limit: float | None = None,
    merge: bool = True,
    stage: int = 0,
    state: JointState | None = None,
) -> StormAnswer:
    """Let Storm compute the optimal value of a problem.

    Parameters
    ----------
    problem
        A TI-MMDP or an MPP.
    engine
        ``sparse`` (default), ``dd`` or ``hybrid``. The last two get rewards that are shifted to be
        non-negative, because they compute wrong maxima below 0.
    time_limit
        The time limit of Storm's process in seconds.
    merge
        Whether to merge equivalent local states first.
    stage, state
        Where planning starts; by default at the beginning.

    Raises
    ------
    LimitError
        If the time limit is reached.
    SolverError
        If stormpy is not installed, or Storm fails.
    """
    check_storm(engine)
    limits = Limits(time_limit)
    model = to_prism(
        problem, merge=merge, shift=engine != "sparse", stage=stage, state=state, limits=limits
    )
    with tempfile.TemporaryDirectory(prefix="coreplan-storm-") as folder:
        file = Path(folder) / "model.prism"
        file.write_text(model.text, encoding="utf-8")
        found = _run_worker(file, model.query, engine, limits)
    return StormAnswer(
        value=found["value"] - model.shift,
        seconds=found["seconds"],
        build_seconds=found["build_seconds"],
        engine=engine,
        states=found["states"],
        shift=model.shift,
    )


def _run_worker(file: Path, query: str, engine: str, limits: Limits) -> dict[str, Any]:
    """Run Storm in its own process; the time limit or Ctrl-C ends it."""
    answer = file.with_name("answer.json")
    worker = Path(__file__).with_name("storm_worker.py")
    process = subprocess.Popen(
        # -P: keeps the modules of this folder out of Storm's process.
        [sys.executable, "-P", str(worker), str(file), query, engine, str(answer)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C reaches only this process, which then ends Storm
    )
    try:
        left = limits.seconds_left
        process.wait(timeout=None if math.isinf(left) else max(0.0, left))
    except subprocess.TimeoutExpired:
        raise LimitError(
            "time_limit", "the time limit was reached before Storm found a value"
        ) from None
    finally:
        process.kill()
        process.wait()
    if not answer.exists():
        raise SolverError(
            f"Storm stopped without an answer (exit code {process.returncode}); the problem may "
            "be too large for it"
        )
    found: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    if "error" in found:
        raise SolverError(f"Storm failed: {found['error']}")
    if not math.isfinite(found["value"]):
        raise SolverError(
            f"Storm's value is {found['value']}, not a finite number; the rewards may be too large"
        )
    return found


def storm_check(
    problem: AnyProblem,
    *,
    engine: str = "sparse",
    algorithm: str = DEFAULT_ALGORITHM,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    callback: Callback | None = None,
) -> CrossCheck:
    """Solve a problem, let Storm compute its value as well, and compare.

    Parameters
    ----------
    problem
        A TI-MMDP or an MPP.
    engine
        The engine of Storm; see :func:`storm_value`.
    algorithm
        The algorithm of coreplan.
    time_limit
        Seconds for coreplan, and the same for Storm. If coreplan does not prove an optimum in time,
        Storm's value must lie between its bounds.
    memory_limit
        The memory limit of coreplan in megabytes. Storm's memory is not limited.
    callback
        Called while coreplan solves; see :func:`coreplan.solve`.

    Raises
    ------
    LimitError
        If a limit is reached before both values can be compared.
    SolverError
        If Storm is not installed or fails, or if the algorithm's value is not the optimum of
        agents that see everything.
    """
    check_storm(engine)  # before a long run
    result = solve(
        problem,
        algorithm=algorithm,
        time_limit=time_limit,
        memory_limit=memory_limit,
        callback=callback,
    )
    if result.objective != "centralised":
        raise SolverError(
            f"algorithm {algorithm!r} cannot be compared with Storm: it finds the best "
            "decentralised plan, Storm the best of all plans; choose another algorithm"
        )
    answer = storm_value(problem, engine=engine, time_limit=time_limit)
    tolerance = (
        TOLERANCE * max(1.0, abs(answer.value), abs(result.value)) + _ROUNDING * answer.shift
    )
    agrees = result.lower_bound - tolerance <= answer.value <= result.upper_bound + tolerance
    return CrossCheck(result, answer, tolerance, agrees)
