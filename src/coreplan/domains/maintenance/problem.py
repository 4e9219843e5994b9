"""The class of maintenance planning problems, and the checks of its parts."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from coreplan.domains.maintenance.document import FORMAT, mpp_to_dict
from coreplan.domains.maintenance.misfits import find_misfit
from coreplan.domains.maintenance.money import Money, money_of
from coreplan.domains.maintenance.overlaps import find_overlaps
from coreplan.domains.maintenance.parts import Closure, Contractor, Delay, Hindrance, Task
from coreplan.domains.maintenance.states import ContractorStates, read_state, to_local
from coreplan.domains.maintenance.translate import (
    HINDRANCE,
    REVENUE,
    WORKS,
    change_network,
    index_maintenance,
    to_timmdp,
)
from coreplan.errors import MOST_PROBLEMS, Diagnostic, ModelError, nearest
from coreplan.files.writing import tidy
from coreplan.model.calendar import NO
from coreplan.model.indexed import IndexedProblem, JointState, StageValue
from coreplan.model.problem import (
    FactoredStates,
    Guard,
    PlanningProblem,
    RewardKind,
    Words,
    no_limits,
)
from coreplan.model.timmdp import TIMMDP
from coreplan.support.checks import (
    AGENT_NAMES,
    MOST_STAGES,
    Path,
    check_distinct,
    check_integer,
    check_name,
    check_number,
    found,
    is_integer,
    is_number,
    unknown_name,
)
from coreplan.support.frozen import FrozenMapping, freeze_sequence
from coreplan.support.language import marked
from coreplan.support.late import late

if TYPE_CHECKING:
    from coreplan.policies.policy import Policy
    from coreplan.solving.limits import Limits

WORDS = Words("maintenance problem", marked("contractor"), "step", money=True)
REWARD_KINDS = {
    WORKS: RewardKind(
        verb="cost",
        more=marked("works of {subject} cost {amount} more"),
        less=marked("works of {subject} cost {amount} less"),
    ),
    HINDRANCE: RewardKind(
        verb="costs",
        more=marked("hindrance of {subject} costs {amount} more"),
        less=marked("hindrance of {subject} costs {amount} less"),
    ),
    REVENUE: RewardKind(
        event="completed",
        more=marked("revenue of {subject}: {amount} more"),
        less=marked("revenue of {subject}: {amount} less"),
        chances=marked("completed with a chance of {now} instead of {then}"),
    ),
}


@dataclass(frozen=True)
class MaintenanceProblem(PlanningProblem):
    """A maintenance planning problem (MPP).

    Parameters
    ----------
    contractors
        The contractors with their tasks.
    horizon
        The number of steps.
    network
        The hindrance rules.
    must_complete
        Whether every task has to be done. If so, a contractor may take an action only if it can
        still complete all its tasks afterwards, whatever delays happen.
    name
        The name of the problem.
    closed
        The steps in which no work may start, or none may run. Files of problems do not have them:
        they belong to the calendar, see :func:`coreplan.domains.maintenance.closing.close_steps`.
    details
        More about works, for people: contractor/work → title → text. Reports show it. It does not
        change the problem, and the format ``mpp/1`` does not hold it.

    Examples
    --------
    >>> from coreplan import solve
    >>> problem = MaintenanceProblem(
    ...     contractors=(
    ...         Contractor("Alpha", (Task("a1", duration=2, cost=3, revenue=20),)),
    ...         Contractor("Beta", (Task("b1", duration=2, cost=1, revenue=15),)),
    ...     ),
    ...     horizon=4,
    ...     network=(Hindrance(("Alpha/a1", "Beta/b1"), cost=7.5),),
    ... )
    >>> solve(problem).value
    27.0
    """

    contractors: Sequence[Contractor]
    horizon: int
    network: Sequence[Hindrance] = ()
    must_complete: bool = False
    name: str = "problem"
    closed: tuple[Closure, ...] = ()
    details: Mapping[str, Mapping[str, str]] = field(
        default_factory=FrozenMapping, compare=False, repr=False
    )

    __repr__ = PlanningProblem.__repr__

    def __post_init__(self) -> None:
        details = {work: FrozenMapping(each) for work, each in self.details.items()}
        object.__setattr__(self, "details", FrozenMapping(details))
        contractors = freeze_sequence(self.contractors, ("agents",), "contractors", Contractor)
        object.__setattr__(self, "contractors", contractors)
        network = freeze_sequence(self.network, ("network",), "hindrances", Hindrance)
        object.__setattr__(self, "network", network)
        closed = freeze_sequence(self.closed, ("closed",), "closed steps", Closure)
        object.__setattr__(self, "closed", closed)
        if is_integer(self.horizon):
            object.__setattr__(self, "horizon", int(self.horizon))
        problems = list(
            itertools.islice(
                check_maintenance(
                    self.name,
                    self.horizon,
                    self.contractors,
                    self.network,
                    self.must_complete,
                    self.closed,
                ),
                MOST_PROBLEMS,
            )
        )
        if problems:
            raise ModelError(problems)

    def parts(self) -> dict[str, Any]:
        """All parts by name, to make a problem of a class that adds something."""
        return {each.name: getattr(self, each.name) for each in fields(MaintenanceProblem)}

    def contractor(self, name: str) -> Contractor:
        """Return the contractor with this name."""
        for contractor in self.contractors:
            if contractor.name == name:
                return contractor
        names = [contractor.name for contractor in self.contractors]
        raise ModelError(unknown_name(name, "contractor", names, "the problem"))

    @property
    def agent_names(self) -> tuple[str, ...]:
        """The contractors' names."""
        return tuple(contractor.name for contractor in self.contractors)

    @property
    def words(self) -> Words:
        """The terms of planners: contractor, step, money."""
        return WORDS

    @property
    def reward_kinds(self) -> Mapping[str, RewardKind]:
        """Works and hindrance cost; revenue comes with a completed task."""
        return REWARD_KINDS

    def to_timmdp(self, *, history: bool = False) -> TIMMDP:
        """Translate into a TI-MMDP; with `history`, states keep start and end times."""
        return to_timmdp(self, history=history)

    def index(
        self,
        *,
        history: bool = False,
        stage: int = 0,
        state: JointState | None = None,
        guard: Guard = no_limits,
    ) -> IndexedProblem:
        """Translate into numbers; with `history`, states keep start and end times of all tasks."""
        return index_maintenance(self, history=history, stage=stage, state=state, guard=guard)

    @property
    def file_format(self) -> str:
        """``mpp/1``."""
        return FORMAT

    def to_dict(self) -> dict[str, Any]:
        """Write the problem with the keys of the format ``mpp/1``.

        Raises
        ------
        ModelError
            If steps are closed: the format does not have closed periods.
        """
        if self.closed:
            periods = "period" if len(self.closed) == 1 else "periods"
            raise ModelError(
                f"problem {found(self.name)} has {len(self.closed)} closed {periods}, which "
                f"{FORMAT} files do not have; keep them in the calendar beside the file, and write "
                "the problem without them"
            )
        return dict(tidy(mpp_to_dict(self)))

    def content(self) -> dict[str, Any]:
        """The content of the file and, if steps are closed, which."""
        written = mpp_to_dict(self)
        if self.closed:
            written["closed"] = sorted({(each.first, each.last, each.no) for each in self.closed})
        return dict(tidy(written))

    def read_state(self, agent: str, given: Any) -> Any:
        """Read and check the state of a contractor."""
        contractor = self.contractor(agent)
        state = read_state(contractor, given)
        to_local(contractor, state)
        return state

    def read_plan(
        self,
        plan: Mapping[str, Any],
        *,
        stage: int = 0,
        state: JointState | None = None,
        limits: Limits | None = None,
    ) -> Policy:
        """Turn a schedule into a policy: ``coreplan.domains.maintenance.schedule_policy``."""
        made: Policy = late("MaintenanceProblem.read_plan")(
            self, plan, stage=stage, state=state, limits=limits
        )
        return made

    def state_variables(self, indexed: IndexedProblem, agent: int) -> FactoredStates:
        """One variable per task: to do, the number of steps left, or done."""
        states = indexed.agents[agent].states
        assert isinstance(states, ContractorStates)
        return states.by_task()

    def with_values(self, values: Sequence[Sequence[StageValue]]) -> MaintenanceProblem:
        """Make the same problem with other costs of hindrance."""
        return replace(self, network=change_network(self, values))

    def money(self, indexed: IndexedProblem, value: float, amounts: Sequence[float]) -> Money:
        """Split a value into revenue, cost of works and hindrance."""
        return money_of(self, indexed, value, amounts)

    def remarks(
        self,
        indexed: IndexedProblem,
        stage: int,
        state: Sequence[int],
        choices: Sequence[int],
        usual: Sequence[int] | None,
    ) -> list[str]:
        """Describe overlaps of works that cause hindrance, see :func:`find_overlaps`."""
        return list(find_overlaps(self, indexed, stage, state, choices, usual))


def check_maintenance(
    name: object,
    horizon: object,
    contractors: Sequence[Contractor],
    network: Sequence[Hindrance],
    must_complete: object,
    closed: Sequence[Closure] = (),
) -> Iterable[Diagnostic]:
    """Find all mistakes in the parts of a problem, each with its place in the file format."""
    if not isinstance(name, str):
        yield Diagnostic(("name",), f"found {found(name)}; expected a text")
    if not isinstance(must_complete, bool):
        yield Diagnostic(
            ("must_complete",), f"found {found(must_complete)}; expected true or false"
        )
    yield from check_integer(horizon, ("horizon",), "the number of steps", 1, MOST_STAGES)
    sound_horizon = is_integer(horizon) and 1 <= int(horizon) <= MOST_STAGES  # type: ignore[call-overload]
    stages = int(horizon) if sound_horizon else 0  # type: ignore[call-overload]
    wrong_closures = [
        problem for k, each in enumerate(closed) for problem in _check_closure(each, ("closed", k))
    ]
    yield from wrong_closures
    if not contractors:
        yield Diagnostic(("agents",), "found no contractors; expected one or more")
    clashes = list(check_distinct([c.name for c in contractors], ("agents",), "contractor"))
    yield from clashes
    tasks: dict[str, tuple[int, dict[str, None]]] = {}
    looked_at = itertools.count()
    for i, contractor in enumerate(contractors):
        path: Path = ("agents", i)
        yield from check_name(contractor.name, (*path, "name"), "the contractor")
        yield from _check_slash(contractor.name, (*path, "name"))
        yield from check_distinct([t.name for t in contractor.tasks], (*path, "tasks"), "work")
        sound = sound_horizon and not wrong_closures
        for j, task in enumerate(contractor.tasks):
            problems = list(_check_task(task, (*path, "tasks", j), stages))
            sound = sound and not problems
            yield from problems
        if sound and must_complete is True:
            yield from _check_fits(contractor, stages, path, looked_at, closed)
        # Two contractors may have the same name by mistake: their tasks are taken together, so
        # that only the name is reported.
        if isinstance(contractor.name, str):
            _, known = tasks.setdefault(contractor.name, (i, {}))
            known.update({t.name: None for t in contractor.tasks if isinstance(t.name, str)})
    for k, hindrance in enumerate(network):
        for problem in _check_hindrance(hindrance, ("network", k), tasks, stages):
            # Two contractors with one name: the name that one of them should have had is missing,
            # and reporting references to it would repeat the same mistake.
            if not (clashes and problem.relies_on == AGENT_NAMES):
                yield problem


def _check_slash(name: object, path: Path) -> Iterable[Diagnostic]:
    if isinstance(name, str) and "/" in name:
        yield Diagnostic(
            path,
            f"found {found(name)}; expected a name without '/', which separates "
            "contractor and work in the network",
        )


def _check_cost(cost: object, path: Path, what: str, stages: int) -> Iterable[Diagnostic]:
    if isinstance(cost, tuple):
        if stages and len(cost) != stages:
            yield Diagnostic(
                path,
                f"found a list of {len(cost)} numbers; expected one for each of the {stages} "
                "steps, or a single number",
                relies_on=("horizon",),
            )
        for t, each in enumerate(cost):
            yield from check_number(each, (*path, t), what)
    elif not is_number(cost):
        yield Diagnostic(
            path,
            f"found {found(cost)}; expected {what}, a finite number or a list with "
            "one number for each step",
        )


def _check_task(task: Task, path: Path, stages: int) -> Iterable[Diagnostic]:
    yield from check_name(task.name, (*path, "name"), "the work")
    yield from _check_slash(task.name, (*path, "name"))
    yield from check_integer(task.duration, (*path, "duration"), "the duration in steps", 1)
    yield from _check_cost(task.cost, (*path, "cost"), "the cost per step", stages)
    yield from check_number(task.revenue, (*path, "revenue"), "the revenue")
    if task.delay is not None and not isinstance(task.delay, Delay):
        yield Diagnostic((*path, "delay"), f"found {found(task.delay)}; expected a Delay")
    elif task.delay is not None:
        here = (*path, "delay")
        chance = task.delay.probability
        if not is_number(chance) or not 0 <= chance <= 1:
            yield Diagnostic(
                (*here, "probability"),
                f"found {found(chance)}; expected a probability, a number from 0 to 1",
            )
        yield from check_integer(task.delay.duration, (*here, "duration"), "the delay in steps", 1)
    if task.window is not None:
        here = (*path, "window")
        window = task.window
        if not isinstance(window, tuple) or len(window) != 2:
            given = list(window) if isinstance(window, tuple) else window
            yield Diagnostic(here, f"found {found(given)}; expected [first step, last step]")
            return
        ends = [list(check_integer(end, (*here, k), "a step", 0)) for k, end in enumerate(window)]
        yield from itertools.chain(*ends)
        if not any(ends) and window[0] > window[1]:
            yield Diagnostic(
                here, f"the first step {window[0]} is after the last step {window[1]}; swap them"
            )


def _check_fits(
    contractor: Contractor,
    stages: int,
    path: Path,
    looked_at: Iterator[int],
    closed: Sequence[Closure],
) -> Iterable[Diagnostic]:
    misfit = find_misfit(contractor, stages, closed, looked_at)
    if misfit is not None:
        yield Diagnostic((*path, "tasks", misfit.tasks[0]), misfit.in_words(f"step {stages - 1}"))


def _check_closure(closure: Closure, path: Path) -> Iterable[Diagnostic]:
    ends = [
        list(check_integer(end, (*path, key), "a step", 0))
        for key, end in (("first", closure.first), ("last", closure.last))
    ]
    yield from itertools.chain(*ends)
    if not any(ends) and closure.first > closure.last:
        yield Diagnostic(
            path, f"the first step {closure.first} is after the last step {closure.last}; swap them"
        )
    if closure.no not in NO:
        hint = nearest(closure.no, NO) if isinstance(closure.no, str) else ""
        yield Diagnostic(
            (*path, "no"), f"found {found(closure.no)}; expected 'work' or 'start'{hint}"
        )
    if not isinstance(closure.name, str):
        yield Diagnostic((*path, "name"), f"found {found(closure.name)}; expected a text")


def _check_hindrance(
    hindrance: Hindrance,
    path: Path,
    tasks: Mapping[str, tuple[int, Mapping[str, None]]],
    stages: int,
) -> Iterable[Diagnostic]:
    if len(hindrance.tasks) < 2:
        count = "one work" if hindrance.tasks else "no works"
        yield Diagnostic(
            (*path, "tasks"),
            f"found {count}; expected two or more, of different contractors",
        )
    seen: set[str] = set()
    for k, reference in enumerate(hindrance.tasks):
        here = (*path, "tasks", k)
        agent, slash, task = (
            reference.partition("/") if isinstance(reference, str) else ("", "", "")
        )
        if not slash:
            yield Diagnostic(
                here,
                f"found {found(reference)}; expected 'contractor/work', for instance 'Alpha/a1'",
            )
        elif agent not in tasks:
            if not any("/" in name and reference.startswith(f"{name}/") for name in tasks):
                yield Diagnostic(
                    here,
                    unknown_name(agent, "contractor", list(tasks), "the problem"),
                    relies_on=AGENT_NAMES,
                )
        elif task not in tasks[agent][1]:
            position, known = tasks[agent]
            yield Diagnostic(
                here,
                unknown_name(task, "work", list(known), f"contractor {found(agent)}"),
                relies_on=("agents", position, "tasks", None, "name"),
            )
        elif agent in seen:
            yield Diagnostic(
                here,
                f"contractor {found(agent)} has two works in this entry, but does one work at a "
                "time; name works of different contractors",
            )
        seen.add(agent)
    yield from _check_cost(hindrance.cost, (*path, "cost"), "the hindrance per step", stages)
