"""A problem in which one work must start by, or not before, a step: to price another start."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.states import (
    IDLE,
    START,
    WAIT,
    ContractorStates,
    LocalState,
)
from coreplan.model.indexed import IndexedAgent, IndexedProblem, JointState
from coreplan.model.problem import Guard, no_limits


@dataclass(frozen=True)
class Limit:
    """The steps in which a contractor has to start one of its works.

    Attributes
    ----------
    contractor, work
        The names of the contractor and the work.
    earliest
        The first step in which it may start; None for no limit.
    latest
        The step by which the contractor plans to start it: it starts by then unless one of the
        contractor's other works is delayed. It starts no other work that would normally take
        longer than until then. None for no limit.
    """

    contractor: str
    work: str
    earliest: int | None = None
    latest: int | None = None


@dataclass(frozen=True)
class ShiftedProblem(MaintenanceProblem):
    """A maintenance problem with a limit for the start of one work.

    Unlike a window, the limit `latest` leaves room for the contractor's own delays. If a contractor
    could get stuck, its actions that lead there are not available; if it is stuck from the
    beginning, it has no actions (see :func:`is_possible`).
    """

    limit: Limit | None = None

    def index(
        self,
        *,
        history: bool = False,
        stage: int = 0,
        state: JointState | None = None,
        guard: Guard = no_limits,
    ) -> IndexedProblem:
        """Translate into numbers, with the actions that the limit leaves."""
        indexed = super().index(history=history, stage=stage, state=state, guard=guard)
        limit = self.limit
        if limit is None:
            return indexed
        i = self.agent_names.index(limit.contractor)
        agents = list(indexed.agents)
        agents[i] = _Limited(self, i, limit, agents[i], stage).agent()
        return replace(indexed, agents=agents)


def is_possible(problem: ShiftedProblem, stage: int, state: JointState) -> bool:
    """Whether the contractor of the limit has a way to keep it, whatever delays happen."""
    if problem.limit is None:
        return True
    agent = problem.index(stage=stage, state=state).agents[
        problem.agent_names.index(problem.limit.contractor)
    ]
    return bool(agent.choices(stage, agent.start))


class _Limited:
    """Takes away the actions of one contractor that break a limit, or lead to a dead end."""

    def __init__(
        self, problem: MaintenanceProblem, i: int, limit: Limit, agent: IndexedAgent, stage: int
    ) -> None:
        self._agent = agent
        self._stage = stage
        self._limit = limit
        tasks = problem.contractors[i].tasks
        self._work = [task.name for task in tasks].index(limit.work)
        self._least = [min(steps for _, steps in task.durations) for task in tasks]
        # After this step, all actions are as before.
        earliest = -1 if limit.earliest is None else limit.earliest - 1
        latest = -1 if limit.latest is None else limit.latest
        self._last = min(max(earliest, latest), problem.horizon - 1)
        assert isinstance(agent.states, ContractorStates)
        self._states = [agent.states.local(s) for s in range(len(agent.states))]

    def agent(self) -> IndexedAgent:
        """Make the agent with the actions that are left."""
        kept = self._prune()
        agent = self._agent
        made = replace(
            agent,
            choice_begin=[0],
            choice_action=[],
            choice_first=[],
            choice_last=[],
            outcome_begin=[0],
            outcome_next=[],
            outcome_probability=[],
        )
        for s in range(len(agent.states)):
            for c in self._choices(s):
                last = agent.choice_last[c]
                stages = [
                    x
                    for x in range(max(self._stage, agent.choice_first[c]), last + 1)
                    if x > self._last or (x, c) in kept
                ]
                for begin, end in _runs(stages):
                    made.add_choice(agent.choice_action[c], begin, end, self._outcomes(c))
            made.end_state()
        return made

    def _prune(self) -> set[tuple[int, int]]:
        """The choices up to the last affected step that never lead to a dead end, by step."""
        kept: set[tuple[int, int]] = set()
        alive = [True] * len(self._states)
        for stage in range(self._last, self._stage - 1, -1):
            following, alive = alive, [False] * len(self._states)
            for s, state in enumerate(self._states):
                for c in self._choices(s):
                    first, last = self._agent.choice_first[c], self._agent.choice_last[c]
                    if (
                        first <= stage <= last
                        and self._is_allowed(state, self._agent.choice_action[c], stage)
                        and all(following[after] for after, _ in self._outcomes(c))
                    ):
                        kept.add((stage, c))
                        alive[s] = True
        return kept

    def _is_allowed(self, state: LocalState, action: int, stage: int) -> bool:
        """Whether an action at a step keeps the limit."""
        limit = self._limit
        if state.current != IDLE or not state.todo >> self._work & 1:
            return True
        if action == START + self._work:
            return limit.earliest is None or stage >= limit.earliest
        if limit.latest is None or stage > limit.latest:
            return True  # after the limit: only a delay of its own works leads here
        if action == WAIT:
            return stage < limit.latest
        return stage + self._least[action - START] <= limit.latest

    def _choices(self, state: int) -> Iterable[int]:
        return range(self._agent.choice_begin[state], self._agent.choice_begin[state + 1])

    def _outcomes(self, choice: int) -> list[tuple[int, float]]:
        agent = self._agent
        return [
            (agent.outcome_next[o], agent.outcome_probability[o])
            for o in range(agent.outcome_begin[choice], agent.outcome_begin[choice + 1])
        ]


def _runs(stages: Iterable[int]) -> list[tuple[int, int]]:
    """Ascending steps as runs of consecutive ones."""
    runs: list[tuple[int, int]] = []
    for stage in stages:
        if runs and runs[-1][1] == stage - 1:
            runs[-1] = (runs[-1][0], stage)
        else:
            runs.append((stage, stage))
    return runs
