"""One way in: ``solve(problem, algorithm=...)`` returns a :class:`~coreplan.result.Result`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature

from coreplan import _core
from coreplan.checks import unknown_name
from coreplan.compile import AnyProblem, CompiledProblem, compile_problem
from coreplan.errors import LimitError, ModelError, SolverError
from coreplan.indexed import JointState
from coreplan.limits import Callback, Limits, peak_memory_mb
from coreplan.maintenance.problem import MaintenanceProblem
from coreplan.model import TIMMDP
from coreplan.policy import JointRule, LocalRule, Policy, make_maps
from coreplan.result import Result, Statistics, Status, is_closed


@dataclass(frozen=True)
class Task:
    """What an algorithm is asked to solve."""

    problem: AnyProblem
    stage: int
    state: JointState | None
    limits: Limits

    def compile(self, merge: bool) -> CompiledProblem:
        """Compile the problem within the limits."""
        compiled = compile_problem(
            self.problem, merge=merge, stage=self.stage, state=self.state, limits=self.limits
        )
        self.limits.phase = "search"
        return compiled


def solve(
    problem: AnyProblem,
    *,
    algorithm: str = "dp",
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
        ``dp``: plain dynamic programming over joint states.
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
        Options of the algorithm. ``dp`` has ``merge`` (default True): whether to merge equivalent
        local states; without, a maintenance problem's states keep start and end times, as in the
        literature.

    Returns
    -------
    Result
        Also when a limit strikes or Ctrl-C is pressed: then with valid bounds and a real policy.

    Raises
    ------
    LimitError
        If a limit strikes before there is any policy.
    ModelError
        If the state makes no sense.
    SolverError
        If an option is not known, or the numbers are too large.

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
    {'Alpha': 'wait', 'Beta': 'start b1'}
    """
    if not isinstance(problem, TIMMDP | MaintenanceProblem):
        raise ModelError(
            f"found a {type(problem).__name__}; expected a TIMMDP or a MaintenanceProblem "
            "(coreplan.read_problem reads one from a file)"
        )
    if algorithm not in ALGORITHMS:
        raise SolverError(unknown_name(algorithm, "algorithm", list(ALGORITHMS), "coreplan"))
    run = ALGORITHMS[algorithm]
    known = list(signature(run).parameters)[1:]
    for option in options:
        if option not in known:
            raise SolverError(unknown_name(option, "option", known, f"algorithm {algorithm!r}"))
    limits = Limits(time_limit, memory_limit, callback)
    with limits.catch_interrupts():
        try:
            return run(Task(problem, stage, state, limits), **options)
        except _core.LimitReached as error:
            raise LimitError(*error.args) from None
        except OverflowError as error:
            raise SolverError(f"{error}; scale them down") from None
        except MemoryError:
            raise LimitError("memory_limit", "the machine's memory is exhausted") from None


def _solve_dp(task: Task, merge: bool = True) -> Result:
    """Plain dynamic programming: the paper's baseline."""
    if not isinstance(merge, bool):
        raise SolverError(f"merge is {merge!r}; expected True or False")
    compiled = task.compile(merge)
    found = _core.solve_dp(compiled.model, task.limits.monitor)
    joint = None
    if found.actions is not None:
        joint = JointRule(found.actions, found.values)
    agents = range(len(compiled.indexed.agents))
    policy = Policy(
        task.problem,
        compiled.indexed,
        make_maps(compiled),
        joint,
        LocalRule(tuple(found.fallback(i) for i in agents)),
        history=not merge,
    )
    return make_result(
        task,
        "dp",
        found.lower,
        found.upper,
        found.stop,
        found.message,
        policy,
        found.states_expanded,
        found.actions_evaluated,
    )


def make_result(
    task: Task,
    algorithm: str,
    lower: float,
    upper: float,
    stop: _core.Stop,
    message: str,
    policy: Policy,
    states_expanded: int,
    actions_evaluated: int,
) -> Result:
    """Put together what an algorithm found."""
    status = Status.OPTIMAL if is_closed(lower, upper) else Status(stop.name)
    return Result(
        problem=task.problem.name,
        algorithm=algorithm,
        status=status,
        value=lower,
        lower_bound=lower,
        upper_bound=upper,
        seconds=task.limits.seconds,
        statistics=Statistics(states_expanded, actions_evaluated, peak_memory_mb()),
        message="" if status is Status.OPTIMAL else message,
        policy=policy,
    )


ALGORITHMS: dict[str, Callable[..., Result]] = {"dp": _solve_dp}
"""The algorithms by name; their parameters after the first are their options."""
