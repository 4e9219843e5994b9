"""Schedules: plans with one planned start for each work.

A schedule becomes a policy in which every contractor depends on its own state only. It starts a
work in its planned step or, if its earlier works took longer, as soon as possible in the planned
order.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coreplan import _core
from coreplan.domains.maintenance.closures import closure_in_words, closures_against
from coreplan.domains.maintenance.feasibility import TooManySetsError
from coreplan.domains.maintenance.parts import Closure, Contractor, Task
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.states import (
    CONTINUE,
    IDLE,
    START,
    WAIT,
    ContractorState,
    ContractorStates,
    LocalState,
    read_state,
    to_local,
)
from coreplan.domains.maintenance.translate import Dynamics
from coreplan.errors import MOST_PROBLEMS, Diagnostic, ModelError
from coreplan.model.calendar import Calendar
from coreplan.model.indexed import IndexedAgent, JointState, by_agent
from coreplan.model.problem import index_problem
from coreplan.policies.policy import Policy
from coreplan.policies.rules import LocalMap, LocalRule
from coreplan.solving.compile import unroll_problem
from coreplan.solving.limits import Limits
from coreplan.support.checks import check_integer, found, is_integer, unknown_name
from coreplan.support.language import in_english
from coreplan.support.late import provides
from coreplan.view.words import when, when_range, when_starts


class Spans(NamedTuple):
    """Words for consecutive steps: their numbers or, with a calendar, their dates."""

    calendar: Calendar | None

    @in_english
    def of_work(self, first: int, last: int) -> str:
        """Steps of work, from the first day of the first to the last day of the last one."""
        return when_range(first, last, self.calendar)

    @in_english
    def at(self, step: int) -> str:
        """Where something starts: in a step, or on its first day."""
        return f"{'in' if self.calendar is None else 'on'} {when(step, self.calendar)}"

    @in_english
    def of_starts(self, first: int, last: int) -> str:
        """Steps in which something may start; dates are first days."""
        return when_starts(first, last, self.calendar)


MOST_RANGES = 4
"""The most ranges of possible steps that a message names."""

Schedule = Mapping[str, Mapping[str, int]]
"""The planned starts: contractor → work → step."""


@provides("MaintenanceProblem.read_plan")
def schedule_policy(
    problem: MaintenanceProblem,
    schedule: Schedule,
    *,
    stage: int = 0,
    state: JointState | None = None,
    limits: Limits | None = None,
) -> Policy:
    """Turn a schedule into a policy: each contractor follows its planned starts.

    An idle contractor starts the first work, in the order of planned starts, whose step has come
    and that it may start now; otherwise it waits. It never starts a work that is not in the
    schedule, with one exception: if ``must_complete`` forbids waiting any longer, it starts the
    first work that may start, first the works of the schedule in their order, then the others in
    the problem's order.

    Parameters
    ----------
    problem
        The problem.
    schedule
        The planned step of each work, by contractor and work.
    stage, state
        The stage and the joint state to start from; by default the beginning. The schedule may
        contain works that are done or under way; works whose step has passed are late.
    limits
        Limits of time and memory; by default the memory of the machine.

    Raises
    ------
    ModelError
        If the schedule names an unknown contractor or work, or if a planned start is impossible
        even without delays. The message names the contractor, the work, the step and the possible
        steps.

    Examples
    --------
    >>> from coreplan import Contractor, Hindrance, MaintenanceProblem, Task
    >>> problem = MaintenanceProblem(
    ...     (Contractor("Alpha", (Task("a1", 2, cost=3, revenue=20),)),
    ...      Contractor("Beta", (Task("b1", 2, cost=1, revenue=15),))),
    ...     horizon=4, network=(Hindrance(("Alpha/a1", "Beta/b1"), cost=7.5),))
    >>> schedule_policy(problem, {"Alpha": {"a1": 0}, "Beta": {"b1": 1}}).evaluate()
    19.5
    """
    if not isinstance(problem, MaintenanceProblem):
        raise ModelError(
            f"a schedule needs a maintenance problem (mpp/1); found a {type(problem).__name__}"
        )
    limits = limits or Limits()
    indexed = index_problem(problem, stage=stage, state=state, guard=limits.guard)
    refuse_schedule(problem, schedule, stage, state)
    graphs = unroll_problem(indexed, limits)
    maps = []
    rules = []
    for i, (contractor, agent) in enumerate(zip(problem.contractors, indexed.agents, strict=True)):
        made = map_nodes(graphs, i, agent)
        maps.append(made)
        rules.append(_local_rule(_Plan(contractor, schedule), agent, made, stage))
    return Policy(problem, indexed, maps, (), LocalRule(tuple(rules)), history=False)


def refuse_schedule(
    problem: MaintenanceProblem,
    schedule: Schedule,
    stage: int = 0,
    state: JointState | None = None,
    calendar: Calendar | None = None,
) -> None:
    """Raise a ModelError if a schedule has mistakes, with all of them."""
    problems = check_schedule(problem, schedule, stage, state, calendar)
    some = list(itertools.islice(problems, MOST_PROBLEMS))
    if some:
        raise ModelError(some)


class _Plan:
    """The planned starts of one contractor, and the action that follows from them."""

    def __init__(self, contractor: Contractor, schedule: Schedule) -> None:
        planned = schedule.get(contractor.name, {})
        self.steps = {
            k: int(planned[task.name])
            for k, task in enumerate(contractor.tasks)
            if task.name in planned
        }
        self.order = sorted(self.steps, key=lambda k: (self.steps[k], k))
        self._any = [*self.order, *(k for k in range(len(contractor.tasks)) if k not in self.steps)]

    def pick(self, stage: int, available: Collection[int]) -> int | None:
        """Choose an available action by its number; None if no action is available."""
        if CONTINUE in available:
            return CONTINUE
        for k in self.order:
            if self.steps[k] > stage:
                break
            if START + k in available:
                return START + k
        if WAIT in available:
            return WAIT
        return next((START + k for k in self._any if START + k in available), None)


# -- the rule --------------------------------------------------------------------------------------


def map_nodes(graphs: _core.LocalGraphs, i: int, agent: IndexedAgent) -> LocalMap:
    """Make a map in which every node is a class: a schedule may treat equal states differently."""
    begin = graphs.layer_begin(i)
    sizes = np.diff(begin)
    nodes = np.arange(int(begin[-1]), dtype=np.uint32)
    action_of_choice = np.array(agent.choice_action or [0], dtype=np.uint32)
    return LocalMap(
        begin,
        graphs.node_state(i),
        (nodes - np.repeat(begin[:-1], sizes)).astype(np.uint32),
        sizes.astype(np.uint32),
        graphs.choice_begin(i),
        action_of_choice[graphs.choice_base(i)],
    )


def _local_rule(
    plan: _Plan, agent: IndexedAgent, made: LocalMap, first_stage: int
) -> NDArray[np.uint32]:
    """The position of the planned action for each node."""
    assert isinstance(agent.states, ContractorStates)
    idle = [
        isinstance(each, LocalState) and each.current == IDLE and each.todo != 0
        for each in agent.states.states
    ]
    rule = np.zeros(len(made.node_state), np.uint32)  # other nodes have a single action
    layer_of = np.repeat(np.arange(len(made.layer_begin) - 1), np.diff(made.layer_begin))
    nodes = np.flatnonzero(np.array(idle)[made.node_state])
    nodes = nodes[layer_of[nodes] < len(made.layer_begin) - 2]
    begin = made.action_begin.tolist()
    for node, layer in zip(nodes.tolist(), layer_of[nodes].tolist(), strict=True):
        available = made.node_action[begin[node] : begin[node + 1]].tolist()
        picked = plan.pick(first_stage + layer, available)
        assert picked is not None  # otherwise the problem could not be unrolled
        rule[node] = available.index(picked)
    return rule


# -- mistakes of a schedule ------------------------------------------------------------------------


def check_schedule(
    problem: MaintenanceProblem,
    schedule: object,
    stage: int = 0,
    state: JointState | None = None,
    calendar: Calendar | None = None,
) -> Iterable[Diagnostic]:
    """Find all mistakes of a schedule, each with its place in the mapping.

    With a calendar, the messages have dates instead of steps.
    """
    spans = Spans(calendar)
    if not isinstance(schedule, Mapping):
        yield Diagnostic(
            (), f"found {found(schedule)}; expected a schedule, {{contractor: {{work: step}}}}"
        )
        return
    names = [contractor.name for contractor in problem.contractors]
    for name in schedule:
        if name not in names:
            message = unknown_name(name, "contractor", names, "the problem")
            yield Diagnostic((str(name),), message, at_key=True)
    given = [None] * len(names) if state is None else by_agent(state, names, "state")
    for contractor, start in zip(problem.contractors, given, strict=True):
        if contractor.name not in schedule:
            continue
        dynamics = Dynamics(
            contractor, problem.horizon, problem.must_complete, closed=problem.closed
        )
        with suppress(TooManySetsError):  # indexing the problem reports it
            problems = list(_check_steps(contractor, schedule[contractor.name], dynamics, spans))
            yield from problems
            if not problems:
                stands = ContractorState() if start is None else read_state(contractor, start)
                local = to_local(contractor, stands)
                dynamics.force(stands, stage)
                plan = _Plan(contractor, schedule)
                yield from _check_starts(contractor, dynamics, plan, stage, local, spans)


def _check_steps(
    contractor: Contractor, planned: object, dynamics: Dynamics, spans: Spans
) -> Iterable[Diagnostic]:
    """Check that the works exist, and that their steps are within the plan and their windows."""
    path = (contractor.name,)
    whose = f"contractor {found(contractor.name)}"
    if not isinstance(planned, Mapping):
        yield Diagnostic(
            path, f"found {found(planned)}; expected the planned starts of {whose}, {{work: step}}"
        )
        return
    last_step = dynamics.horizon - 1
    numbers = {task.name: k for k, task in enumerate(contractor.tasks)}
    for name, step in planned.items():
        here = (*path, str(name))
        if name not in numbers:
            yield Diagnostic(here, unknown_name(name, "work", list(numbers), whose), at_key=True)
            continue
        if not is_integer(step):
            what = f"the step in which {whose} starts work {found(name)}"
            yield from check_integer(step, here, what, 0, last_step)
            continue
        task = contractor.tasks[numbers[name]]
        first, last = task.window or (0, last_step)
        if not 0 <= step <= last_step:
            reason = f"the plan covers {spans.of_work(0, last_step)}"
        elif not first <= step <= last:
            reason = f"its window is {spans.of_starts(first, last)}"
        elif against := closures_against(task, step, dynamics.closed):
            reason = _closed(against[0], task, step)
        else:
            continue
        possible = _possible(dynamics, 1 << numbers[name], numbers[name], 0, spans)
        yield _impossible(contractor, task, int(step), reason, possible, spans)


class _Start(NamedTuple):
    """A start of the course without delays."""

    task: int
    step: int
    idle_from: int
    """The first step in which the contractor was idle before."""
    todo: int
    """The tasks that it had not started by then."""
    end: int
    """The first step after the work."""


def _undelayed(
    contractor: Contractor, dynamics: Dynamics, plan: _Plan, stage: int, local: LocalState
) -> tuple[list[_Start], _Start]:
    """The starts without delays, and a last entry for the end of the plan."""
    starts: list[_Start] = []
    todo, idle_from = local.todo, stage + local.remaining
    step = idle_from
    while step < dynamics.horizon:
        choices = list(dynamics.choices(LocalState(todo, IDLE, 0)))
        picked: int | None = WAIT
        while picked == WAIT and step < dynamics.horizon:
            available = [each.action for each in choices if each.first <= step <= each.last]
            picked = plan.pick(step, available)
            step += picked == WAIT
        if picked is None or picked == WAIT:
            break
        task = picked - START
        end = step + min(steps for _, steps in contractor.tasks[task].durations)
        starts.append(_Start(task, step, idle_from, todo, end))
        todo &= ~(1 << task)
        step = idle_from = end
    return starts, _Start(IDLE, dynamics.horizon, idle_from, todo, dynamics.horizon)


def _check_starts(
    contractor: Contractor,
    dynamics: Dynamics,
    plan: _Plan,
    stage: int,
    local: LocalState,
    spans: Spans,
) -> Iterable[Diagnostic]:
    """Report the first work that does not start as planned if no more delays happen.

    A work that is late because of earlier delays, or because of another late work, is not a mistake
    of the schedule.
    """
    starts, end = _undelayed(contractor, dynamics, plan, stage, local)
    begun = {each.task: each for each in starts}
    late = False
    busy = dynamics.forced_until(local) or stage + local.remaining
    for k in plan.order:
        step = plan.steps[k]
        if not local.todo >> k & 1 or k == dynamics.forced_task:
            continue  # done, under way, or started now
        if k in begun and begun[k].step == step:
            late = False
        elif late or step < busy:
            late = True
        else:
            reason, idle_from, todo = _why_not(contractor, plan, [*starts, end], k, spans)
            possible = _possible(dynamics, todo, k, idle_from, spans)
            yield _impossible(contractor, contractor.tasks[k], step, reason, possible, spans)
            return


def _why_not(
    contractor: Contractor, plan: _Plan, starts: list[_Start], task: int, spans: Spans
) -> tuple[str, int, int]:
    """Why a work does not start as planned, with the idle step and the tasks left then."""
    step = plan.steps[task]
    for each in starts:
        if each.task == task and each.step < step:
            reason = (
                f"the work has to start by {spans.of_starts(each.step, each.step)}, or delays "
                "could keep the contractor from finishing all its works (must_complete)"
            )
            return reason, each.idle_from, each.todo
        if each.step <= step < each.end:
            other = contractor.tasks[each.task]
            busy = spans.of_work(each.step, each.end - 1)
            reason = f"it works on {found(other.name)} in {busy}, even without delays"
            if each.task not in plan.steps:
                reason += (
                    f"; {found(other.name)} is not in the schedule, but has to be completed "
                    "(must_complete): add it"
                )
            return reason, each.end, each.todo & ~(1 << each.task)
    idle = next(each for each in starts if each.step > step)
    reason = "delays could then keep it from finishing all its works (must_complete)"
    return reason, idle.idle_from, idle.todo


def _impossible(
    contractor: Contractor, task: Task, step: int, reason: str, possible: str, spans: Spans
) -> Diagnostic:
    return Diagnostic(
        (contractor.name, task.name),
        f"contractor {found(contractor.name)} cannot start work {found(task.name)} "
        f"{spans.at(step)}: {reason}; {possible}",
    )


def _possible(dynamics: Dynamics, todo: int, task: int, idle_from: int, spans: Spans) -> str:
    """The steps in which a work may start before the remaining ones, as advice."""
    ranges = []
    for choice in dynamics.choices(LocalState(todo, IDLE, 0)):
        first, last = max(choice.first, idle_from), choice.last
        if choice.action == START + task and first <= last:
            ranges.append(spans.of_starts(first, last))
    if ranges:
        more = f" and {len(ranges) - MOST_RANGES} more ranges" if len(ranges) > MOST_RANGES else ""
        return f"choose {' or '.join(ranges[:MOST_RANGES])}{more}"
    return "no step is possible: plan the works before it earlier, or leave it out"


@in_english
def _closed(closure: Closure, task: Task, step: int) -> str:
    """Why a closure forbids a start."""
    period = f"the closed period {closure_in_words(closure)}"
    if closure.first <= step <= closure.last:
        return f"it is in {period}"
    longest = max(steps for _, steps in task.durations)
    delayed = ", delayed," if longest > task.duration else ""
    return f"it could{delayed} still run in {period}, and works are not interrupted"
