"""One course of a plan: the works of each step for given delays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coreplan.domains.maintenance.parts import Task
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.states import ContractorState
from coreplan.errors import ModelError
from coreplan.policies.graph import Fact, Facts
from coreplan.policies.policy import Policy
from coreplan.support.checks import found, unknown_name
from coreplan.support.frozen import FrozenMapping
from coreplan.support.late import late, provides

EXPECTED = ("not delayed", "likelier")
"""The assumptions for tasks whose outcome is not given."""
_WORDS = {True: True, False: False, "delayed": True, "not delayed": False}


@dataclass(frozen=True)
class PlannedWork:
    """A task in one course of a plan.

    Attributes
    ----------
    contractor, task
        The names of the contractor and the task.
    start, end
        The first step of work, and the first step after it, which may be beyond the horizon.
    delayed
        Whether the task is delayed; None if it is never delayed or was already under way.
    given
        Whether the outcome was given; otherwise it was assumed.
    under_way
        Whether the task started before the plan. Then `start` is the plan's first step, unless the
        policy records times.
    completed
        Whether the task is completed before the horizon.
    """

    contractor: str
    task: str
    start: int
    end: int
    delayed: bool | None
    given: bool = False
    under_way: bool = False
    completed: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the parts by name."""
        return {
            "contractor": self.contractor,
            "task": self.task,
            "start": self.start,
            "end": self.end,
            "delayed": self.delayed,
            "given": self.given,
            "under_way": self.under_way,
            "completed": self.completed,
        }


@dataclass(frozen=True)
class PlannedSchedule:
    """The actions, states and works of one course of a plan.

    Attributes
    ----------
    stage, horizon
        The first step, and the end of the plan.
    agents
        The agents' names.
    actions
        The actions of all agents, by name, for each step from the first.
    states
        The local states of all agents, by name, for each step and for the end.
    known
        The facts that become known in each step.
    probability
        The probability of this course.
    works
        In a maintenance problem, the tasks of this course, by contractor and start.
    unstarted
        In a maintenance problem, ``contractor/task`` of tasks that are neither done nor started.
    """

    stage: int
    horizon: int
    agents: tuple[str, ...]
    actions: tuple[Mapping[str, str], ...]
    states: tuple[Mapping[str, Any], ...]
    known: tuple[tuple[Fact, ...], ...]
    probability: float
    works: tuple[PlannedWork, ...] = ()
    unstarted: tuple[str, ...] = ()

    def of(self, contractor: str) -> tuple[PlannedWork, ...]:
        """Return the works of one contractor, by start."""
        if contractor not in self.agents:
            raise ModelError(unknown_name(contractor, "contractor", self.agents, "the plan"))
        return tuple(work for work in self.works if work.contractor == contractor)

    def to_schedule(self) -> dict[str, dict[str, int]]:
        """Return the starts as a schedule, for ``schedule_policy`` or a file."""
        starts: dict[str, dict[str, int]] = {}
        for work in self.works:
            if not work.under_way:
                starts.setdefault(work.contractor, {})[work.task] = work.start
        return starts

    def to_dict(self) -> dict[str, Any]:
        """Return the course as plain values, for JSON."""
        return {
            "stage": self.stage,
            "horizon": self.horizon,
            "probability": self.probability,
            "actions": [dict(each) for each in self.actions],
            "known": [[fact._asdict() for fact in facts] for facts in self.known],
            "works": [work.to_dict() for work in self.works],
            "unstarted": list(self.unstarted),
        }

    def __str__(self) -> str:
        return "\n".join(late("PlannedSchedule.text")(self))


@provides("Policy.schedule")
def planned_schedule(
    policy: Policy,
    outcomes: Mapping[str, bool | str] | None = None,
    expected: str = "not delayed",
) -> PlannedSchedule:
    """Follow a plan for given delays, to see who works on what in each step.

    Parameters
    ----------
    policy
        The policy.
    outcomes
        The outcomes of tasks of a maintenance problem, by ``contractor/task``: True or
        ``"delayed"``, False or ``"not delayed"``.
    expected
        The assumption for the other tasks: ``"not delayed"`` if possible, or the ``"likelier"``
        outcome. In problems other than maintenance it is always the likeliest next state.

    Raises
    ------
    ModelError
        If a task does not exist, or its outcome is impossible.

    Examples
    --------
    >>> from coreplan import Contractor, Delay, Hindrance, MaintenanceProblem, Task, solve
    >>> problem = MaintenanceProblem(
    ...     (Contractor("Alpha", (Task("a1", 2, cost=3, revenue=20, delay=Delay(0.3, 2)),)),
    ...      Contractor("Beta", (Task("b1", 2, cost=1, revenue=15, window=(2, 4)),))),
    ...     horizon=6, network=(Hindrance(("Alpha/a1", "Beta/b1"), cost=7.5),))
    >>> policy = solve(problem).policy
    >>> [(work.task, work.start, work.end) for work in planned_schedule(policy).works]
    [('a1', 0, 2), ('b1', 2, 4)]
    >>> late = planned_schedule(policy, {"Alpha/a1": "delayed"})
    >>> [(work.task, work.start, work.end) for work in late.works]
    [('a1', 0, 4), ('b1', 4, 6)]
    """
    if expected not in EXPECTED:
        raise ModelError(f"found expected = {found(expected)}; give 'not delayed' or 'likelier'")
    asked = _check_outcomes(policy, outcomes)
    return _Course(policy, asked, expected == "likelier").follow()


def _check_outcomes(
    policy: Policy, outcomes: Mapping[str, bool | str] | None
) -> dict[tuple[str, str], bool]:
    """Check the given outcomes, and return them by contractor and task."""
    if not outcomes:
        return {}
    if not isinstance(outcomes, Mapping):
        raise ModelError(
            f"found outcomes = {found(outcomes)}; expected a mapping, for instance "
            "{'Alpha/a1': 'delayed'}"
        )
    if not isinstance(policy.problem, MaintenanceProblem):
        raise ModelError("only works of a maintenance problem have outcomes; leave them out")
    tasks = {
        f"{contractor.name}/{task.name}": (contractor.name, task)
        for contractor in policy.problem.contractors
        for task in contractor.tasks
    }
    asked = {}
    for name, given in outcomes.items():
        if name not in tasks:
            raise ModelError(unknown_name(name, "work", list(tasks), "the problem"))
        if not isinstance(given, bool | str) or given not in _WORDS:
            raise ModelError(
                f"found {found(given)} as the outcome of {found(name)}; expected True or "
                "'delayed', or False or 'not delayed'"
            )
        contractor, task = tasks[name]
        delayed = _WORDS[given]
        if delayed not in _possible(task):
            word = "never" if delayed else "always"
            raise ModelError(f"work {found(name)} is {word} delayed; leave out its outcome")
        asked[contractor, task.name] = delayed
    return asked


def _possible(task: Task) -> set[bool]:
    """The possible outcomes of a task: delayed (True), not delayed (False)."""
    return {steps > task.duration for _, steps in task.durations}


class _Course:
    """Follows a plan from its first step to the horizon."""

    def __init__(
        self, policy: Policy, asked: Mapping[tuple[str, str], bool], likelier: bool
    ) -> None:
        self._policy = policy
        self._asked = asked
        self._likelier = likelier
        self._facts = Facts(policy)

    def follow(self) -> PlannedSchedule:
        """Follow the policy to the horizon."""
        policy, indexed = self._policy, self._policy.indexed
        state = indexed.find_state(policy.stage, None)
        states = [FrozenMapping(indexed.name_state(state))]
        actions = []
        known = []
        probability = 1.0
        for stage in range(policy.stage, policy.horizon):
            choices = policy.choose(stage, state)
            following = []
            facts = []
            for i, (agent, choice) in enumerate(zip(indexed.agents, choices, strict=True)):
                transition, after, chance = self._outcome(i, agent.outcomes(choice))
                fact = self._facts.of(i, transition)
                if fact is not None:
                    facts.append(fact)
                probability *= chance
                following.append(after)
            actions.append(
                FrozenMapping(
                    {
                        agent.name: agent.actions[agent.choice_action[choice]]
                        for agent, choice in zip(indexed.agents, choices, strict=True)
                    }
                )
            )
            known.append(tuple(facts))
            state = tuple(following)
            states.append(FrozenMapping(indexed.name_state(state)))
        works: tuple[PlannedWork, ...] = ()
        unstarted: tuple[str, ...] = ()
        if isinstance(policy.problem, MaintenanceProblem):
            works = self._works(policy.problem, actions, states)
            unstarted = _unstarted(policy.problem, states[-1])
        return PlannedSchedule(
            policy.stage,
            policy.horizon,
            indexed.agent_names,
            tuple(actions),
            tuple(states),
            tuple(known),
            probability,
            works,
            unstarted,
        )

    def _outcome(
        self, agent: int, outcomes: Sequence[tuple[int, int, float]]
    ) -> tuple[int, int, float]:
        """Choose the outcome of this course."""
        likeliest = max(outcomes, key=lambda outcome: outcome[2])
        if len(outcomes) == 1:
            return likeliest
        for outcome in outcomes:
            fact = self._facts.of(agent, outcome[0])
            assert fact is not None
            if fact.task is None:
                return likeliest
            wanted = self._asked.get((fact.agent, fact.task))
            if wanted is None and self._likelier:
                return likeliest
            if fact.delayed == bool(wanted):
                return outcome
        return likeliest

    def _works(
        self,
        problem: MaintenanceProblem,
        actions: Sequence[Mapping[str, str]],
        states: Sequence[Mapping[str, ContractorState]],
    ) -> tuple[PlannedWork, ...]:
        first, horizon = self._policy.stage, self._policy.horizon
        works = []
        agents = self._policy.indexed.agents
        for contractor, agent in zip(problem.contractors, agents, strict=True):
            name = contractor.name
            tasks = {task.name: task for task in contractor.tasks}
            begun = states[0][name]
            if begun.doing is not None:
                start = begun.times[begun.doing][0] if begun.times is not None else first
                end = first + begun.remaining
                works.append(
                    PlannedWork(
                        name,
                        begun.doing,
                        start,
                        end,
                        None,
                        under_way=True,
                        completed=end <= horizon,
                    )
                )
            for step, action in enumerate(actions):
                started = agent.task_of(action[name])
                if started is None:
                    continue
                task = tasks[started]
                # The next state has one step of work less.
                steps = states[step + 1][name].remaining + 1
                end = first + step + steps
                delayed = steps > task.duration if task.delay is not None else None
                given = (name, task.name) in self._asked
                works.append(
                    PlannedWork(
                        name,
                        task.name,
                        first + step,
                        end,
                        delayed,
                        given,
                        completed=end <= horizon,
                    )
                )
        return tuple(works)


def _unstarted(problem: MaintenanceProblem, end: Mapping[str, ContractorState]) -> tuple[str, ...]:
    return tuple(
        f"{contractor.name}/{task.name}"
        for contractor in problem.contractors
        for task in contractor.tasks
        if task.name not in end[contractor.name].done and task.name != end[contractor.name].doing
    )
