"""Comparison of several algorithms on one problem."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coreplan.errors import LimitError, SolverError
from coreplan.model.indexed import JointState
from coreplan.solving.compile import AnyProblem
from coreplan.solving.limits import Callback
from coreplan.solving.option_fields import SolverOptions
from coreplan.solving.registry import ALGORITHMS, check_algorithm
from coreplan.solving.result import Result, Status
from coreplan.solving.solver import check_problem, solve
from coreplan.support.clock import now
from coreplan.support.interrupts import interrupted_since
from coreplan.support.memory import forget_peak_memory

TOLERANCE = 1e-7
"""Bounds contradict each other if they cross by more than this times max(1, \\|bound\\|)."""


@dataclass(frozen=True)
class ComparedRun:
    """The outcome of one algorithm.

    Attributes
    ----------
    algorithm
        The name of the algorithm.
    result
        Its result; None if it has none.
    reason
        The reason for a missing result: a status like ``time_limit``, ``error`` if the algorithm
        does not support the problem, ``not_run`` if the comparison was interrupted before; empty if
        the algorithm has a result.
    message
        Details on a missing result.
    loss
        For a decentralised result: bounds on the loss of the best decentralised plan against the
        best plan of all; None if the latter has no bounds.
    """

    algorithm: str
    result: Result | None
    reason: str = ""
    message: str = ""
    loss: tuple[float, float] | None = None

    @property
    def is_decentralised(self) -> bool:
        """Whether the result is for plans in which each agent sees only its own state."""
        return self.result is not None and self.result.objective == "decentralised"

    def to_dict(self) -> dict[str, object]:
        """All of it by name."""
        return {
            "algorithm": self.algorithm,
            "result": None if self.result is None else self.result.to_dict(),
            "reason": self.reason or None,
            "message": self.message or None,
            "loss": None if self.loss is None else list(self.loss),
        }


@dataclass(frozen=True)
class Comparison:
    """The outcomes of several algorithms on one problem.

    Attributes
    ----------
    problem
        The problem's name.
    runs
        One run for each algorithm, in the order of the request.
    lower_bound, upper_bound
        Bounds on the value of the best plan, which all runs together prove; None without a proof.
    contradictions
        Pairs of claims that cannot both be true, as text; each is an error in coreplan.
    """

    problem: str
    runs: tuple[ComparedRun, ...]
    lower_bound: float | None
    upper_bound: float | None
    contradictions: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """All of it by name."""
        return {
            "problem": self.problem,
            "runs": [run.to_dict() for run in self.runs],
            "lower_bound": self.lower_bound,
            "upper_bound": self.upper_bound,
            "contradictions": list(self.contradictions),
        }


def compare(
    problem: AnyProblem,
    algorithms: Iterable[str] | None = None,
    *,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    callback: Callback | None = None,
    started: Callable[[str], object] | None = None,
    stage: int = 0,
    state: JointState | None = None,
    options: Mapping[str, Mapping[str, Any] | SolverOptions] | None = None,
) -> Comparison:
    """Solve a problem with several algorithms, one after the other, and compare their claims.

    If an algorithm finds no plan before a limit, or does not support the problem, the comparison
    continues with the others. Ctrl-C stops the running algorithm, keeps what it has found, and ends
    the comparison.

    Parameters
    ----------
    problem
        A TI-MMDP or an MPP.
    algorithms
        Names of algorithms; default: all.
    time_limit, memory_limit
        Limits of each algorithm: seconds and megabytes; see :func:`coreplan.solve`.
    callback
        Called while an algorithm runs; see :func:`coreplan.solve`.
    started
        Called with the name of each algorithm before it runs.
    stage, state
        Where planning starts; by default at the beginning.
    options
        Options of algorithms, by the algorithm's name: a mapping or an object such as
        :class:`~coreplan.CoreOptions`.

    Raises
    ------
    ModelError
        If the state is invalid.
    SolverError
        If an algorithm or option is not known.

    Examples
    --------
    >>> from coreplan import Contractor, Hindrance, MaintenanceProblem, Task
    >>> problem = MaintenanceProblem(
    ...     (Contractor("Alpha", (Task("a1", 2, cost=3, revenue=20),)),
    ...      Contractor("Beta", (Task("b1", 2, cost=1, revenue=15),))),
    ...     horizon=3, network=(Hindrance(("Alpha/a1", "Beta/b1"), cost=7.5),))
    >>> comparison = compare(problem, ["core", "dp"])
    >>> [(run.algorithm, run.result.value) for run in comparison.runs]
    [('core', 19.5), ('dp', 19.5)]
    >>> comparison.contradictions
    ()
    """
    check_problem(problem)
    names = list(dict.fromkeys(ALGORITHMS if algorithms is None else algorithms))
    for name in [*names, *(options or {})]:
        check_algorithm(name)
    if not names:
        raise SolverError("the list of algorithms is empty; name one or more")
    runs: list[ComparedRun] = []
    begin = now()
    for name in names:
        if interrupted_since(begin) or (runs and _interrupted(runs[-1])):
            runs.append(
                ComparedRun(name, None, "not_run", "the comparison was interrupted before this run")
            )
            continue
        if started is not None:
            started(name)
        forget_peak_memory()
        given = (options or {}).get(name, {})
        asked = {"options": given} if isinstance(given, SolverOptions) else given
        try:
            result = solve(
                problem,
                algorithm=name,
                time_limit=time_limit,
                memory_limit=memory_limit,
                callback=callback,
                stage=stage,
                state=state,
                **asked,
            )
        except LimitError as error:
            runs.append(ComparedRun(name, None, error.reason, str(error)))
        except SolverError as error:
            runs.append(ComparedRun(name, None, "error", str(error)))
        else:
            runs.append(ComparedRun(name, result))
    return judge_runs(problem.name, runs)


def _interrupted(run: ComparedRun) -> bool:
    if run.result is None:
        return run.reason in ("interrupted", "not_run")
    return run.result.status is Status.INTERRUPTED


def judge_runs(problem: str, runs: Sequence[ComparedRun]) -> Comparison:
    """Combine bounds, find contradictions, and bound the loss of decentralised plans.

    A decentralised plan is also a plan, so its value is a lower bound on the best plan of all.
    """
    results = [run.result for run in runs if run.result is not None]
    central = [result for result in results if result.objective == "centralised"]
    apart = [result for result in results if result.objective == "decentralised"]
    lower = max((result.lower_bound for result in results), default=None)
    upper = min((result.upper_bound for result in central), default=None)
    return Comparison(
        problem,
        tuple(_with_loss(run, lower, upper) for run in runs),
        lower,
        upper,
        (*_crossing(results, central), *_crossing(apart, apart)),
    )


def _crossing(lower: Iterable[Result], upper: Sequence[Result]) -> Iterable[str]:
    """Describe results whose value exceeds the upper bound of another."""
    for low in lower:
        for high in upper:
            slack = TOLERANCE * max(1.0, abs(low.lower_bound), abs(high.upper_bound))
            if low.lower_bound > high.upper_bound + slack:
                kind = "decentralised plan" if low.objective == "decentralised" else "plan"
                yield (
                    f"{low.algorithm} claims a {kind} worth {low.lower_bound:.12g}, but "
                    f"{high.algorithm} claims that none is worth more than "
                    f"{high.upper_bound:.12g}"
                )


def _with_loss(run: ComparedRun, lower: float | None, upper: float | None) -> ComparedRun:
    if run.result is None or not run.is_decentralised or lower is None or upper is None:
        return run
    loss = (max(0.0, lower - run.result.upper_bound), max(0.0, upper - run.result.lower_bound))
    return ComparedRun(run.algorithm, run.result, run.reason, run.message, loss)
