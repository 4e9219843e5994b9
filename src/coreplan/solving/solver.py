"""The entry point: ``solve(problem, algorithm=...)`` returns a :class:`~coreplan.Result`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Literal, Unpack, cast, overload

from coreplan import _core
from coreplan.errors import (
    OUT_OF_MEMORY,
    CertificateError,
    Diagnostic,
    LimitError,
    ModelError,
    SolverError,
)
from coreplan.model.indexed import JointState
from coreplan.model.problem import PlanningProblem
from coreplan.solving.compile import AnyProblem
from coreplan.solving.limits import Callback, Limits
from coreplan.solving.option_fields import SolverOptions
from coreplan.solving.options import (
    Core2016Keywords,
    CoreKeywords,
    CrgPsKeywords,
    DecMdpKeywords,
    DpKeywords,
    SolveKeywords,
    SpuddKeywords,
)
from coreplan.solving.registry import (
    ALGORITHMS,
    Algorithm,
    AlgorithmName,
    algorithm_for,
    check_algorithm,
)
from coreplan.solving.result import Result, Solution
from coreplan.solving.task import SolverTask
from coreplan.support.checks import found
from coreplan.support.interrupts import finish_soon

DEFAULT_ALGORITHM = "core"


@overload
def solve(
    problem: AnyProblem, *, algorithm: Literal["core"] = "core", **options: Unpack[CoreKeywords]
) -> Solution: ...
@overload
def solve(
    problem: AnyProblem, *, algorithm: Literal["dp"], **options: Unpack[DpKeywords]
) -> Solution: ...
@overload
def solve(
    problem: AnyProblem, *, algorithm: Literal["spudd"], **options: Unpack[SpuddKeywords]
) -> Solution: ...
@overload
def solve(
    problem: AnyProblem, *, algorithm: Literal["crg-ps"], **options: Unpack[CrgPsKeywords]
) -> Solution: ...
@overload
def solve(
    problem: AnyProblem, *, algorithm: Literal["core-2016"], **options: Unpack[Core2016Keywords]
) -> Solution: ...
@overload
def solve(
    problem: AnyProblem, *, algorithm: Literal["dec-mdp"], **options: Unpack[DecMdpKeywords]
) -> Solution: ...
@overload
def solve(
    problem: AnyProblem,
    *,
    options: SolverOptions,
    algorithm: str | None = None,
    **limits: Unpack[SolveKeywords],
) -> Solution: ...
@overload
def solve(problem: AnyProblem, *, algorithm: AlgorithmName, **options: Any) -> Solution: ...
@overload
# Any other name: its options are unknown here. If this overload accepted any option, a type checker
# would also accept a wrong option of one of our algorithms; docs/extending.md has the solution.
def solve(problem: AnyProblem, *, algorithm: str, **limits: Unpack[SolveKeywords]) -> Solution: ...
def solve(
    problem: AnyProblem,
    *,
    algorithm: str | None = None,
    options: SolverOptions | None = None,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    callback: Callback | None = None,
    stage: int = 0,
    state: JointState | None = None,
    **loose: Any,
) -> Solution:
    """Find an optimal policy, or the best one within limits, with proven bounds.

    Options of the algorithm are keywords, ``solve(problem, algorithm="dp", merge=False)``, or one
    object, ``solve(problem, options=DpOptions(merge=False))``; docs/options.md lists them.

    Parameters
    ----------
    problem
        A :class:`~coreplan.TIMMDP`, a :class:`~coreplan.MaintenanceProblem` or a problem of another
        domain.
    algorithm
        ``core`` (default): the engine of coreplan. It makes the problem smaller, splits it into
        teams of agents that never interact, solves small teams exactly, and bounds larger ones from
        both sides while a search over groups of agents closes the gap. ``dp``: plain dynamic
        programming over joint states. ``spudd``: value iteration on algebraic decision diagrams.
        ``crg-ps`` and ``core-2016``: the paper's searches on conditional return graphs, without and
        with branch-and-bound. ``dec-mdp``: another objective, the best policy in which every agent
        sees only its own local state. Or the name of a registered algorithm.
    options
        Options of the algorithm as one object, for instance :class:`~coreplan.CoreOptions`. Its
        class also chooses the algorithm, unless `algorithm` does.
    time_limit
        Seconds; None for no limit.
    memory_limit
        Megabytes that the solver may take in addition to the program itself; None for most of the
        machine's free memory.
    callback
        Called about 20 times a second with a :class:`~coreplan.Progress`; returning ``True`` stops.
    stage, state
        Solve from a later situation: the stage, and the state of every agent at that stage. The
        value counts rewards from there on.
    **loose
        Options of the algorithm, one by one: the fields of :class:`~coreplan.CoreOptions`,
        :class:`~coreplan.DpOptions`, :class:`~coreplan.SpuddOptions`,
        :class:`~coreplan.CrgPsOptions`, :class:`~coreplan.Core2016Options` or
        :class:`~coreplan.DecMdpOptions`.

    Returns
    -------
    Result
        The result has valid bounds and a policy also after a limit or Ctrl-C.

    Raises
    ------
    LimitError
        If a limit is reached before any policy is found.
    CertificateError
        If the certificate cannot be made or written; the error holds the result.
    ModelError
        If the state, or a schedule to start from, is invalid.
    SolverError
        If an option is unknown or invalid, options belong to another algorithm or are given in
        both ways, a plan to start from is for another problem, or the numbers are too large.

    Examples
    --------
    >>> from coreplan import Contractor, Hindrance, MaintenanceProblem, Task
    >>> problem = MaintenanceProblem(
    ...     (Contractor("Alpha", (Task("a1", 2, cost=3, revenue=20),)),
    ...      Contractor("Beta", (Task("b1", 1, cost=1, revenue=15),))),
    ...     horizon=3, network=(Hindrance(("Alpha/a1", "Beta/b1"), cost=7.5),))
    >>> result = solve(problem)
    >>> result.status, result.value
    (<Status.OPTIMAL: 'optimal'>, 28.0)
    >>> result.policy.act(0)
    {'Alpha': 'wait', 'Beta': 'start b1'}
    """
    check_problem(problem)
    chosen, settled = settle_options(algorithm, options, loose)
    limits = Limits(time_limit, memory_limit, callback)
    with limits.catch_interrupts(), errors_of_the_core():
        made = chosen.run(SolverTask(problem, stage, state, limits, settled.tolerance), settled)
    if not isinstance(made, Result):
        raise SolverError(
            f"algorithm {chosen.name!r} returned {found(made)}; expected a Result, which "
            "SolverTask.make_result makes"
        )
    if made.policy is None:
        raise SolverError(f"algorithm {chosen.name!r} returned a result without a policy")
    result = cast(Solution, made)
    path = getattr(settled, "certificate", None)
    if isinstance(path, str | Path):
        try:
            with finish_soon() if limits.interrupted else nullcontext():
                result.save_certificate(path)
        except KeyboardInterrupt:
            stopped = Diagnostic((), "the certificate was not written: interrupted")
            raise CertificateError(str(path), [stopped], result) from None
    return result


def settle_options(
    algorithm: str | None, options: SolverOptions | None, loose: Mapping[str, Any]
) -> tuple[Algorithm, SolverOptions]:
    """Find the algorithm and its options, given as one object or one by one.

    Parameters
    ----------
    algorithm
        Its name; None for the one that takes `options`, or the default.
    options
        Options as one object; None if they are given one by one.
    loose
        Options one by one, by name.

    Raises
    ------
    SolverError
        If an algorithm or option is unknown, an option is invalid, or options are given in both
        ways or for another algorithm.
    """
    if options is None:
        name = DEFAULT_ALGORITHM if algorithm is None else algorithm
        check_algorithm(name, loose)
        chosen = ALGORITHMS[name]
        return chosen, chosen.options(**loose)
    if not isinstance(options, SolverOptions):
        raise SolverError(
            f"options is {found(options)}; expected an object, for instance CoreOptions(threads=2)"
        )
    kind = type(options).__name__
    if loose:
        raise SolverError(
            f"options are given in two ways: as {kind} and as {', '.join(loose)}; put all of them "
            f"into {kind}"
        )
    if algorithm is None:
        return algorithm_for(options), options
    check_algorithm(algorithm)
    chosen = ALGORITHMS[algorithm]
    if type(options) is not chosen.options:
        raise SolverError(
            f"options is a {kind}, but algorithm {algorithm!r} takes {chosen.options.__name__}; "
            "change one of them, or leave one out"
        )
    return chosen, options


def check_problem(problem: object) -> None:
    """Raise a ModelError if an object is not a problem."""
    if not isinstance(problem, PlanningProblem):
        raise ModelError(
            f"found a {type(problem).__name__}; expected a TIMMDP or a MaintenanceProblem "
            "(coreplan.read_problem reads one from a file)"
        )


@contextmanager
def errors_of_the_core() -> Iterator[None]:
    """Turn exceptions of the core into errors of coreplan."""
    try:
        yield
    except _core.LimitReached as error:
        raise LimitError(*error.args) from None
    except OverflowError as error:
        raise SolverError(f"{error}; scale them down") from None
    except MemoryError:
        raise LimitError("memory_limit", OUT_OF_MEMORY) from None
