"""Policies: what everybody does, at every stage, in every joint state that can come about."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coreplan.errors import ModelError
from coreplan.files.reading import Document, read_document
from coreplan.model.indexed import IndexedProblem, JointState
from coreplan.model.problem import PlanningProblem
from coreplan.policies.evaluation import evaluate_policy
from coreplan.policies.graph import MOST_SITUATIONS, plan_graph
from coreplan.policies.group_rule import GroupRule, GroupTable
from coreplan.policies.histories import ReachedHistories
from coreplan.policies.rules import (
    GONE,
    Indices,
    Integers,
    LocalMap,
    LocalRule,
    Numbering,
    TeamRule,
    check_disjoint,
    check_groups,
    check_numbers,
    count_before,
    number_joint_classes,
)
from coreplan.policies.saving import make_policy, write_policy
from coreplan.support.checks import found
from coreplan.support.late import late
from coreplan.support.rows import distinct_rows, rows_of_each

if TYPE_CHECKING:
    import pandas as pd

    from coreplan.analysis.explanation import Explanation
    from coreplan.analysis.simulation import Estimate, Simulation
    from coreplan.analysis.tree import PlanTree
    from coreplan.domains.maintenance.planned import PlannedSchedule


class Policy:
    """What to do: a joint action for every stage and every joint state that can be reached.

    States can be reached by any actions, not only by the policy's own: people deviate. Made by
    :func:`coreplan.solve` or loaded by :meth:`load`.

    Attributes
    ----------
    problem
        The problem that it is for.
    stage
        The stage that it starts from.
    horizon
        The number of stages of the problem.
    """

    def __init__(
        self,
        problem: PlanningProblem,
        indexed: IndexedProblem,
        maps: Sequence[LocalMap],
        teams: Sequence[TeamRule],
        local: LocalRule,
        *,
        history: bool,
        groups: GroupRule | None = None,
    ) -> None:
        self.problem = problem
        self.indexed = indexed
        self.maps = tuple(maps)
        self.teams = tuple(teams)
        self.local = local
        self.groups = groups
        self.history = history
        self.stage = indexed.stage
        self.horizon = indexed.horizon
        self._class_offset = [count_before(each.class_count) for each in self.maps]
        self._numbering = [
            number_joint_classes(self.maps, team.agents, team.reduced, self.horizon - self.stage)
            for team in self.teams
        ]
        for team, numbering in zip(self.teams, self._numbering, strict=True):
            check_numbers(team, numbering)
        check_disjoint(team.agents for team in self.teams)
        # The same for the classes that the rule of groups uses.
        self._group_offset = self._class_offset
        if groups is not None:
            check_groups(groups, self.maps, self.teams)
            if groups.reduced is not None:
                self._group_offset = [count_before(each.class_count) for each in groups.reduced]
        # Per agent, made when first needed: per place in `node_action` the choice, or -1.
        self._choice_of: list[Integers | None] = [None] * len(self.maps)
        self._reached: ReachedHistories | None = None

    @property
    def is_local(self) -> bool:
        """Whether every agent looks at its own state only."""
        return not self.teams and self.groups is None

    @property
    def parts(self) -> list[tuple[int, ...]]:
        """The agents in sets that decide without a look at the others.

        They are teams, agents that may be in a group with each other, and single agents.
        """
        several = [team.agents for team in self.teams]
        if self.groups is not None:
            several += self.groups.components
        taken = {i for agents in several for i in agents}
        return [*several, *((i,) for i in range(len(self.maps)) if i not in taken)]

    # -- what to do ---------------------------------------------------------------------------

    def act(self, stage: int, joint_state: JointState | None = None) -> dict[str, str]:
        """The joint action at a stage in a joint state.

        Parameters
        ----------
        stage
            The stage, from the policy's first one to horizon - 1.
        joint_state
            A local state for every agent, by name. In a maintenance problem: what each contractor
            has done, is doing and how many steps remain. None: the state that the policy starts in.
            Where the policy keeps start and end times in its states (``merge=False``) and none are
            given, times that it leads to are meant, if there are such.

        Returns
        -------
        dict
            An action's name for every agent.

        Raises
        ------
        ModelError
            If the joint state cannot come about at that stage.
        """
        if (
            isinstance(stage, bool)
            or not isinstance(stage, int)
            or not (self.stage <= stage < self.horizon)
        ):
            raise ModelError(
                f"stage is {found(stage)}; this policy runs from stage {self.stage} to "
                f"{self.horizon - 1}"
            )
        if joint_state is None and stage != self.stage:
            raise ModelError(f"the joint state at stage {stage} is missing; give joint_state")
        choices = self.choose(stage, self.find_state(stage, joint_state))
        return {
            agent.name: agent.actions[agent.choice_action[choice]]
            for agent, choice in zip(self.indexed.agents, choices, strict=True)
        }

    def find_state(self, stage: int, joint_state: JointState | None) -> tuple[int, ...]:
        """The numbers of a joint state, as :meth:`act` understands it."""
        state = self.indexed.find_state(stage, joint_state)
        if joint_state is None or not self.history:
            return state
        if self._reached is None:
            self._reached = ReachedHistories(self)
        return self._reached.settle(stage, joint_state, state)

    def choose(self, stage: int, state: Sequence[int]) -> list[int]:
        """The agents' choices in numbers, see :class:`coreplan.model.indexed.IndexedAgent`."""
        columns = [np.array([each], dtype=np.uint32) for each in state]
        return [int(each[0]) for each in self.choose_many(stage, range(len(columns)), columns)]

    def choose_many(
        self,
        stage: int,
        agents: Sequence[int],
        states: Sequence[Indices],
        absent: Sequence[NDArray[np.bool_]] | None = None,
    ) -> list[Integers]:
        """The choices of some agents in many joint states at once, all in numbers.

        Parameters
        ----------
        stage
            The stage.
        agents
            One or more whole :attr:`parts`.
        states
            For each of the agents: its local state in each joint state.
        absent
            For each of the agents, where it is out of the others' reach: it is in no group, and
            what it chooses there means nothing.

        Returns
        -------
        list
            For each of the agents: its choice in each joint state.
        """
        nodes = {i: self._nodes(stage, i, each) for i, each in zip(agents, states, strict=True)}
        slots = {i: self._local_slots(stage, i, each) for i, each in nodes.items()}
        if self.groups is not None:
            away = {} if absent is None else dict(zip(agents, absent, strict=True))
            self._decide_groups(self.groups, stage, nodes, slots, away)
        for team, numbering in zip(self.teams, self._numbering, strict=True):
            if team.agents[0] in slots:
                self._decide_team(team, numbering, stage, nodes, slots)
        return [
            self._choices(stage, i, each, slots[i]) for i, each in zip(agents, states, strict=True)
        ]

    def local_actions(self, stage: int, agent: int, states: Indices) -> Indices:
        """What an agent does by its own rule in some of its states: the numbers of the actions."""
        slots = self._local_slots(stage, agent, self._nodes(stage, agent, states))
        return self.maps[agent].node_action[slots]

    def _nodes(self, stage: int, agent: int, states: Indices) -> Integers:
        """The agent's nodes at a stage; an error if it cannot be in one of the states."""
        layer = stage - self.stage
        begin, end = (int(x) for x in self.maps[agent].layer_begin[layer : layer + 2])
        known = self.maps[agent].node_state[begin:end]
        at = known.searchsorted(states)
        lost = known.take(at, mode="clip") != states
        if lost.any():
            who = self.indexed.agents[agent]
            state = int(states[lost.argmax()])
            raise ModelError(
                f"agent {found(who.name)} cannot be in state {who.states.label(state)!r} at stage "
                f"{stage}: no actions lead there from the start of this policy"
            )
        return at + begin

    def _local_slots(self, stage: int, agent: int, nodes: Integers) -> Integers:
        """The places in `node_action` of the local rule's actions."""
        each = self.maps[agent]
        first = self._class_offset[agent][stage - self.stage]
        slots: Integers = each.action_begin[nodes].astype(np.int64)
        slots += self.local.actions[agent][each.node_class[nodes] + first]
        return slots

    def _choices(self, stage: int, agent: int, states: Indices, slots: Integers) -> Integers:
        """The agent's choices for the actions at these places in `node_action`."""
        choice_of = self._choice_of[agent]
        if choice_of is None:
            size = len(self.maps[agent].node_action)
            choice_of = self._choice_of[agent] = np.full(size, -1, np.int64)
        choices = choice_of[slots]
        new = choices < 0
        if new.any():
            who = self.indexed.agents[agent]
            for state, slot in set(zip(states[new].tolist(), slots[new].tolist(), strict=True)):
                name = who.actions[self.maps[agent].node_action[slot]]
                choice_of[slot] = who.choices(stage, state)[name]
            choices = choice_of[slots]
        return choices

    def _decide_team(
        self,
        team: TeamRule,
        numbering: Numbering,
        stage: int,
        nodes: Mapping[int, Integers],
        slots: Mapping[int, Integers],
    ) -> None:
        """Overwrite the actions of a team where its rule knows the joint class."""
        layer = stage - self.stage
        first, end = numbering.layer_offset[layer : layer + 2]
        if first == end:
            return
        own = [self.maps[i].node_class[nodes[i]] for i in team.agents]
        rows = np.arange(len(own[0]))
        if team.reduced is not None:
            # Classes of the map, counted over all stages, and what they are to the rule.
            at = [
                each + self._class_offset[i][layer]
                for i, each in zip(team.agents, own, strict=True)
            ]
            own = [each.class_of[k] for each, k in zip(team.reduced, at, strict=True)]
            rows = np.flatnonzero(np.all([each != GONE for each in own], axis=0))
        number = np.full(len(rows), first, np.uint64)
        for each, step in zip(own, numbering.steps[layer], strict=True):
            number += each[rows].astype(np.uint64) * np.uint64(step)
        entries = team.find(number)
        rows = rows[entries > 0]
        code = entries[entries > 0].astype(np.int64) - 1
        for k in range(len(team.agents) - 1, -1, -1):
            i = team.agents[k]
            begin = self.maps[i].action_begin
            node = nodes[i][rows]
            if team.reduced is None:
                code, position = np.divmod(code, begin[node + 1] - begin[node])
            else:
                reduced = team.reduced[k]
                row = reduced.action_begin[at[k][rows]]
                code, position = np.divmod(code, reduced.action_begin[at[k][rows] + 1] - row)
                position = reduced.action_of[row + position]
            slots[i][rows] = begin[node] + position

    def _decide_groups(
        self,
        rule: GroupRule,
        stage: int,
        nodes: Mapping[int, Integers],
        slots: Mapping[int, Integers],
        absent: Mapping[int, NDArray[np.bool_]],
    ) -> None:
        """Overwrite the actions of agents where their group's decision is known."""
        agents = sorted(rule.agents & nodes.keys())
        if not agents:
            return
        own = {i: self._group_classes(rule, stage, i, nodes[i]) for i in agents}
        for i in absent.keys() & own.keys():
            own[i][absent[i]] = GONE
        lists = [self._group_lists(rule, stage, i, own[i]) for i in agents]
        first = rule.couplings.together(agents, lists)
        for k, i in enumerate(agents):
            # The groups whose first agent this is, in the situations where it is one.
            rows = np.flatnonzero((first[k] == k) & (own[i] != GONE))
            if not len(rows):
                continue
            members = first[k:, rows] == k
            examples, group_of = distinct_rows(list(members))
            places = rows_of_each(group_of, len(examples))
            for example, at in zip(examples, places, strict=True):
                group = tuple(agents[k + m] for m in np.flatnonzero(members[:, example]))
                table = rule.table_of.get(group)
                if table is not None:
                    self._decide_group(rule, table, stage, rows[at], own, nodes, slots)

    def _decide_group(
        self,
        rule: GroupRule,
        table: GroupTable,
        stage: int,
        rows: Integers,
        own: Mapping[int, Indices],
        nodes: Mapping[int, Integers],
        slots: Mapping[int, Integers],
    ) -> None:
        """Overwrite the actions of a group in the rows where its table has a decision."""
        layer = stage - self.stage
        found_at = table.find(layer, [own[i][rows] for i in table.agents])
        rows = rows[found_at >= 0]
        decided = table.positions[found_at[found_at >= 0]]
        for k, i in enumerate(table.agents):
            node = nodes[i][rows]
            position = decided[:, k]
            if rule.reduced is not None:
                number = self.maps[i].node_class[node] + self._class_offset[i][layer]
                begin = rule.reduced[i].action_begin[number]
                position = rule.reduced[i].action_of[begin + position]
            slots[i][rows] = self.maps[i].action_begin[node] + position

    def _group_classes(self, rule: GroupRule, stage: int, agent: int, nodes: Integers) -> Indices:
        """The agent's classes within the stage, as the rule of groups has them."""
        classes = self.maps[agent].node_class[nodes]
        if rule.reduced is None:
            return classes
        numbers = classes + self._class_offset[agent][stage - self.stage]
        known: Indices = rule.reduced[agent].class_of[numbers]
        return known

    def _group_lists(self, rule: GroupRule, stage: int, agent: int, classes: Indices) -> Integers:
        """The lists of what an agent can still take part in, by classes of the rule."""
        before = self._group_offset[agent][stage - self.stage]
        lists = np.full(len(classes), rule.couplings.nothing(agent))
        known = classes != GONE
        lists[known] = rule.chances[agent].list_of[classes[known] + before]
        return lists

    def group_lists(self, stage: int, agent: int, states: Indices) -> Integers:
        """Where there is a rule of groups: an agent's lists of what it can still take part in."""
        assert self.groups is not None
        nodes = self._nodes(stage, agent, states)
        classes = self._group_classes(self.groups, stage, agent, nodes)
        return self._group_lists(self.groups, stage, agent, classes)

    # -- what it is worth ---------------------------------------------------------------------

    def evaluate(
        self,
        method: str = "forward",
        *,
        time_limit: float = math.inf,
        memory_limit: float = math.inf,
    ) -> float:
        """The exact expected value, from where the policy starts, recomputed from the problem.

        Parameters
        ----------
        method
            ``forward`` carries the distribution over joint states along, for each team, each group
            of agents that can still interact and each other agent on its own: their number does
            not matter, only how many joint states each of them can get into; ``sequences``
            enumerates all execution sequences, the paper's Eq. 4: small problems only.
        time_limit
            Seconds after which ``forward`` gives up, about.
        memory_limit
            Megabytes that ``forward`` may take, about; with less it gives up earlier.

        Raises
        ------
        SolverError
            If a team can get into too many joint states, or it takes too long; :meth:`estimate`
            then helps.
        """
        if method == "sequences":
            return float(late("Policy.evaluate.sequences")(self))
        if method != "forward":
            raise ModelError(f"method is {found(method)}; expected 'forward' or 'sequences'")
        return evaluate_policy(self, time_limit=time_limit, memory_limit=memory_limit)

    def estimate(self, runs: int, seed: int, confidence: float = 0.95) -> Estimate:
        """What it is worth by simulation: not exact, but within reach for any policy.

        Parameters
        ----------
        runs
            How many independent runs to simulate, at least 2; better thousands.
        seed
            Start of the random numbers: the same seed gives the same estimate.
        confidence
            About how likely the interval is to hold the exact value.

        Returns
        -------
        Estimate
            The mean return and an interval, by the normal approximation.
        """
        return self.simulate(runs, seed, confidence=confidence).value

    def simulate(self, runs: int, seed: int = 1, **options: Any) -> Simulation:
        """Let it run many times, and see what comes of it: :func:`coreplan.simulate`."""
        made: Simulation = late("Policy.simulate")(self, runs, seed, **options)
        return made

    # -- what it says --------------------------------------------------------------------------

    def explain(
        self,
        stage: int,
        joint_state: JointState | None = None,
        *,
        most: int = 10,
        agents: Iterable[str] | None = None,
        time_limit: float = 10.0,
        seed: int = 1,
    ) -> Explanation:
        """Why it does what it does in a joint state: what else could be done, and its worth.

        Parameters
        ----------
        stage, joint_state
            The situation, as in :meth:`act`.
        most
            How many joint actions to keep in which several agents do something else, the best
            ones. Those in which one agent does are all kept.
        agents
            The agents whose other actions are looked at; by default all of them.
        time_limit
            Seconds, about. Where exact values take too long, they are estimated by simulation.
        seed
            Start of the simulation's random numbers.

        Raises
        ------
        ModelError
            If the joint state cannot come about at that stage.
        LimitError
            If the time limit strikes before the value of the policy's own action is known.
        """
        made: Explanation = late("Policy.explain")(
            self, stage, joint_state, most=most, agents=agents, time_limit=time_limit, seed=seed
        )
        return made

    def tree(self, depth: int | None = None, min_probability: float = 0.0) -> PlanTree:
        """The contingent plan, branching where something uncertain happens: :func:`plan_tree`."""
        made: PlanTree = late("Policy.tree")(self, depth, min_probability)
        return made

    def schedule(
        self,
        outcomes: Mapping[str, bool | str] | None = None,
        expected: str = "not delayed",
    ) -> PlannedSchedule:
        """Who works on what in each step, if these delays happen: :func:`planned_schedule`."""
        made: PlannedSchedule = late("Policy.schedule")(self, outcomes, expected)
        return made

    def to_dataframe(
        self, most_situations: int = MOST_SITUATIONS, min_probability: float = 0.0
    ) -> pd.DataFrame:
        """What it does in every situation that it leads to, as a table; needs the extra `pandas`.

        See :func:`coreplan.plan_graph` for the parameters and for what is left out, and
        :func:`coreplan.analysis.tables.situation_table` for the columns.
        """
        return late("PlanGraph.to_dataframe")(plan_graph(self, most_situations, min_probability))

    def to_csv(
        self,
        path: str | Path,
        most_situations: int = MOST_SITUATIONS,
        min_probability: float = 0.0,
    ) -> None:
        """Write the same table to a file."""
        late("PlanGraph.to_csv")(plan_graph(self, most_situations, min_probability), path)

    def to_json(
        self,
        path: str | Path,
        most_situations: int = MOST_SITUATIONS,
        min_probability: float = 0.0,
    ) -> None:
        """Write the graph of situations, with all outcomes, to a file."""
        late("PlanGraph.to_json")(plan_graph(self, most_situations, min_probability), path)

    # -- files --------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write it to a file in the format ``policy/1`` (see docs/policy-format.md)."""
        write_policy(self, path)

    @classmethod
    def load(cls, path: str | Path, problem: PlanningProblem) -> Policy:
        """Read a ``policy/1`` file that was saved for the same problem."""
        return read_policy(path, problem)

    def _repr_html_(self) -> str:
        return str(late("Policy.html")(self))

    def __repr__(self) -> str:
        kind = "local" if self.is_local else "joint"
        return (
            f"<Policy for {self.problem.name!r}: {kind} rules, stages {self.stage} to "
            f"{self.horizon - 1}>"
        )


def read_policy(path: str | Path, problem: PlanningProblem) -> Policy:
    """Read a policy that was saved for this problem."""
    return read_document(path, lambda document: policy_of(document, problem))


def policy_of(document: Document, problem: PlanningProblem) -> Policy:
    """Make a policy of a document, or raise a FormatError with all its problems."""
    return make_policy(document, problem, Policy)
