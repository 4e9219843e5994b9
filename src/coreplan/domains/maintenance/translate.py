"""The translation of contractors and tasks into local states, actions and rewards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from coreplan.domains.maintenance.closures import start_ranges
from coreplan.domains.maintenance.feasibility import Feasibility, TooManySetsError
from coreplan.domains.maintenance.parts import Closure, Contractor, Cost, Hindrance
from coreplan.domains.maintenance.states import (
    CONTINUE,
    IDLE,
    START,
    WAIT,
    ContractorState,
    ContractorStates,
    History,
    LocalState,
    known_times,
    read_state,
    start_action,
    to_local,
)
from coreplan.errors import ModelError
from coreplan.model.conditions import Condition, FeatureValue
from coreplan.model.indexed import (
    IndexedAgent,
    IndexedCondition,
    IndexedEntry,
    IndexedProblem,
    JointState,
    StageValue,
    by_agent,
)
from coreplan.model.problem import Guard, no_limits
from coreplan.model.timmdp import TIMMDP, Agent, Entry, RewardFunction
from coreplan.support.checks import found
from coreplan.support.frozen import FrozenMapping

if TYPE_CHECKING:
    from coreplan.domains.maintenance.problem import MaintenanceProblem

WORKS, REVENUE, HINDRANCE = "works", "revenue", "hindrance"
"""The kinds of reward entries."""

GUARD_EVERY = 256
"""The number of states between two calls of the guard."""


class Choice(NamedTuple):
    """An action, the range of stages in which it is available, and its outcomes."""

    action: int
    first: int
    last: int
    outcomes: Sequence[tuple[LocalState, float]]


class Dynamics:
    """The actions of one contractor and their outcomes."""

    def __init__(
        self,
        contractor: Contractor,
        horizon: int,
        must_complete: bool,
        guard: Guard = no_limits,
        closed: Sequence[Closure] = (),
    ) -> None:
        self.tasks = contractor.tasks
        self.horizon = horizon
        self.closed = closed
        self.actions = ("wait", "continue", *(start_action(task.name) for task in self.tasks))
        self._feasibility: Feasibility | None = None
        if must_complete:
            self._feasibility = Feasibility(self.tasks, horizon, lambda: guard(0), closed)
        # A work may start in several ranges of stages if steps between them are closed.
        self._starts = [start_ranges(task, horizon, closed) for task in self.tasks]
        self._forced: tuple[int, int] | None = None

    def force(self, state: ContractorState, stage: int) -> None:
        """Let a contractor start the work whose start at this stage is decided already."""
        if state.starting is not None:
            names = [task.name for task in self.tasks]
            self._forced = (names.index(state.starting), stage)

    @property
    def forced_task(self) -> int | None:
        """The task whose start is decided already, if any."""
        return None if self._forced is None else self._forced[0]

    def forced_until(self, state: LocalState) -> int:
        """The first stage after the task whose start is decided, if it is not delayed; or 0."""
        if self._forced is None or not state.todo >> self._forced[0] & 1:
            return 0
        k, stage = self._forced
        return stage + min(steps for _, steps in self.tasks[k].durations)

    def latest(self, todo: int) -> int:
        """The latest stage at which it may be idle with these unstarted tasks."""
        return self._feasibility.latest(todo) if self._feasibility else self.horizon

    def choices(self, state: LocalState) -> Iterable[Choice]:
        """The actions of a state that are available in at least one stage."""
        every = self._choices(state)
        return (choice for choice in every if choice.first <= choice.last)

    def _choices(self, state: LocalState) -> Iterable[Choice]:
        latest = self.latest(state.todo)
        if state.current != IDLE:
            # The current task continues; after it, the contractor must be able to complete the
            # others.
            last = latest - state.remaining if self._feasibility else self.horizon - 1
            yield Choice(CONTINUE, 0, min(last, self.horizon - 1), [(self._worked(state), 1.0)])
            return
        if self._forced is not None and state.todo >> self._forced[0] & 1:
            k, stage = self._forced
            yield Choice(START + k, stage, stage, self._begun(state, k))
            return
        # Ties are broken by this order: of equally good plans, people prefer not to wait.
        for k in range(len(self.tasks)):
            if not state.todo >> k & 1:
                continue
            end = self.horizon - 1
            if self._feasibility:
                end = min(end, self._feasibility.latest_start(state.todo, k))
            begun = self._begun(state, k)
            for first, last in self._starts[k]:
                yield Choice(START + k, first, min(last, end), begun)
        yield Choice(WAIT, 0, latest - 1, [(state, 1.0)])

    def _begun(self, state: LocalState, k: int) -> list[tuple[LocalState, float]]:
        """The states one step after the start of a task, with their chances."""
        return [
            (self._worked(LocalState(state.todo & ~(1 << k), k, steps)), chance)
            for chance, steps in self.tasks[k].durations
        ]

    @staticmethod
    def _worked(state: LocalState) -> LocalState:
        """The state after one more step of work."""
        if state.remaining > 1:
            return state._replace(remaining=state.remaining - 1)
        return LocalState(state.todo, IDLE, 0)


# The local states that the rewards of task k depend on.


def may_work_on(state: LocalState, k: int) -> bool:
    """Whether the contractor is working on the task or could start it.

    Together with the actions `start` and `continue` this means that the task runs in this step.
    """
    return state.current == k or (state.current == IDLE and bool(state.todo >> k & 1))


def is_done(state: LocalState, k: int) -> bool:
    """Whether the task has been completed."""
    return state.current != k and not state.todo >> k & 1


def cost_by_stage(cost: Cost) -> list[tuple[float, tuple[int, ...] | None]]:
    """Group a cost per step into (value, stages); None for all stages. Zeros are left out."""
    if not isinstance(cost, tuple):
        return [(cost, None)] if cost != 0 else []
    stages: dict[float, list[int]] = {}
    for stage, value in enumerate(cost):
        if value != 0:
            stages.setdefault(value, []).append(stage)
    return [(value, tuple(at)) for value, at in stages.items()]


def index_maintenance(
    problem: MaintenanceProblem,
    *,
    history: bool = False,
    stage: int = 0,
    state: JointState | None = None,
    guard: Guard = no_limits,
) -> IndexedProblem:
    """Translate a maintenance problem into numbers, from a stage and joint state on.

    Parameters
    ----------
    problem
        The problem.
    history
        Whether local states keep the start and end times of all works, as in the paper.
    stage, state
        The stage and joint state to plan from; by default the beginning with no task started.
    guard
        Called regularly with the number of local states made so far.
    """
    names = [contractor.name for contractor in problem.contractors]
    given = [None] * len(names) if state is None else by_agent(state, names, "state")
    agents = []
    for contractor, start in zip(problem.contractors, given, strict=True):
        dynamics = Dynamics(
            contractor, problem.horizon, problem.must_complete, guard, problem.closed
        )
        given_state = ContractorState() if start is None else read_state(contractor, start)
        agents.append(_index_contractor(contractor, dynamics, given_state, stage, history, guard))
    entries, functions = _index_rewards(problem)
    return IndexedProblem(problem.name, problem.horizon, stage, agents, entries, functions)


def _index_contractor(
    contractor: Contractor,
    dynamics: Dynamics,
    start: ContractorState,
    stage: int,
    history: bool,
    guard: Guard,
) -> IndexedAgent:
    local = to_local(contractor, start)
    dynamics.force(start, stage)
    try:
        if history:
            first = History(stage, local, known_times(contractor, start, stage))
            return _index_histories(contractor, dynamics, first, guard)
        return _index_states(contractor, dynamics, local, stage, guard)
    except TooManySetsError:
        raise ModelError(
            f"contractor {found(contractor.name)} has too many works with windows to check "
            "must_complete; remove some windows, or set must_complete to false"
        ) from None


def _index_states(
    contractor: Contractor, dynamics: Dynamics, start: LocalState, stage: int, guard: Guard
) -> IndexedAgent:
    number = {start: 0}
    order = [start]
    rows: list[list[Choice]] = []
    layer_end = 1
    depth = stage
    for position, state in enumerate(order):  # the loop appends to `order`
        if position == layer_end:
            depth += 1
            layer_end = len(order)
        if position % GUARD_EVERY == 0:
            guard(len(order))
        choices = list(dynamics.choices(state)) if depth < dynamics.horizon else []
        rows.append(choices)
        for choice in choices:
            for after, _ in choice.outcomes:
                if after not in number:
                    number[after] = len(order)
                    order.append(after)
    states = ContractorStates(contractor, order, dynamics.forced_task)
    agent = IndexedAgent(contractor.name, states, dynamics.actions, 0)
    for position, choices in enumerate(rows):
        if position % GUARD_EVERY == 0:
            guard(len(order))
        for action, first, last, outcomes in choices:
            agent.add_choice(action, first, last, [(number[s], p) for s, p in outcomes])
        agent.end_state()
    _add_conditions(agent, order, contractor, dynamics, guard)
    return agent


def _index_histories(
    contractor: Contractor, dynamics: Dynamics, first: History, guard: Guard
) -> IndexedAgent:
    number = {first: 0}
    order = [first]
    rows: list[list[tuple[int, list[tuple[int, float]]]]] = []
    for position, node in enumerate(order):
        if position % GUARD_EVERY == 0:
            guard(len(order))
        row = []
        if node.stage < dynamics.horizon:
            for choice in dynamics.choices(node.state):
                if not choice.first <= node.stage <= choice.last:
                    continue
                outcomes = []
                for after, chance in choice.outcomes:
                    begun = choice.action - START
                    known = node.times
                    if begun >= 0:
                        known = (
                            *known[:begun],
                            (node.stage, node.stage + after.remaining),
                            *known[begun + 1 :],
                        )
                    following = History(node.stage + 1, after, known)
                    if following not in number:
                        number[following] = len(order)
                        order.append(following)
                    outcomes.append((number[following], chance))
                row.append((choice.action, outcomes))
        rows.append(row)
    states = ContractorStates(contractor, order, dynamics.forced_task)
    agent = IndexedAgent(contractor.name, states, dynamics.actions, 0)
    for position, row in enumerate(rows):
        if position % GUARD_EVERY == 0:
            guard(len(order))
        for action, outcomes in row:
            agent.add_choice(action, 0, dynamics.horizon - 1, outcomes)
        agent.end_state()
    _add_conditions(agent, [node.state for node in order], contractor, dynamics, guard)
    return agent


def _add_conditions(
    agent: IndexedAgent,
    states: Sequence[LocalState],
    contractor: Contractor,
    dynamics: Dynamics,
    guard: Guard,
) -> None:
    """Add the conditions of rewards on tasks, in the order of their numbers."""
    agent.tasks = (None, None, *(task.name for task in contractor.tasks))
    agent.stuck = (
        f"{contractor.name} cannot finish all its works by step {dynamics.horizon - 1}; plan more "
        f"steps, widen a window, {'shorten a closed period, ' if dynamics.closed else ''}or drop a "
        "work"
    )
    for k, task in enumerate(contractor.tasks):
        guard(len(states))
        agent.milestones[task.name] = completing(k)
        may_work = [s for s, state in enumerate(states) if may_work_on(state, k)]
        done = [s for s, state in enumerate(states) if is_done(state, k)]
        agent.conditions.append(IndexedCondition(may_work, [CONTINUE, START + k], None))
        agent.conditions.append(IndexedCondition(may_work, None, done))


def working(k: int) -> int:
    """The number of the condition that task k runs in this step."""
    return 2 * k


def completing(k: int) -> int:
    """The number of the condition that task k is completed in this step."""
    return 2 * k + 1


def _index_rewards(problem: MaintenanceProblem) -> tuple[list[IndexedEntry], tuple[str, ...]]:
    entries: list[IndexedEntry] = []
    functions: list[str] = []
    position: dict[str, tuple[int, int]] = {}
    for i, contractor in enumerate(problem.contractors):
        for k, task in enumerate(contractor.tasks):
            name = f"{contractor.name}/{task.name}"
            position[name] = (i, working(k))
            for cost, stages in cost_by_stage(task.cost):
                members = ((i, working(k)),)
                entries.append(IndexedEntry(members, -cost, stages, len(functions), WORKS, name))
            if task.revenue != 0:
                members = ((i, completing(k)),)
                made = IndexedEntry(members, task.revenue, None, len(functions), REVENUE, name)
                entries.append(made)
        functions.append(f"own costs and revenues of {contractor.name}")
    for hindrance in problem.network:
        several = tuple(sorted(position[reference] for reference in hindrance.tasks))
        name = ", ".join(hindrance.tasks)
        for cost, stages in cost_by_stage(hindrance.cost):
            entries.append(IndexedEntry(several, -cost, stages, len(functions), HINDRANCE, name))
        functions.append("hindrance of " + ", ".join(hindrance.tasks))
    return entries, tuple(functions)


def change_network(
    problem: MaintenanceProblem, values: Sequence[Sequence[StageValue]]
) -> tuple[Hindrance, ...]:
    """The hindrance rules with other costs: for each entry of the rewards, its values by stage.

    Rules without costs stay, so that the numbers of reward functions stay the same.
    """
    entries, _ = _index_rewards(problem)
    network = list(problem.network)
    costs: dict[int, list[float]] = {}
    for entry, given in zip(entries, values, strict=True):
        if entry.kind != HINDRANCE or list(given) == [StageValue(entry.value, entry.stages)]:
            continue
        k = entry.function - len(problem.contractors)
        if entry.stages is None and given[0].stages is None:
            network[k] = replace(network[k], cost=0.0 - given[0].value)
            continue
        if k not in costs:
            before = network[k].cost
            costs[k] = list(before) if isinstance(before, tuple) else [before] * problem.horizon
        for value, stages in given:
            for stage in range(problem.horizon) if stages is None else stages:
                costs[k][stage] = 0.0 - value
    for k, cost in costs.items():
        network[k] = replace(network[k], cost=tuple(cost))
    return tuple(network)


def to_timmdp(problem: MaintenanceProblem, *, history: bool = False) -> TIMMDP:
    """Translate a maintenance problem into a TI-MMDP with named states.

    States have the features ``status X`` (``to do``, ``under way`` or ``done``) and ``may work on
    X`` for each task X, ``working on`` and ``remaining`` while a task is under way and, if the
    actions of a state depend on the stage (windows, closed steps, ``must_complete``, histories),
    ``stage``.

    Parameters
    ----------
    problem
        The problem.
    history
        Whether local states keep the start and end times of all works, as in the paper; otherwise
        they are (tasks not started, current task, steps remaining).

    Examples
    --------
    >>> from coreplan import Contractor, MaintenanceProblem, Task
    >>> alpha = Contractor("Alpha", (Task("a1", duration=2, cost=3, revenue=20),))
    >>> translated = MaintenanceProblem((alpha,), horizon=4).to_timmdp()
    >>> translated.agents[0].states
    ('idle/to do a1', 'a1, 1 left', 'finished')
    """
    agents = []
    for contractor in problem.contractors:
        dynamics = Dynamics(
            contractor, problem.horizon, problem.must_complete, closed=problem.closed
        )
        names = [task.name for task in contractor.tasks]
        start = ContractorState()
        indexed = _index_contractor(contractor, dynamics, start, 0, history, no_limits)
        agents.append(_name_agent(indexed, names, problem.horizon))
    actions = {agent.name: agent.actions for agent in agents}
    rewards = []
    for contractor in problem.contractors:
        local = []
        known = actions[contractor.name]
        for task in contractor.tasks:
            if start_action(task.name) not in known:
                continue  # it can never start: it earns and costs nothing
            working, completed = _conditions_in_words(task.name, known)
            local += [
                Entry({contractor.name: working}, -cost, stages)
                for cost, stages in cost_by_stage(task.cost)
            ]
            if task.revenue != 0:
                local.append(Entry({contractor.name: completed}, task.revenue))
        rewards.append(RewardFunction((contractor.name,), tuple(local)))
    for hindrance in problem.network:
        parts = [reference.partition("/")[::2] for reference in hindrance.tasks]
        entries: list[Entry] = []
        if all(start_action(task_name) in actions[agent] for agent, task_name in parts):
            when = {
                agent: _conditions_in_words(task_name, actions[agent])[0]
                for agent, task_name in parts
            }
            entries = [Entry(when, -cost, stages) for cost, stages in cost_by_stage(hindrance.cost)]
        rewards.append(RewardFunction(tuple(agent for agent, _ in parts), tuple(entries)))
    return TIMMDP(
        agents,
        rewards,
        problem.horizon,
        problem.name,
        allow_unknown_values=True,  # of states that no plan reaches in time
    )


def _conditions_in_words(task: str, actions: Sequence[str]) -> tuple[Condition, Condition]:
    """The conditions of :func:`_add_conditions` as features: the task runs; it is completed."""
    may_work = {f"may work on {task}": True}
    working = tuple(action for action in ("continue", start_action(task)) if action in actions)
    return (
        Condition(state=may_work, action=working),
        Condition(state=may_work, next={f"status {task}": "done"}),
    )


def _features(names: list[str], state: LocalState) -> dict[str, FeatureValue]:
    features: dict[str, FeatureValue] = {}
    for k, name in enumerate(names):
        status = "to do" if state.todo >> k & 1 else "done" if state.current != k else "under way"
        features[f"status {name}"] = status
        if may_work_on(state, k):
            features[f"may work on {name}"] = True
    if state.current != IDLE:
        features["working on"] = names[state.current]
        features["remaining"] = state.remaining
    return features


def _name_agent(indexed: IndexedAgent, names: list[str], horizon: int) -> Agent:
    """Name states; if actions depend on the stage, a state's name contains the stage."""
    assert isinstance(indexed.states, ContractorStates)
    states = indexed.states.states
    # The names of histories already contain the stage.
    staged = not isinstance(states[0], History) and not all(
        first == 0 and last == horizon - 1
        for first, last in zip(indexed.choice_first, indexed.choice_last, strict=True)
    )

    def label(stage: int, index: int) -> str:
        plain = indexed.states.label(index)
        return f"stage {stage}/{plain}" if staged else plain

    transitions: dict[str, FrozenMapping[str, FrozenMapping[str, float]]] = {}
    features: dict[str, dict[str, FeatureValue]] = {}
    layer = [indexed.start]
    for stage in range(horizon + 1):
        following: dict[int, None] = {}
        for index in layer:
            name = label(stage, index)
            if name in features:
                continue
            state = states[index]
            features[name] = _features(names, indexed.states.local(index))
            if staged or isinstance(state, History):
                features[name]["stage"] = stage
            if stage == horizon:
                continue
            rows = {}
            for action, choice in indexed.choices(stage, index).items():
                outcomes = indexed.outcomes(choice)
                following.update(dict.fromkeys(after for _, after, _ in outcomes))
                rows[action] = FrozenMapping(
                    {label(stage + 1, after): chance for _, after, chance in outcomes}
                )
            transitions[name] = FrozenMapping(rows)
        layer = list(following)
    return Agent(indexed.name, label(0, indexed.start), transitions, features)
