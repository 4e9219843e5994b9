"""One way in: ``solve(problem, algorithm=...)`` returns a :class:`~coreplan.Result`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

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
from coreplan.solving.registry import ALGORITHMS, check_algorithm
from coreplan.solving.result import Result
from coreplan.solving.task import SolverTask
from coreplan.support.interrupts import finish_soon

DEFAULT_ALGORITHM = "core"


def solve(
    problem: AnyProblem,
    *,
    algorithm: str = DEFAULT_ALGORITHM,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    callback: Callback | None = None,
    stage: int = 0,
    state: JointState | None = None,
    **options: object,
) -> Result:
    """Find an optimal policy, or the best one within limits, with proven bounds.

    Parameters
    ----------
    problem
        A :class:`~coreplan.TIMMDP` or a :class:`~coreplan.MaintenanceProblem`.
    algorithm
        ``core`` (default): our own engine; at present it solves exactly what fits into dense
        tables, and bounds the rest. ``dp``: plain dynamic programming over joint states. ``spudd``:
        value iteration on algebraic decision diagrams. ``crg-ps``
        and ``core-2016``: the paper's searches on conditional return graphs, without and with
        branch-and-bound. ``dec-mdp``: another objective: the best policy of which every agent sees
        its own local state only.
    time_limit
        Seconds; None for no limit.
    memory_limit
        Megabytes that the solver may take beside the program itself; None for most of what the
        machine has left.
    callback
        Called about 20 times a second with a :class:`~coreplan.Progress`; returning ``True`` stops.
    stage, state
        Solve from a later situation: the stage, and where every agent stands then. The value is
        what is earned from there on.
    **options
        Options of the algorithm. All have ``merge`` (default True): whether to merge equivalent
        local states; without, a maintenance problem's states keep start and end times, as in the
        literature. ``core`` has ``start``: a policy for the same problem, stage and state, or a
        schedule ``{contractor: {work: step}}``, to start from; the result is never worse. It also
        has ``certificate``: a file to write a proof of both bounds to, after the result exists, or
        True to get it by :attr:`Result.certificate <coreplan.Result.certificate>`; ``threads``, at
        most 16 or 4 per usable processor; ``work_limit``: stop after so much counted work, of which
        one unit takes about a second on one thread, with the same result on every run;
        ``deterministic`` (default True): whether results are the same for any number of threads;
        and, to switch off other steps of shrinking, ``shape``,
        ``drop``, ``settle`` and ``eliminate``. The searches have ``memo`` (default False, as
        printed): whether to remember solved groups of agents, and ``assignment`` (see
        :func:`coreplan.build_crgs`); ``core-2016`` also ``relative_gap`` and ``absolute_gap``: how
        much it may give away. ``spudd`` has ``encoding`` (``stages`` or ``reference``), ``order``
        (``grouped`` or ``interleaved``) and ``actions`` (``diagram`` or ``enumerate``), see
        docs/spudd.md.

    Returns
    -------
    Result
        Also when a limit strikes or Ctrl-C is pressed: then with valid bounds and a real policy.

    Raises
    ------
    LimitError
        If a limit strikes before there is any policy.
    CertificateError
        If the certificate cannot be made or written; the error holds the result.
    ModelError
        If the state, or a schedule to start from, makes no sense.
    SolverError
        If an option is not known, a plan to start from is for something else, or the numbers are
        too large.

    Examples
    --------
    >>> from coreplan import Contractor, Hindrance, MaintenanceProblem, Task
    >>> problem = MaintenanceProblem(
    ...     (Contractor("Alpha", (Task("a1", 2, cost=3, revenue=20),)),
    ...      Contractor("Beta", (Task("b1", 2, cost=1, revenue=15),))),
    ...     horizon=3, network=(Hindrance(("Alpha/a1", "Beta/b1"), cost=7.5),))
    >>> result = solve(problem)
    >>> result.status, result.value
    (<Status.OPTIMAL: 'optimal'>, 19.5)
    >>> result.policy.act(0)
    {'Alpha': 'start a1', 'Beta': 'wait'}
    """
    check_problem(problem)
    check_algorithm(algorithm, options)
    run = ALGORITHMS[algorithm]
    limits = Limits(time_limit, memory_limit, callback)
    with limits.catch_interrupts(), errors_of_the_core():
        result = run(SolverTask(problem, stage, state, limits), **options)
    path = options.get("certificate")
    if isinstance(path, str | Path):
        try:
            with finish_soon() if limits.interrupted else nullcontext():
                result.save_certificate(path)
        except KeyboardInterrupt:
            stopped = Diagnostic((), "the certificate is not written: interrupted")
            raise CertificateError(str(path), [stopped], result) from None
    return result


def check_problem(problem: object) -> None:
    """Raise a ModelError for what is not a problem."""
    if not isinstance(problem, PlanningProblem):
        raise ModelError(
            f"found a {type(problem).__name__}; expected a TIMMDP or a MaintenanceProblem "
            "(coreplan.read_problem reads one from a file)"
        )


@contextmanager
def errors_of_the_core() -> Iterator[None]:
    """Turn what the core throws into errors of coreplan."""
    try:
        yield
    except _core.LimitReached as error:
        raise LimitError(*error.args) from None
    except OverflowError as error:
        raise SolverError(f"{error}; scale them down") from None
    except MemoryError:
        raise LimitError("memory_limit", OUT_OF_MEMORY) from None
