"""The judge: exact optimal values by plain Bellman recursion over raw problem dictionaries.

It reads what ``json.load`` gives for a file of format ``ti-mmdp/1``, ``ti-mmdp/2`` or ``mpp/1``
and shares no code with the package under test.  It is written to be obviously right, not to be
fast, and it does not validate: it assumes a well-formed problem.

Joint states are tuples with one local state per agent, in the order of ``problem["agents"]``:

* ``ti-mmdp/1``, ``ti-mmdp/2``: the local state is the name of the state;
* ``mpp/1``: the local state is ``(not started, current, remaining)``, namely the frozenset of the
  names of the tasks that were not started yet, the name of the task in progress (or None), and the
  number of steps of work it still needs (0 if there is none).
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

Problem = dict[str, Any]
Local = Any
Joint = tuple[Any, ...]
JointAction = tuple[str, ...]
Policy = Callable[[int, Joint], JointAction]
Memo = dict[tuple[int, Joint], float]

WAIT = "wait"
CONTINUE = "continue"
START = "start "


class Model(ABC):
    """What the recursion needs to know of a problem; one subclass per format."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.agents: list[dict[str, Any]] = problem["agents"]
        self.horizon = int(problem["horizon"])  # it may be written 8.0

    @abstractmethod
    def initial(self, agent: int) -> Local:
        """Return the local state of an agent at stage 0."""

    @abstractmethod
    def actions(self, agent: int, stage: int, local: Local) -> list[str]:
        """List the actions available to an agent."""

    @abstractmethod
    def outcomes(
        self, agent: int, local: Local, action: str, stage: int = 0
    ) -> list[tuple[Local, float]]:
        """List the possible (probability > 0) next local states with their probabilities."""

    @abstractmethod
    def reward(self, stage: int, joint: Joint, action: JointAction, following: Joint) -> float:
        """Return the team reward of one joint transition."""

    def joint_initial(self) -> Joint:
        """Return the joint state at stage 0."""
        return tuple(self.initial(agent) for agent in range(len(self.agents)))

    def joint_actions(self, stage: int, joint: Joint) -> list[JointAction]:
        """List every combination of one available action per agent."""
        choices = [self.actions(agent, stage, local) for agent, local in enumerate(joint)]
        return list(itertools.product(*choices))

    def joint_outcomes(
        self, joint: Joint, action: JointAction, stage: int = 0
    ) -> Iterator[tuple[Joint, float]]:
        """Yield every combination of one possible outcome per agent, with its probability."""
        parts = [
            self.outcomes(agent, local, action[agent], stage) for agent, local in enumerate(joint)
        ]
        for combination in itertools.product(*parts):
            following = tuple(local for local, _ in combination)
            yield following, math.prod(probability for _, probability in combination)


# ------------------------------------------------------------------- ti-mmdp/1, ti-mmdp/2


def same_feature_value(left: Any, right: Any) -> bool:
    """Compare feature values: ``true`` is not 1, but 1 equals 1.0."""
    if isinstance(left, bool) or isinstance(right, bool):
        # Python says True == 1, the format does not: a boolean equals only the same boolean.
        return isinstance(left, bool) and isinstance(right, bool) and left == right
    return bool(left == right)


def state_matches(condition: Any, state: str, features: dict[str, dict[str, Any]]) -> bool:
    """Tell whether a state meets a condition: a name, a list of names, or features."""
    if isinstance(condition, str):
        return state == condition
    if isinstance(condition, list):
        return state in condition
    own = features.get(state, {})
    return all(
        name in own and same_feature_value(own[name], wanted) for name, wanted in condition.items()
    )


def action_matches(condition: Any, action: str) -> bool:
    """Tell whether an action meets a condition: a name or a list of names."""
    return action == condition if isinstance(condition, str) else action in condition


def piecewise_linear(points: list[list[float]], at: float) -> float:
    """Return what lies between the points on both sides; beyond the ends it is constant."""
    if at <= points[0][0]:
        return points[0][1]
    if at >= points[-1][0]:
        return points[-1][1]
    for (x, y), (next_x, next_y) in itertools.pairwise(points):
        if x <= at <= next_x:
            return y + (at - x) / (next_x - x) * (next_y - y)
    raise ValueError(f"points are not in order: {points}")


class TiMmdp(Model):
    """Formats ``ti-mmdp/1`` and ``ti-mmdp/2``."""

    def initial(self, agent: int) -> Local:
        """Return the name of the initial state."""
        return self.agents[agent]["initial"]

    def actions(self, agent: int, stage: int, local: Local) -> list[str]:
        """List the keys under the state."""
        return list(self._row(agent, stage, local))

    def _row(self, agent: int, stage: int, local: Local) -> dict[str, Any]:
        """Return the actions of a state at a stage: those for the stage, else the usual ones."""
        for change in self.agents[agent].get("transitions_at", []):
            if stage in change["stages"] and local in change["transitions"]:
                return dict(change["transitions"][local])
        return dict(self.agents[agent]["transitions"].get(local, {}))

    def outcomes(
        self, agent: int, local: Local, action: str, stage: int = 0
    ) -> list[tuple[Local, float]]:
        """List the outcomes of probability > 0, with the probabilities as they are."""
        # An outcome of probability 0 cannot happen; its state may well have no action.
        listed = self._row(agent, stage, local)[action]
        return [(state, probability) for state, probability in listed.items() if probability > 0]

    def reward(self, stage: int, joint: Joint, action: JointAction, following: Joint) -> float:
        """Sum the values of all entries of all reward functions that match."""
        # Entries that overlap all count, within a reward function and between functions.
        moves = {
            agent["name"]: (agent.get("features", {}), joint[i], action[i], following[i])
            for i, agent in enumerate(self.agents)
        }
        total = 0.0
        for function in self.problem.get("rewards", []):
            for entry in function["entries"]:
                if self._entry_matches(entry, stage, moves):
                    total += entry["value"]
        for aggregate in self.problem.get("aggregates", []):
            if stage in aggregate.get("stages", range(self.horizon)):
                step = aggregate.get("step", 1)
                steps = sum(
                    round(each["amount"] / step)
                    for each in aggregate["amounts"]
                    if self._entry_matches(each, stage, moves)
                )
                value = aggregate["value"]
                if "table" in value:
                    total += value["table"][steps]
                else:
                    total += piecewise_linear(value["points"], steps * step)
        return float(total * self.problem.get("discount", 1) ** stage)

    @staticmethod
    def _entry_matches(entry: dict[str, Any], stage: int, moves: dict[str, Any]) -> bool:
        # `stages` is a list of stage numbers, not a range.
        if "stages" in entry and stage not in entry["stages"]:
            return False
        for name, parts in entry.get("when", {}).items():
            features, state, action, following = moves[name]
            if "state" in parts and not state_matches(parts["state"], state, features):
                return False
            if "action" in parts and not action_matches(parts["action"], action):
                return False
            if "next" in parts and not state_matches(parts["next"], following, features):
                return False
        return True


# ----------------------------------------------------------------------------------- mpp/1


def at_stage(cost: Any, stage: int) -> float:
    """Return the cost at a stage: one number for all stages, or a list of one per stage."""
    return float(cost[stage]) if isinstance(cost, list) else float(cost)


class Mpp(Model):
    """Format ``mpp/1``, worked on directly (no translation into the other format)."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.must_complete = bool(problem.get("must_complete", False))
        self.tasks: list[dict[str, dict[str, Any]]] = [
            {task["name"]: task for task in agent["tasks"]} for agent in self.agents
        ]
        self._completable: dict[tuple[int, int, Local], bool] = {}

    def initial(self, agent: int) -> Local:
        """Return the local state in which nothing was started."""
        return (frozenset(self.tasks[agent]), None, 0)

    def actions(self, agent: int, stage: int, local: Local) -> list[str]:
        """List the possible actions, with ``must_complete`` only those that are safe."""
        possible = self.possible_actions(agent, stage, local)
        if not self.must_complete:
            return possible
        return [action for action in possible if self._safe(agent, stage, local, action)]

    def possible_actions(self, agent: int, stage: int, local: Local) -> list[str]:
        """List the actions that the rules of work allow, whatever ``must_complete`` says."""
        not_started, current, _ = local
        if current is not None:
            return [CONTINUE]
        found = [WAIT]
        for name, task in self.tasks[agent].items():
            if name in not_started:
                first, last = task.get("window", (0, math.inf))
                if first <= stage <= last and not self._is_closed(task, stage):
                    found.append(START + name)
        return found

    def _is_closed(self, task: dict[str, Any], stage: int) -> bool:
        """Tell whether closed steps forbid a start; files have none, tests add ``closed``."""
        durations = [int(task["duration"])]
        if task.get("delay", {}).get("probability", 0) > 0:
            durations.append(durations[0] + int(task["delay"]["duration"]))
        for closure in self.problem.get("closed", []):
            steps = range(stage, stage + 1)
            if closure["no"] == "work":
                steps = range(stage, stage + max(durations))
            if any(closure["first"] <= step <= closure["last"] for step in steps):
                return True
        return False

    def _safe(self, agent: int, stage: int, local: Local, action: str) -> bool:
        """Tell whether all tasks can still be completed whatever the outcome of the action."""
        return all(
            self.can_complete(agent, stage + 1, following)
            for following, _ in self.outcomes(agent, local, action)
        )

    def can_complete(self, agent: int, stage: int, local: Local) -> bool:
        """Tell whether the agent has a way, reacting to delays, to complete all its tasks."""
        if stage == self.horizon:
            # Nothing may be left undone, and nothing may be cut off by the horizon.
            not_started, current, _ = local
            return not not_started and current is None
        key = (agent, stage, local)
        if key not in self._completable:
            self._completable[key] = any(
                self._safe(agent, stage, local, action)
                for action in self.possible_actions(agent, stage, local)
            )
        return self._completable[key]

    def outcomes(
        self, agent: int, local: Local, action: str, stage: int = 0
    ) -> list[tuple[Local, float]]:
        """List what the local state can be after one stage, whichever it is."""
        not_started, current, remaining = local
        if action == WAIT:
            return [((not_started, None, 0), 1.0)]
        if action == CONTINUE:
            return [(self._after_step(not_started, current, remaining), 1.0)]
        name = action.removeprefix(START)
        task = self.tasks[agent][name]
        left = not_started - {name}
        duration = int(task["duration"])
        # The stage of the start is the first step of work; whether there is a delay is known after
        # it.  So the delay is an outcome of the start, and the remaining steps tell it to everyone.
        on_time = self._after_step(left, name, duration)
        if "delay" not in task:
            return [(on_time, 1.0)]
        probability = task["delay"]["probability"]
        late = self._after_step(left, name, duration + int(task["delay"]["duration"]))
        # A delay of probability 0 never happens, and neither does the absence of a certain one.
        both = [(on_time, 1.0 - probability), (late, float(probability))]
        return [(following, chance) for following, chance in both if chance > 0]

    @staticmethod
    def _after_step(not_started: frozenset[str], current: str, remaining: int) -> Local:
        """Return the local state after one of the remaining steps of work is done."""
        if remaining == 1:
            return (not_started, None, 0)
        return (not_started, current, remaining - 1)

    def reward(self, stage: int, joint: Joint, action: JointAction, following: Joint) -> float:
        """Sum the revenues of completed tasks less the costs of work and of the network."""
        total = 0.0
        working: set[str] = set()  # as "agent/task", the way network entries name tasks
        for i, agent in enumerate(self.agents):
            if action[i] == WAIT:
                continue
            current = joint[i][1] if action[i] == CONTINUE else action[i].removeprefix(START)
            task = self.tasks[i][current]
            working.add(f"{agent['name']}/{current}")
            total -= at_stage(task["cost"], stage)
            if following[i][1] is None:
                # That was the last step of work.  It was done in a stage < horizon, so the task is
                # complete; one that the horizon cuts off never gets here.
                total += task.get("revenue", 0)
        for entry in self.problem.get("network", []):
            if all(name in working for name in entry["tasks"]):
                total -= at_stage(entry["cost"], stage)
        return total


# ----------------------------------------------------------------------------- both formats


def model_of(problem: Problem) -> Model:
    """Return the model of a problem of any format."""
    if problem["format"] in ("ti-mmdp/1", "ti-mmdp/2"):
        return TiMmdp(problem)
    if problem["format"] == "mpp/1":
        return Mpp(problem)
    raise ValueError(f"not a problem format: {problem['format']!r}")


def _value(model: Model, stage: int, joint: Joint, memo: Memo) -> float:
    """Return the optimal expected sum of rewards from a stage and joint state on."""
    if stage == model.horizon:
        return 0.0
    key = (stage, joint)
    if key not in memo:
        choices = model.joint_actions(stage, joint)
        if not choices:
            raise ValueError(f"an agent has no action at stage {stage} in {joint!r}")
        memo[key] = max(_action_value(model, stage, joint, action, memo) for action in choices)
    return memo[key]


def _action_value(model: Model, stage: int, joint: Joint, action: JointAction, memo: Memo) -> float:
    """Return the expected sum of rewards of a joint action followed by optimal ones."""
    total = 0.0
    for following, probability in model.joint_outcomes(joint, action, stage):
        immediate = model.reward(stage, joint, action, following)
        total += probability * (immediate + _value(model, stage + 1, following, memo))
    return total


def _value_from(model: Model, stage: int, joint_state: Joint | None) -> float:
    joint = model.joint_initial() if joint_state is None else joint_state
    return _value(model, stage, joint, {})


def timmdp_value(problem: Problem, stage: int = 0, joint_state: Joint | None = None) -> float:
    """Return the optimal value of a ``ti-mmdp`` problem, by default from its start."""
    return _value_from(TiMmdp(problem), stage, joint_state)


def mpp_value(problem: Problem, stage: int = 0, joint_state: Joint | None = None) -> float:
    """Return the optimal value of an ``mpp/1`` problem, by default from its start.

    Raises ValueError if ``must_complete`` leaves an agent without an action.
    """
    return _value_from(Mpp(problem), stage, joint_state)


def optimal_value(problem: Problem) -> float:
    """Return the optimal value of a problem of either format from its start."""
    return _value_from(model_of(problem), 0, None)


def optimal_values(problem: Problem) -> Memo:
    """Return the optimal value of every (stage, joint state) that can be reached."""
    model = model_of(problem)
    memo: Memo = {}
    _value(model, 0, model.joint_initial(), memo)
    return memo


def mpp_feasible(problem: Problem) -> bool:
    """Tell whether an ``mpp/1`` problem is to be accepted: always, unless ``must_complete``.

    With ``must_complete`` every agent must be able to complete its tasks from the start, whatever
    the delays; the agents do not constrain each other.
    """
    model = Mpp(problem)
    return not model.must_complete or not infeasible_agents(problem)


def infeasible_agents(problem: Problem) -> list[str]:
    """Name the agents of an ``mpp/1`` problem that cannot be sure to complete all their tasks."""
    model = Mpp(problem)
    return [
        agent["name"]
        for i, agent in enumerate(model.agents)
        if not model.can_complete(i, 0, model.initial(i))
    ]


def available_actions(problem: Problem, stage: int, joint_state: Joint) -> list[list[str]]:
    """Name the actions available to each agent."""
    model = model_of(problem)
    return [model.actions(agent, stage, local) for agent, local in enumerate(joint_state)]


def greedy_policy(problem: Problem) -> Policy:
    """Return an optimal policy: in each joint state the first joint action of the best value."""
    model = model_of(problem)
    memo: Memo = {}

    def act(stage: int, joint: Joint) -> JointAction:
        return max(
            model.joint_actions(stage, joint),
            key=lambda action: _action_value(model, stage, joint, action, memo),
        )

    return act


def policy_value(
    problem: Problem, act: Policy, stage: int = 0, joint_state: Joint | None = None
) -> float:
    """Return the exact expected sum of rewards of a given policy, by default from the start.

    It carries the distribution over joint states forward from the first one, so ``act`` is asked
    only about joint states that the policy itself can reach.  Raises ValueError if the policy takes
    an action that is not available.
    """
    model = model_of(problem)
    total = 0.0
    reached: dict[Joint, float] = {joint_state or model.joint_initial(): 1.0}
    for at in range(stage, model.horizon):
        reached_next: dict[Joint, float] = {}
        for joint, weight in reached.items():
            action = tuple(act(at, joint))
            if action not in model.joint_actions(at, joint):
                raise ValueError(f"{action!r} is not available at stage {at} in {joint!r}")
            for following, probability in model.joint_outcomes(joint, action, at):
                total += weight * probability * model.reward(at, joint, action, following)
                reached_next[following] = reached_next.get(following, 0.0) + weight * probability
        reached = reached_next
    return total


def local_states(problem: Problem) -> list[list[list[Local]]]:
    """List the local states each agent can reach by any actions, as ``[stage][agent]``.

    The agents' transitions and actions do not depend on each other, so the joint states that can be
    reached at a stage are exactly the combinations of these.
    """
    model = model_of(problem)
    agents = range(len(model.agents))
    stages = [[[model.initial(agent)] for agent in agents]]
    for stage in range(model.horizon - 1):
        following: list[list[Local]] = []
        for agent in agents:
            found: dict[Local, None] = {}  # a set in a fixed order
            for local in stages[stage][agent]:
                for action in model.actions(agent, stage, local):
                    after = model.outcomes(agent, local, action, stage)
                    found.update(dict.fromkeys(s for s, _ in after))
            following.append(list(found))
        stages.append(following)
    return stages


def joint_states(problem: Problem) -> Iterator[tuple[int, Joint]]:
    """Yield every (stage, joint state) that can be reached by any actions, stage < horizon."""
    for stage, per_agent in enumerate(local_states(problem)):
        for joint in itertools.product(*per_agent):
            yield stage, joint


def count_joint_states(problem: Problem) -> int:
    """Count the (stage, joint state) that can be reached by any actions, stage < horizon."""
    return sum(math.prod(map(len, per_agent)) for per_agent in local_states(problem))


def count_joint_transitions(problem: Problem) -> int:
    """Count the joint transitions the recursion looks at: a measure of its work."""
    model = model_of(problem)
    total = 0
    for stage, per_agent in enumerate(local_states(problem)):
        total += math.prod(
            sum(
                len(model.outcomes(agent, local, action, stage))
                for local in locals_
                for action in model.actions(agent, stage, local)
            )
            for agent, locals_ in enumerate(per_agent)
        )
    return total
