"""Problems in SPUDD's own input format.

SPUDD is value iteration on algebraic decision diagrams. Its files have variables, actions and
rewards, but no stages. A problem whose actions or rewards depend on the stage gets one more
variable, the clock. The finite horizon is the number of iterations (`horizon N`, without
discount). The value of the problem is the value of the initial joint state after the iterations.
The format has no place for the initial state; a comment names it.

- Each agent is a variable. Its values `s0`, `s1`, ... are the agent's local states; comments give
  the names.
- SPUDD has no joint actions: each of them is a separate action, so their number is limited.
- In SPUDD all actions are available in all states. If an agent cannot take an action in a state,
  the action behaves like its first available one, with the same reward. The joint actions of a
  state are then the real ones, some of them twice, and the optimum is the same. A penalty could be
  too small, or large enough to cost precision; this encoding needs none.
- A state that can be reached only at the horizon needs no actions. It does not change and earns
  nothing.
- The clock advances by 1 in each iteration. At its last value it stops and nothing is earned, so
  further iterations change nothing.
- The reward for a sum over agents is a decision diagram over the states of all agents that add to
  the sum.
- Rewards are expectations, as negative costs of the actions. The `reward` itself is 0, because
  SPUDD starts its iterations from it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from coreplan.errors import SolverError
from coreplan.interop.expectations import Expectations, Members, Sum
from coreplan.interop.stages import Offers, read_stages
from coreplan.interop.text import finite, quoted
from coreplan.model.indexed import IndexedProblem, JointState
from coreplan.solving.compile import AnyProblem
from coreplan.solving.limits import Limits

MOST_ACTIONS = 10_000
"""The most joint actions of a file."""

MOST_LEAVES = 5_000_000
"""The most leaves of all decision trees of a file."""

CLOCK = "clock"
"""The name of the variable that counts stages."""

MOST_REASONS = 5
"""The most reasons for a clock that a file lists."""


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
    clock: bool = False,
    stage: int = 0,
    state: JointState | None = None,
    limits: Limits | None = None,
) -> SpuddModel:
    """Write a problem in SPUDD's format.

    Parameters
    ----------
    problem
        A problem of any domain.
    clock
        Whether to add a clock even if nothing depends on the stage.
    stage, state
        Where planning starts; by default at the beginning.
    limits
        Time and memory to find all states that can be reached.

    Raises
    ------
    SolverError
        If the problem has too many joint actions, or the file would be too large.

    Examples
    --------
    >>> from coreplan import Contractor, MaintenanceProblem, Task
    >>> alpha = Contractor("Alpha", (Task("a1", duration=1, cost=3, revenue=20),))
    >>> model = to_spudd(MaintenanceProblem((alpha,), horizon=2))
    >>> model.horizon, dict(model.start)
    (2, {'agent0': 's0'})
    """
    indexed, expectations, offers, reasons = read_stages(problem, stage, state, limits)
    agents = [_Agent(f"agent{k}", each) for k, each in enumerate(offers)]
    layers = indexed.horizon - indexed.stage
    made = _Clock(layers, reasons) if clock or reasons else None
    _check_size(agents, expectations, made)
    text = "\n".join(_lines(indexed, expectations, agents, made)) + "\n"
    start = {
        agent.variable: agent.values[described.start]
        for agent, described in zip(agents, indexed.agents, strict=True)
    }
    if made is not None:
        start = {CLOCK: made.values[0], **start}
    return SpuddModel(text, start, layers)


def _check_size(agents: Sequence[_Agent], expectations: Expectations, clock: _Clock | None) -> None:
    """Refuse a problem whose file would be too large."""
    joint = math.prod(len(agent.actions) for agent in agents)
    if joint > MOST_ACTIONS:
        raise SolverError(
            f"the problem has {joint:,} joint actions, and SPUDD needs one action for each; "
            f"expected at most {MOST_ACTIONS:,}"
        )
    scopes = [
        *{tuple(who for who, _ in members) for members in expectations.shared},
        *(tuple(each.added) for each in expectations.sums),
    ]
    leaves = sum(len(agent.actions) * len(agent.values) ** 2 for agent in agents) + sum(
        math.prod(len(agents[who].actions) * len(agents[who].values) for who in scope)
        for scope in scopes
    )
    if clock is not None:
        leaves = (leaves + len(clock.values)) * len(clock.values)
    if leaves > MOST_LEAVES:
        raise SolverError(
            f"the SPUDD file would need decision trees with up to {leaves:,} leaves; expected "
            f"at most {MOST_LEAVES:,}"
        )


class _Agent:
    """One agent as a variable."""

    def __init__(self, variable: str, offers: Offers) -> None:
        self.variable = variable
        self.offers = offers
        self.values = {state: f"s{k}" for k, state in enumerate(offers.states)}
        """For each local state that can be reached: its name in the file."""
        self.actions = offers.actions

    def does(self, action: int, layer: int) -> Iterator[tuple[int, int | None]]:
        """All states, each with the choice that an action stands for, or None."""
        for state in self.values:
            yield state, self.offers.choice(action, state, layer)


@dataclass(frozen=True)
class _Clock:
    """The stages of a problem as values of a variable."""

    layers: int
    reasons: Sequence[str]
    """What depends on the stage."""

    @property
    def values(self) -> list[str]:
        """The names of its values; at the last one nothing happens any more."""
        return [f"t{layer}" for layer in range(self.layers + 1)]

    def lines(self) -> Iterator[str]:
        """Comments that explain the clock."""
        yield f"// {CLOCK}: the number of stages that have passed; nothing happens after the last"
        for reason in self.reasons[:MOST_REASONS]:
            yield f"//   needed: {reason}"
        if len(self.reasons) > MOST_REASONS:
            yield f"//   and {len(self.reasons) - MOST_REASONS} more reasons"

    def law(self) -> str:
        """Its transitions: it advances by 1, and stops at its last value."""
        values = self.values
        return _tree(
            CLOCK,
            {
                value: _tree(
                    f"{CLOCK}'",
                    {
                        after: _leaf(float(k == min(layer + 1, self.layers)))
                        for k, after in enumerate(values)
                    },
                )
                for layer, value in enumerate(values)
            },
        )


def _by_clock(clock: _Clock | None, write: Callable[[int], str], at_end: str | None = None) -> str:
    """One tree per layer, selected by the clock; `at_end` by default as in the last layer."""
    if clock is None:
        return write(0)
    trees = [write(layer) for layer in range(clock.layers)]
    trees.append(trees[-1] if at_end is None else at_end)
    return _tree(CLOCK, dict(zip(clock.values, trees, strict=True)), collapse=True)


def _lines(
    indexed: IndexedProblem,
    expectations: Expectations,
    agents: Sequence[_Agent],
    clock: _Clock | None,
) -> Iterator[str]:
    """The lines of the file, in order."""
    yield f"// {quoted(indexed.name)}, written by coreplan for SPUDD"
    parts = [f"{CLOCK}={clock.values[0]}"] if clock else []
    parts += (
        f"{agent.variable}={agent.values[described.start]}"
        for agent, described in zip(agents, indexed.agents, strict=True)
    )
    start = ", ".join(parts)
    yield f"// The value is that of {start} after {indexed.horizon - indexed.stage} iterations."
    for agent, described in zip(agents, indexed.agents, strict=True):
        yield f"// {agent.variable}: {quoted(described.name)}"
        for state, value in agent.values.items():
            yield f"//   {value}: {quoted(described.states.label(state))}"
    if clock:
        yield from clock.lines()
    yield ""
    yield "(variables"
    if clock:
        yield f"  ({CLOCK} {' '.join(clock.values)})"
    for agent in agents:
        yield f"  ({agent.variable} {' '.join(agent.values.values())})"
    yield ")"
    yield ""
    yield "unnormalised"
    costs = _Costs(indexed, expectations, agents, clock)
    if clock:
        yield from ("", "dd tick", f"  {clock.law()}", "enddd")
    for number, agent in enumerate(agents):
        for action in agent.actions:
            yield ""
            yield f"dd move{number}_{action}"
            tree = _by_clock(clock, partial(_move, indexed, agent, number, action))
            yield f"  {tree}"
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
        if clock:
            yield f"  {CLOCK} (tick)"
        for number, (agent, action) in enumerate(zip(agents, joint, strict=True)):
            yield f"  {agent.variable} (move{number}_{action})"
        yield f"  cost {names[0] if len(names) == 1 else f'[+ {chr(32).join(names)}]'}"
        yield "endaction"
    yield ""
    yield "reward (0.0)"
    yield ""
    yield f"discount {Decimal(repr(indexed.discount)):f}"
    yield f"horizon {indexed.horizon - indexed.stage}"


def _move(indexed: IndexedProblem, agent: _Agent, number: int, action: int, layer: int) -> str:
    """The transitions of an action: a tree over states, with a distribution at each leaf."""
    described = indexed.agents[number]
    branches = {}
    for state, choice in agent.does(action, layer):
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
        self,
        indexed: IndexedProblem,
        expectations: Expectations,
        agents: Sequence[_Agent],
        clock: _Clock | None,
    ) -> None:
        self._stage = indexed.stage
        self._expectations = expectations
        self._agents = agents
        self._clock = clock
        self._known: dict[str, bool] = {}
        self._scopes: dict[tuple[int, ...], list[Members]] = {}
        stages = range(indexed.stage, indexed.horizon if clock else indexed.stage + 1)
        for members, values in expectations.shared.items():
            if any(values.at(stage) != 0 for stage in stages):
                scope = tuple(who for who, _ in members)
                self._scopes.setdefault(scope, []).append(members)

    def of(self, joint: Sequence[int]) -> tuple[list[str], list[tuple[str, str]]]:
        """The terms of a joint action's cost, and the diagrams that are new."""
        names, new = [], []
        scopes: list[tuple[int, ...]] = [(number,) for number in range(len(self._agents))]
        for scope in [*scopes, *self._scopes]:
            name = f"cost{'_'.join(map(str, scope))}__" + "_".join(str(joint[who]) for who in scope)
            if name not in self._known:
                tree = _by_clock(self._clock, self._writer(scope, joint), _leaf(0.0))
                self._known[name] = tree != _leaf(0.0)
                if self._known[name]:
                    new.append((name, tree))
            if self._known[name]:
                names.append(f"({name})")
        for number, each in enumerate(self._expectations.sums):
            acting = "_".join(str(joint[who]) for who in each.added)
            name = f"sum{number}__{acting}"
            if name not in self._known:
                tree = _by_clock(self._clock, partial(self._sum, each, joint), _leaf(0.0))
                self._known[name] = tree != _leaf(0.0)
                if self._known[name]:
                    new.append((name, tree))
            if self._known[name]:
                names.append(f"({name})")
        constant = _by_clock(
            self._clock,
            lambda layer: _leaf(-self._expectations.constant.at(self._stage + layer)),
            _leaf(0.0),
        )
        if constant != _leaf(0.0) or not names:
            names.append(constant)
        return names, new

    def _writer(self, scope: Sequence[int], joint: Sequence[int]) -> Callable[[int], str]:
        if len(scope) == 1:
            return lambda layer: self._own(scope[0], joint, layer)
        return lambda layer: self._shared(scope, joint, layer)

    def _sum(self, each: Sum, joint: Sequence[int], layer: int) -> str:
        """The reward of an aggregate: decisions on the states of the agents that add to it."""
        weight = each.weight_at(self._stage + layer)
        if not weight:
            return _leaf(0.0)
        scope = list(each.added)
        known: dict[tuple[int, int], str] = {}

        def write(depth: int, units: int) -> str:
            if depth == len(scope):
                return _leaf(-each.values[units] * weight)
            if (depth, units) not in known:
                who = scope[depth]
                agent = self._agents[who]
                branches = {}
                for state, choice in agent.does(joint[who], layer):
                    # A state without choices is not reached before the horizon.
                    more = 0 if choice is None else int(each.added[who][choice])
                    branches[agent.values[state]] = write(depth + 1, units + more)
                known[depth, units] = _tree(agent.variable, branches, collapse=True)
            return known[depth, units]

        return write(0, 0)

    def _own(self, who: int, joint: Sequence[int], layer: int) -> str:
        agent = self._agents[who]
        branches = {}
        for state, choice in agent.does(joint[who], layer):
            reward = (
                0.0
                if choice is None
                else self._expectations.own_reward(who, choice, self._stage + layer)
            )
            branches[agent.values[state]] = _leaf(-reward)
        return _tree(agent.variable, branches, collapse=True)

    def _shared(self, scope: Sequence[int], joint: Sequence[int], layer: int) -> str:
        terms = self._scopes[tuple(scope)]

        def write(depth: int, weights: Sequence[float]) -> str:
            if not any(weights):
                return _leaf(0.0)
            if depth == len(scope):
                return _leaf(-math.fsum(weights))
            who = scope[depth]
            agent = self._agents[who]
            branches = {}
            for state, choice in agent.does(joint[who], layer):
                left = [
                    0.0
                    if choice is None
                    else weight * self._expectations.chance(who, choice, members[depth][1])
                    for members, weight in zip(terms, weights, strict=True)
                ]
                branches[agent.values[state]] = write(depth + 1, left)
            return _tree(agent.variable, branches, collapse=True)

        values = [self._expectations.shared[members].at(self._stage + layer) for members in terms]
        return write(0, values)


def _tree(variable: str, branches: Mapping[str, str], *, collapse: bool = False) -> str:
    """A decision on a variable, left out if all branches are equal."""
    if collapse and len(set(branches.values())) == 1:
        return next(iter(branches.values()))
    inside = " ".join(f"({value} {branch})" for value, branch in branches.items())
    return f"({variable} {inside})"


def _leaf(value: float) -> str:
    """A number without an exponent, which not every reader knows."""
    return f"({Decimal(repr(finite(value))):f})"
