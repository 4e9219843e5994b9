"""Policies: an action for every agent, at every stage, in every joint state."""

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
from coreplan.policies.evaluation import Beginning, evaluate_and_count, evaluate_policy
from coreplan.policies.graph import MOST_SITUATIONS, plan_graph
from coreplan.policies.group_rule import GroupRule, GroupTable
from coreplan.policies.histories import ReachedHistories
from coreplan.policies.later import later_policy
from coreplan.policies.lookahead import (
    LookaheadRule,
    check_ahead,
    own_classes,
    positions_of_map,
)
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
    from coreplan.policies.own import Decide, DecideAlone, DecideMany


class Policy:
    """A plan: a joint action for every stage and every joint state that can be reached.

    This includes states that only other actions reach, because people deviate from plans.
    :func:`coreplan.solve` makes policies, :meth:`load` reads them from files.

    Attributes
    ----------
    problem
        The problem that it plans for.
    stage
        The first stage of the policy.
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
        ahead: Sequence[LookaheadRule] = (),
    ) -> None:
        self.problem = problem
        self.indexed = indexed
        self.maps = tuple(maps)
        self.teams = tuple(teams)
        self.local = local
        self.groups = groups
        self.ahead = tuple(ahead)
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
        check_ahead(self.ahead, self.maps, self.teams)
        # The same for the classes of the rule of groups.
        self._group_offset = self._class_offset
        if groups is not None:
            check_groups(groups, self.maps, self.teams)
            if groups.reduced is not None:
                self._group_offset = [count_before(each.class_count) for each in groups.reduced]
        # For each agent, made on first use: the choice for each place in `node_action`, or -1.
        self._choice_of: list[Integers | None] = [None] * len(self.maps)
        self._reached: ReachedHistories | None = None

    @classmethod
    def from_function(
        cls,
        problem: PlanningProblem,
        function: Decide | DecideMany | Mapping[str, DecideAlone],
        *,
        stage: int = 0,
        state: JointState | None = None,
        arrays: bool = False,
    ) -> Policy:
        """Make a policy of one's own, which can do all that a solver's policy can.

        Parameters
        ----------
        problem
            The problem.
        function
            Called with a stage and the joint state, a value for each agent by name; returns the
            name of an action for each agent. It is called once for each joint state that is
            needed, and must always answer the same. Or a function for each agent, by name, which
            sees only the stage and the agent's own state: then much larger teams have exact values.
        stage, state
            Where the policy starts; default: the beginning.
        arrays
            Whether the function decides for many joint states at once: it then gets the stage and
            an array with a row of numbers of states for each joint state and a column for each
            agent, and returns the numbers of actions in the same shape. ``problem.index().agents``
            has the names of both.

        Raises
        ------
        ModelError
            If the start is invalid. Wrong answers are errors when the function is called.

        Examples
        --------
        >>> from coreplan import TIMMDP, Agent, RewardFunction, solve
        >>> walker = Agent.from_functions(
        ...     "walker", 0, lambda s: ["go", "stay"],
        ...     lambda s, a: {s + 1: 0.5, s: 0.5} if a == "go" else {s: 1.0}, horizon=2)
        >>> there = RewardFunction.from_function([walker], lambda move: move.next)
        >>> problem = TIMMDP([walker], [there], horizon=2)
        >>> mine = Policy.from_function(
        ...     problem, lambda stage, state: {"walker": "stay" if state["walker"] else "go"})
        >>> mine.evaluate(), solve(problem).value
        (1.25, 1.5)
        """
        made: Policy = late("Policy.from_function")(
            problem, function, stage=stage, state=state, arrays=arrays
        )
        return made

    @property
    def is_local(self) -> bool:
        """Whether the action of every agent depends on its own state only."""
        return not self.teams and self.groups is None and not self.ahead

    @property
    def base(self) -> Policy:
        """The same plan without looking ahead: the policy whose value a solver certifies."""
        if not self.ahead:
            return self
        return Policy(
            self.problem,
            self.indexed,
            self.maps,
            self.teams,
            self.local,
            history=self.history,
            groups=self.groups,
        )

    @property
    def parts(self) -> list[tuple[int, ...]]:
        """Sets of agents that decide without seeing the others.

        A set is a team, agents that can form groups with each other, or a single agent.
        """
        several = [rule.agents for rule in self.ahead]
        taken = {i for agents in several for i in agents}
        several += [team.agents for team in self.teams if team.agents[0] not in taken]
        if self.groups is not None:
            several += [each for each in self.groups.components if each[0] not in taken]
        taken = {i for agents in several for i in agents}
        return [*several, *((i,) for i in range(len(self.maps)) if i not in taken)]

    # -- decisions ----------------------------------------------------------------------------

    def act(self, stage: int, joint_state: JointState | None = None) -> dict[str, str]:
        """Look up the joint action for a joint state at a stage.

        Parameters
        ----------
        stage
            The stage, from the policy's first one to horizon - 1.
        joint_state
            A local state for every agent, by name. In a maintenance problem: the completed works of
            each contractor, its work in progress and the remaining steps. None means the state in
            which the policy starts. If the states of the policy include start and end times
            (``merge=False``) and none are given, the policy assumes times that it reaches, if any.

        Returns
        -------
        dict
            The name of an action for every agent.

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

    def starting_from(self, stage: int, joint_state: JointState | None = None) -> Policy:
        """The same plan from a later stage and a joint state on, as a policy of its own.

        Parameters
        ----------
        stage, joint_state
            The situation, as in :meth:`act`.

        Raises
        ------
        ModelError
            If the policy starts later, or the joint state cannot come about at that stage.
        """
        return later_policy(self, stage, joint_state)

    def find_state(self, stage: int, joint_state: JointState | None) -> tuple[int, ...]:
        """The state numbers of a joint state, which is given as in :meth:`act`."""
        state = self.indexed.find_state(stage, joint_state)
        if joint_state is None or not self.history:
            return state
        if self._reached is None:
            self._reached = ReachedHistories(self)
        return self._reached.settle(stage, joint_state, state)

    def choose(self, stage: int, state: Sequence[int]) -> list[int]:
        """The numbers of the agents' choices, see :class:`coreplan.model.indexed.IndexedAgent`."""
        columns = [np.array([each], dtype=np.uint32) for each in state]
        return [int(each[0]) for each in self.choose_many(stage, range(len(columns)), columns)]

    def choose_many(
        self,
        stage: int,
        agents: Sequence[int],
        states: Sequence[Indices],
        absent: Sequence[NDArray[np.bool_]] | None = None,
    ) -> list[Integers]:
        """Decide for some agents in many joint states at once, all by numbers.

        Parameters
        ----------
        stage
            The stage.
        agents
            One or more whole :attr:`parts`.
        states
            For each agent: its local state in each joint state.
        absent
            For each agent, the joint states in which it is out of reach of the others: it is in no
            group there, and its choice is meaningless.

        Returns
        -------
        list
            For each agent: its choice in each joint state.
        """
        nodes = {i: self._nodes(stage, i, each) for i, each in zip(agents, states, strict=True)}
        slots = {i: self._local_slots(stage, i, each) for i, each in nodes.items()}
        if self.groups is not None:
            away = {} if absent is None else dict(zip(agents, absent, strict=True))
            self._decide_groups(self.groups, stage, nodes, slots, away)
        for team, numbering in zip(self.teams, self._numbering, strict=True):
            if team.agents[0] in slots:
                self._decide_team(team, numbering, stage, nodes, slots)
        for rule in self.ahead:
            if rule.agents[0] in slots:
                self._decide_ahead(rule, stage, nodes, slots)
        return [
            self._choices(stage, i, each, slots[i]) for i, each in zip(agents, states, strict=True)
        ]

    def local_actions(self, stage: int, agent: int, states: Indices) -> Indices:
        """The numbers of the actions that an agent's local rule takes in some of its states."""
        slots = self._local_slots(stage, agent, self._nodes(stage, agent, states))
        return self.maps[agent].node_action[slots]

    def _nodes(self, stage: int, agent: int, states: Indices) -> Integers:
        """The agent's nodes at a stage; raises a ModelError if it cannot be in a state."""
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
        """Overwrite the actions of a team in joint classes that its rule knows."""
        layer = stage - self.stage
        first, end = numbering.layer_offset[layer : layer + 2]
        if first == end:
            return
        own = [self.maps[i].node_class[nodes[i]] for i in team.agents]
        rows = np.arange(len(own[0]))
        if team.reduced is not None:
            # Classes of the map, counted through all stages, and the classes of the rule for them.
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

    def _decide_ahead(
        self,
        rule: LookaheadRule,
        stage: int,
        nodes: Mapping[int, Integers],
        slots: Mapping[int, Integers],
    ) -> None:
        """Overwrite the actions of a team that looks ahead."""
        numbers = [
            self.maps[i].node_class[nodes[i]] + self._class_offset[i][stage - self.stage]
            for i in rule.agents
        ]
        columns = [own_classes(rule, k, each) for k, each in enumerate(numbers)]
        rows, row_of = distinct_rows(columns)
        decided = rule.model.choose(stage, [each[rows] for each in columns])
        for k, i in enumerate(rule.agents):
            position, known = positions_of_map(rule, k, numbers[k], decided[k][row_of])
            slots[i][known] = self.maps[i].action_begin[nodes[i][known]] + position[known]

    def _decide_groups(
        self,
        rule: GroupRule,
        stage: int,
        nodes: Mapping[int, Integers],
        slots: Mapping[int, Integers],
        absent: Mapping[int, NDArray[np.bool_]],
    ) -> None:
        """Overwrite the actions of agents whose group has a decision."""
        agents = sorted(rule.agents & nodes.keys())
        if not agents:
            return
        own = {i: self._group_classes(rule, stage, i, nodes[i]) for i in agents}
        for i in absent.keys() & own.keys():
            own[i][absent[i]] = GONE
        lists = [self._group_lists(rule, stage, i, own[i]) for i in agents]
        first = rule.couplings.together(agents, lists)
        for k, i in enumerate(agents):
            # The groups that begin with this agent, in the situations in which it is first.
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
        """Overwrite the actions of a group in the rows for which its table has a decision."""
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
        """The agent's classes within the stage, in the numbers of the rule of groups."""
        classes = self.maps[agent].node_class[nodes]
        if rule.reduced is None:
            return classes
        numbers = classes + self._class_offset[agent][stage - self.stage]
        known: Indices = rule.reduced[agent].class_of[numbers]
        return known

    def _group_lists(self, rule: GroupRule, stage: int, agent: int, classes: Indices) -> Integers:
        """An agent's lists of conditions that it can still match, by classes of the rule."""
        before = self._group_offset[agent][stage - self.stage]
        lists = np.full(len(classes), rule.couplings.nothing(agent))
        known = classes != GONE
        lists[known] = rule.chances[agent].list_of[classes[known] + before]
        return lists

    def group_lists(self, stage: int, agent: int, states: Indices) -> Integers:
        """With a rule of groups: an agent's lists of conditions that it can still match."""
        assert self.groups is not None
        nodes = self._nodes(stage, agent, states)
        classes = self._group_classes(self.groups, stage, agent, nodes)
        return self._group_lists(self.groups, stage, agent, classes)

    # -- values -------------------------------------------------------------------------------

    def evaluate(
        self,
        method: str = "forward",
        *,
        time_limit: float = math.inf,
        memory_limit: float = math.inf,
    ) -> float:
        """Compute the exact expected value from the description of the problem.

        Parameters
        ----------
        method
            ``forward`` carries the distribution over joint states forward, separately for each
            team, each group of agents that can still interact and each single agent. Its effort
            depends on the joint states that each of them can reach, not on their number.
            ``sequences`` enumerates all execution sequences (paper, Eq. 4) and is for small
            problems only.
        time_limit
            The approximate time limit of ``forward`` in seconds.
        memory_limit
            The approximate memory limit of ``forward`` in megabytes.

        Raises
        ------
        SolverError
            If a team can reach too many joint states, or if a limit is reached; use
            :meth:`estimate` in this case.
        """
        if method == "sequences":
            return float(late("Policy.evaluate.sequences")(self))
        if method != "forward":
            raise ModelError(f"method is {found(method)}; expected 'forward' or 'sequences'")
        return evaluate_policy(self, time_limit=time_limit, memory_limit=memory_limit)

    def value(self, stage: int | None = None, joint_state: JointState | None = None) -> float:
        """The exact expected value of the rewards from a stage and joint state on.

        Parameters
        ----------
        stage, joint_state
            The situation, as in :meth:`act`; default: the start of the policy.
        """
        if stage is None:
            return self.evaluate()
        self.act(stage, joint_state)  # an error if there is no such situation
        state = self.find_state(stage, joint_state)
        return evaluate_and_count(self, beginning=Beginning(stage, state))[0]

    def q(
        self, stage: int, joint_state: JointState | None, joint_action: Mapping[str, str]
    ) -> float:
        """The exact expected value of a joint action now, and of following the policy afterwards.

        Parameters
        ----------
        stage, joint_state
            The situation, as in :meth:`act`.
        joint_action
            The name of an action for each agent.
        """
        self.act(stage, joint_state)
        state = self.find_state(stage, joint_state)
        choices = self.indexed.find_choices(stage, state, joint_action)
        beginning = Beginning(stage, state, choices)
        return evaluate_and_count(self, beginning=beginning)[0]

    def estimate(self, runs: int, seed: int, confidence: float = 0.95) -> Estimate:
        """Estimate the value by simulation, which works for any policy.

        Parameters
        ----------
        runs
            The number of independent runs, at least 2; thousands are better.
        seed
            The seed of the random numbers: the same seed gives the same estimate.
        confidence
            The approximate probability that the interval contains the exact value.

        Returns
        -------
        Estimate
            The mean return and an interval, by the normal approximation.
        """
        return self.simulate(runs, seed, confidence=confidence).value

    def simulate(self, runs: int, seed: int = 1, **options: Any) -> Simulation:
        """Run the policy many times, and collect statistics: :func:`coreplan.simulate`."""
        made: Simulation = late("Policy.simulate")(self, runs, seed, **options)
        return made

    # -- analyses ------------------------------------------------------------------------------

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
        """Compare the action in a joint state with the alternatives and their values.

        Parameters
        ----------
        stage, joint_state
            The situation, as in :meth:`act`.
        most
            The most alternatives to keep in which several agents act differently; the best are
            kept. Alternatives in which one agent acts differently are all kept.
        agents
            The agents whose other actions are examined; default: all.
        time_limit
            The approximate time limit in seconds. If exact values take too long, simulation
            estimates them.
        seed
            The seed of the simulation's random numbers.

        Raises
        ------
        ModelError
            If the joint state cannot come about at that stage.
        LimitError
            If the time limit is reached before the value of the policy's own action is known.
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
        """The works of each step if given delays happen: :func:`planned_schedule`."""
        made: PlannedSchedule = late("Policy.schedule")(self, outcomes, expected)
        return made

    def to_dataframe(
        self, most_situations: int = MOST_SITUATIONS, min_probability: float = 0.0
    ) -> pd.DataFrame:
        """Make a table of the situations that the policy reaches; needs the extra `pandas`.

        See :func:`coreplan.policies.plan_graph` for the parameters and for what is left out, and
        :func:`coreplan.analysis.tables.situation_table` for the columns.
        """
        return late("PlanGraph.to_dataframe")(plan_graph(self, most_situations, min_probability))

    def to_csv(
        self,
        path: str | Path,
        most_situations: int = MOST_SITUATIONS,
        min_probability: float = 0.0,
    ) -> None:
        """Write the table of :meth:`to_dataframe` to a CSV file."""
        late("PlanGraph.to_csv")(plan_graph(self, most_situations, min_probability), path)

    def to_json(
        self,
        path: str | Path,
        most_situations: int = MOST_SITUATIONS,
        min_probability: float = 0.0,
    ) -> None:
        """Write the graph of situations, with all outcomes, to a file."""
        late("PlanGraph.to_json")(plan_graph(self, most_situations, min_probability), path)

    def stored(self) -> Policy:
        """The policy as tables, for files; a policy from a function is then in memory as a whole.

        Raises
        ------
        SolverError
            If a function decides for too many joint states.
        """
        return self

    # -- files --------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the policy to a file in the format ``policy/1`` (see docs/policy-format.md)."""
        write_policy(self, path)

    @classmethod
    def load(cls, path: str | Path, problem: PlanningProblem) -> Policy:
        """Read a ``policy/1`` file that was saved for the same problem."""
        return read_policy(path, problem)

    def _repr_html_(self) -> str:
        return str(late("Policy.html")(self))

    def __repr__(self) -> str:
        kind = "local" if self.is_local else "lookahead" if self.ahead else "joint"
        return (
            f"<Policy for {self.problem.name!r}: {kind} rules, stages {self.stage} to "
            f"{self.horizon - 1}>"
        )


def read_policy(path: str | Path, problem: PlanningProblem) -> Policy:
    """Read a policy that was saved for this problem."""
    return read_document(path, lambda document: policy_of(document, problem))


def policy_of(document: Document, problem: PlanningProblem) -> Policy:
    """Make a policy from a document, or raise a FormatError with all mistakes."""
    return make_policy(document, problem, Policy)
