"""Stationary problems in SPUDD's own input format.

SPUDD is value iteration on algebraic decision diagrams. Its files have variables, actions and
rewards, but no stages. A problem can be exported only if its actions and rewards are the same at
every stage; others are refused. The finite horizon is the number of iterations (`horizon N`,
without discount). The value of the problem is the value of the initial joint state after the
iterations. The format has no place for the initial state; a comment names it.

- Each agent is a variable. Its values `s0`, `s1`, ... are the agent's local states; comments give
  the names.
- SPUDD has no joint actions: each of them is a separate action, so their number is limited.
- In SPUDD all actions are available in all states. If an agent cannot take an action in a state,
  the action behaves like its first available one, with the same reward. The joint actions of a
  state are then the real ones, some of them twice, and the optimum is the same. A penalty could be
  too small, or large enough to cost precision; this encoding needs none.
- A state that can be reached only at the horizon needs no actions. It does not change and earns
  nothing.
- Rewards are expectations, as negative costs of the actions. The `reward` itself is 0, because
  SPUDD starts its iterations from it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from coreplan.errors import SolverError
from coreplan.interop.expectations import Expectations, Members, StageValue
from coreplan.interop.text import finite, quoted
from coreplan.model.indexed import IndexedProblem, JointState
from coreplan.model.problem import index_problem
from coreplan.solving.compile import AnyProblem, unroll_problem
from coreplan.solving.limits import Limits
from coreplan.solving.solver import check_problem, errors_of_the_core
from coreplan.support.checks import found

MOST_ACTIONS = 10_000
"""The most joint actions of a file."""

MOST_LEAVES = 5_000_000
"""The most leaves of all decision trees of a file."""

MOST_REASONS = 5
"""The most reasons that an error lists."""


@dataclass(frozen=True)
class SpuddModel:
    """A problem in SPUDD's format.

    Attributes
    ----------
    text
        The content of the file.
    start
        The value of each variable in the initial joint state.
    horizon
        The number of iterations.
    """

    text: str
    start: Mapping[str, str]
    horizon: int


def to_spudd(
    problem: AnyProblem,
    *,
    stage: int = 0,
    state: JointState | None = None,
    limits: Limits | None = None,
) -> SpuddModel:
    """Write a stationary problem in SPUDD's format.

    Parameters
    ----------
    problem
        A TI-MMDP or an MPP whose actions and rewards do not depend on the stage.
    stage, state
        Where planning starts; by default at the beginning.
    limits
        Time and memory to find all states that can be reached.

    Raises
    ------
    SolverError
        If actions or rewards depend on the stage (the message says which), or if the problem has
        too many joint actions.

    Examples
    --------
    >>> from coreplan import Contractor, MaintenanceProblem, Task
    >>> alpha = Contractor("Alpha", (Task("a1", duration=1, cost=3, revenue=20),))
    >>> model = to_spudd(MaintenanceProblem((alpha,), horizon=2))
    >>> model.horizon, dict(model.start)
    (2, {'agent0': 's0'})
    """
    check_problem(problem)
    limits = limits or Limits()
    indexed = index_problem(problem, stage=stage, state=state, guard=limits.guard)
    expectations = Expectations(indexed)
    agents = _read_agents(indexed, expectations, limits)
    _check_size(agents, expectations)
    text = "\n".join(_lines(indexed, expectations, agents)) + "\n"
    start = {
        agent.variable: agent.values[described.start]
        for agent, described in zip(agents, indexed.agents, strict=True)
    }
    return SpuddModel(text, start, indexed.horizon - indexed.stage)


def _check_size(agents: Sequence[_Agent], expectations: Expectations) -> None:
    """Refuse a problem whose file would be too large."""
    joint = math.prod(len(agent.actions) for agent in agents)
    if joint > MOST_ACTIONS:
        raise SolverError(
            f"the problem has {joint:,} joint actions, and SPUDD needs one action for each; "
            f"expected at most {MOST_ACTIONS:,}"
        )
    leaves = sum(len(agent.actions) * len(agent.values) ** 2 for agent in agents) + sum(
        math.prod(len(agents[who].actions) * len(agents[who].values) for who in scope)
        for scope in {tuple(who for who, _ in members) for members in expectations.shared}
    )
    if leaves > MOST_LEAVES:
        raise SolverError(
            f"the SPUDD file would need decision trees with up to {leaves:,} leaves; expected "
            f"at most {MOST_LEAVES:,}"
        )


@dataclass
class _Agent:
    """One agent as a variable."""

    variable: str
    values: dict[int, str]
    """For each local state that can be reached: its name in the file."""
    actions: list[int]
    """Actions of the description that are available in some state."""
    does: dict[int, dict[int, int | None]]
    """For each action and local state: the choice that it stands for, or None."""


def _read_agents(
    indexed: IndexedProblem, expectations: Expectations, limits: Limits
) -> list[_Agent]:
    with errors_of_the_core():
        graphs = unroll_problem(indexed, limits)
    reasons = list(_changing_rewards(indexed, expectations))
    agents = []
    for number, described in enumerate(indexed.agents):
        layer_begin = graphs.layer_begin(number).tolist()
        node_state = graphs.node_state(number).tolist()
        choice_begin = graphs.choice_begin(number).tolist()
        base = graphs.choice_base(number).tolist()
        choices: dict[int, tuple[int, ...]] = {}
        first_seen: dict[int, int] = {}
        changed: set[int] = set()
        for layer in range(len(layer_begin) - 1):
            for node in range(layer_begin[layer], layer_begin[layer + 1]):
                state, at = node_state[node], indexed.stage + layer
                if at == indexed.horizon:
                    choices.setdefault(state, ())
                    continue
                now = tuple(base[choice_begin[node] : choice_begin[node + 1]])
                if choices.setdefault(state, now) != now and state not in changed:
                    changed.add(state)
                    reasons.append(
                        f"agent {found(described.name)} has other actions in state "
                        f"{found(described.states.label(state))} at stage {at} than at stage "
                        f"{first_seen[state]}"
                    )
                first_seen.setdefault(state, at)
        by_action = {
            state: {described.choice_action[choice]: choice for choice in each}
            for state, each in choices.items()
        }
        actions = sorted({action for each in by_action.values() for action in each})
        agents.append(
            _Agent(
                f"agent{number}",
                {state: f"s{k}" for k, state in enumerate(sorted(choices))},
                actions,
                {
                    action: {
                        state: each.get(action, next(iter(each.values()), None))
                        for state, each in sorted(by_action.items())
                    }
                    for action in actions
                },
            )
        )
    if reasons:
        more = f", and {len(reasons) - MOST_REASONS} more" if len(reasons) > MOST_REASONS else ""
        raise SolverError(
            "this problem cannot be written for SPUDD, whose format has no stages: "
            + "; ".join(reasons[:MOST_REASONS])
            + more
        )
    return agents


def _changing_rewards(indexed: IndexedProblem, expectations: Expectations) -> Iterator[str]:
    stages = range(indexed.stage, indexed.horizon)
    values: dict[Members, StageValue] = {
        (): expectations.constant,
        **{((who, k),): v for who, own in enumerate(expectations.own) for k, v in own.items()},
        **expectations.shared,
    }
    changing = sorted(
        {
            function
            for members, value in values.items()
            if not value.is_same_at(stages)
            for function in expectations.functions[members]
        }
    )
    for function in changing:
        yield f"the reward {found(indexed.functions[function])} differs between stages"


def _lines(
    indexed: IndexedProblem, expectations: Expectations, agents: Sequence[_Agent]
) -> Iterator[str]:
    """The lines of the file, in order."""
    yield f"// {quoted(indexed.name)}, written by coreplan for SPUDD"
    start = ", ".join(
        f"{agent.variable}={agent.values[described.start]}"
        for agent, described in zip(agents, indexed.agents, strict=True)
    )
    yield f"// The value is that of {start} after {indexed.horizon - indexed.stage} iterations."
    for agent, described in zip(agents, indexed.agents, strict=True):
        yield f"// {agent.variable}: {quoted(described.name)}"
        for state, value in agent.values.items():
            yield f"//   {value}: {quoted(described.states.label(state))}"
    yield ""
    yield "(variables"
    for agent in agents:
        yield f"  ({agent.variable} {' '.join(agent.values.values())})"
    yield ")"
    yield ""
    yield "unnormalised"
    costs = _Costs(indexed, expectations, agents)
    for number, agent in enumerate(agents):
        for action in agent.actions:
            yield ""
            yield f"dd move{number}_{action}"
            yield f"  {_move(indexed, agent, number, action)}"
            yield "enddd"
    blocks = []
    for joint in itertools.product(*(agent.actions for agent in agents)):
        names, described_costs = costs.of(joint)
        for name, tree in described_costs:
            yield ""
            yield f"dd {name}"
            yield f"  {tree}"
            yield "enddd"
        blocks.append((joint, names))
    for joint, names in blocks:
        told = ", ".join(
            f"{quoted(described.name)}: {quoted(described.actions[action])}"
            for described, action in zip(indexed.agents, joint, strict=True)
        )
        yield ""
        yield f"action act{'_'.join(map(str, joint))} // {told}"
        for number, (agent, action) in enumerate(zip(agents, joint, strict=True)):
            yield f"  {agent.variable} (move{number}_{action})"
        yield f"  cost {names[0] if len(names) == 1 else f'[+ {chr(32).join(names)}]'}"
        yield "endaction"
    yield ""
    yield "reward (0.0)"
    yield ""
    yield "discount 1.0"
    yield f"horizon {indexed.horizon - indexed.stage}"


def _move(indexed: IndexedProblem, agent: _Agent, number: int, action: int) -> str:
    """The transitions of an action: a tree over states, with a distribution at each leaf."""
    described = indexed.agents[number]
    branches = {}
    for state, choice in agent.does[action].items():
        law = dict.fromkeys(agent.values, 0.0)
        if choice is None:
            law[state] = 1.0
        else:
            for _, after, chance in described.outcomes(choice):
                law[after] += chance
        branches[agent.values[state]] = _tree(
            f"{agent.variable}'",
            {agent.values[after]: _leaf(chance) for after, chance in law.items()},
        )
    return _tree(agent.variable, branches, collapse=True)


class _Costs:
    """Costs of joint actions as sums of diagrams; each diagram is described once."""

    def __init__(
        self, indexed: IndexedProblem, expectations: Expectations, agents: Sequence[_Agent]
    ) -> None:
        self._stage = indexed.stage
        self._expectations = expectations
        self._agents = agents
        self._known: dict[str, bool] = {}
        self._scopes: dict[tuple[int, ...], list[tuple[Members, float]]] = {}
        for members, values in expectations.shared.items():
            value = values.at(indexed.stage)
            if value != 0:
                scope = tuple(who for who, _ in members)
                self._scopes.setdefault(scope, []).append((members, value))

    def of(self, joint: Sequence[int]) -> tuple[list[str], list[tuple[str, str]]]:
        """The terms of a joint action's cost, and the diagrams that are new."""
        names, new = [], []
        scopes: list[tuple[int, ...]] = [(number,) for number in range(len(self._agents))]
        for scope in [*scopes, *self._scopes]:
            name = f"cost{'_'.join(map(str, scope))}__" + "_".join(str(joint[who]) for who in scope)
            if name not in self._known:
                tree = self._own(scope[0], joint) if len(scope) == 1 else self._shared(scope, joint)
                self._known[name] = tree != _leaf(0.0)
                if self._known[name]:
                    new.append((name, tree))
            if self._known[name]:
                names.append(f"({name})")
        constant = self._expectations.constant.at(self._stage)
        if constant != 0 or not names:
            names.append(_leaf(-constant))
        return names, new

    def _own(self, who: int, joint: Sequence[int]) -> str:
        agent = self._agents[who]
        branches = {}
        for state, choice in agent.does[joint[who]].items():
            reward = (
                0.0 if choice is None else self._expectations.own_reward(who, choice, self._stage)
            )
            branches[agent.values[state]] = _leaf(-reward)
        return _tree(agent.variable, branches, collapse=True)

    def _shared(self, scope: Sequence[int], joint: Sequence[int]) -> str:
        terms = self._scopes[tuple(scope)]

        def write(depth: int, weights: Sequence[float]) -> str:
            if not any(weights):
                return _leaf(0.0)
            if depth == len(scope):
                return _leaf(-math.fsum(weights))
            who = scope[depth]
            agent = self._agents[who]
            branches = {}
            for state, choice in agent.does[joint[who]].items():
                left = [
                    0.0
                    if choice is None
                    else weight * self._expectations.chance(who, choice, members[depth][1])
                    for (members, _), weight in zip(terms, weights, strict=True)
                ]
                branches[agent.values[state]] = write(depth + 1, left)
            return _tree(agent.variable, branches, collapse=True)

        return write(0, [value for _, value in terms])


def _tree(variable: str, branches: Mapping[str, str], *, collapse: bool = False) -> str:
    """A decision on a variable, left out if all branches are equal."""
    if collapse and len(set(branches.values())) == 1:
        return next(iter(branches.values()))
    inside = " ".join(f"({value} {branch})" for value, branch in branches.items())
    return f"({variable} {inside})"


def _leaf(value: float) -> str:
    """A number without an exponent, which not every reader knows."""
    return f"({Decimal(repr(finite(value))):f})"
