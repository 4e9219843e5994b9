"""Discounted problems without an end: bounds on the optimum, and a policy that keeps the lower one.

If the joint problem is small enough, the best stationary policy is found by value iteration over
joint states (`method` ``stationary``). Agents that never interact are solved apart. After every
sweep from values V to TV, with d = TV - V, the optimum in a state s lies between

    TV(s) + γ/(1-γ) · min d   and   TV(s) + γ/(1-γ) · max d,

and the policy that is greedy to V earns at least the lower number (MacQueen, 1966). The bounds
include the largest effect of rounding.

Otherwise (``horizon``), the problem is solved for finitely many stages H. If every joint
transition brings an expected reward between r and R, the rest is worth between γ^H/(1-γ) · r and
γ^H/(1-γ) · R.

Probabilities that do not quite add up to 1 are divided by their sum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coreplan.errors import ModelError, SolverError
from coreplan.model.indexed import IndexedAgent, IndexedProblem, JointState
from coreplan.model.problem import index_problem
from coreplan.model.rewards import MatchedTransitions, added_units
from coreplan.model.timmdp import TIMMDP, Agent
from coreplan.model.transitions import Transitions
from coreplan.model.translated import TranslatedProblem
from coreplan.policies.policy import Policy
from coreplan.solving.limits import Limits
from coreplan.solving.result import Solution
from coreplan.solving.solver import DEFAULT_ALGORITHM, check_problem, solve
from coreplan.support.checks import MOST_STAGES, found, is_number

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_CELLS = 4_000_000
"""The most joint actions, over all joint states, of agents that are solved together."""
MOST_OUTCOMES = 4_000_000
"""The most joint outcomes of a stationary policy for sweeps that follow it."""
SWEEPS = 20
"""Sweeps that follow the policy, between two that improve it."""
BYTES_PER_CELL = 40
UNIT = 2.0**-53
"""The largest relative error of one operation."""


@dataclass(frozen=True, eq=False)
class StationaryPolicy:
    """A policy that acts in the same way at all stages."""

    problem: TIMMDP
    _indexed: IndexedProblem = field(repr=False)
    _teams: Sequence[_Team] = field(repr=False)

    def act(self, state: JointState | None = None) -> dict[str, str]:
        """The joint action in a joint state, by default that from which planning starts.

        Raises
        ------
        ModelError
            If a state is unknown, or no policy leads to it.
        """
        numbers = self._indexed.find_state(0, state)
        chosen: dict[int, int] = {}
        for team in self._teams:
            chosen.update(team.act(numbers))
        return {
            agent.name: agent.actions[agent.choice_action[chosen[i]]]
            for i, agent in enumerate(self._indexed.agents)
        }

    def for_horizon(self, horizon: int) -> Policy:
        """The same policy for finitely many stages, to simulate, draw or evaluate it."""
        return Policy.from_function(
            replace(self.problem, horizon=horizon),
            lambda stage, state: self.act(state),
            state=self._indexed.name_state([agent.start for agent in self._indexed.agents]),
        )


@dataclass(frozen=True, eq=False)
class InfiniteResult:
    """Bounds on the optimum of a discounted problem without an end.

    Attributes
    ----------
    discount
        What a reward counts a stage later.
    method
        ``stationary`` or ``horizon``; see :mod:`coreplan.solving.infinite`.
    lower_bound, upper_bound
        The optimum lies between them, and the policy earns at least the lower one.
    reached
        Whether they are as close as asked for.
    policy
        A :class:`StationaryPolicy`, or a :class:`~coreplan.Policy` for the first stages. What
        happens afterwards does not matter for the bounds.
    horizon
        The number of stages solved, with method ``horizon``; else None.
    tail
        With method ``horizon``: bounds on what later stages are worth.
    sweeps
        The number of sweeps over joint states, with method ``stationary``.
    seconds
        The time it took.
    """

    discount: float
    method: str
    lower_bound: float
    upper_bound: float
    reached: bool
    policy: StationaryPolicy | Policy
    horizon: int | None
    tail: tuple[float, float]
    sweeps: int
    seconds: float

    @property
    def gap(self) -> float:
        """The distance between the bounds."""
        return self.upper_bound - self.lower_bound

    @property
    def first_action(self) -> dict[str, str]:
        """The joint action in the state from which planning starts."""
        if isinstance(self.policy, StationaryPolicy):
            return self.policy.act()
        return self.policy.act(0)


def solve_infinite(
    problem: TIMMDP | TranslatedProblem,
    *,
    discount: float | None = None,
    accuracy: float = 1e-3,
    state: JointState | None = None,
    horizon: int | None = None,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    **options: Any,
) -> InfiniteResult:
    """Bound the optimum of a discounted problem without an end, and find a policy.

    Parameters
    ----------
    problem
        A problem in which nothing depends on the stage; its horizon does not matter.
    discount
        What a reward counts a stage later, above 0 and below 1; by default that of the problem.
    accuracy
        The distance between the bounds at which to stop, as an amount of reward.
    state
        The joint state to start from; by default the problem's.
    horizon
        Solve this number of stages and bound the rest, even if the joint problem is small.
    time_limit
        Seconds; the bounds are valid when it strikes, but less close.
    memory_limit
        Megabytes that the solver may take; by default most of the machine's free memory.
    **options
        Options of :func:`solve`, for method ``horizon``.

    Raises
    ------
    ModelError
        If something depends on the stage, or an agent gets stuck.
    SolverError
        If the discount or the accuracy is invalid.
    LimitError
        If a limit strikes before the first bounds.

    Examples
    --------
    A machine that earns 10 per stage while it works, and breaks with probability 0.1:

    >>> from coreplan import Agent, Condition, Entry, RewardFunction
    >>> machine = Agent("machine", "works", {
    ...     "works": {"run": {"works": 0.9, "broken": 0.1}},
    ...     "broken": {"repair": {"works": 1}}})
    >>> income = RewardFunction(("machine",), (
    ...     Entry({"machine": Condition(action="run")}, 10),
    ...     Entry({"machine": Condition(action="repair")}, -30)))
    >>> result = solve_infinite(
    ...     TIMMDP([machine], [income], discount=0.9), accuracy=1e-9)
    >>> round(result.lower_bound, 6), round(result.upper_bound, 6)
    (66.972477, 66.972477)
    """
    check_problem(problem)
    described = problem.translated if isinstance(problem, TranslatedProblem) else problem
    if not isinstance(described, TIMMDP):
        raise ModelError(
            f"found a {type(problem).__name__}; problems without an end are TIMMDPs, or translated "
            "into one"
        )
    if not is_number(accuracy) or not accuracy > 0:
        raise SolverError(f"accuracy is {found(accuracy)}; expected a number above 0")
    endless = _endless(described, discount)
    limits = Limits(time_limit, memory_limit)
    indexed = index_problem(endless, state=state, guard=limits.guard)
    if horizon is None:
        locals_ = [_Local(agent) for agent in indexed.agents]
        teams = _teams_of(indexed)
        cells = [math.prod(len(locals_[i].choices) for i in team) for team in teams]
        room = limits.memory_limit_mb * 1e6 / BYTES_PER_CELL
        if max(cells) <= min(MOST_CELLS, room):
            with limits.catch_interrupts():
                return _solve_stationary(endless, indexed, locals_, teams, accuracy, limits)
    return _solve_finite(endless, indexed, accuracy, state, horizon, limits, options)


def _endless(problem: TIMMDP, discount: float | None) -> TIMMDP:
    """The problem with its discount, after a check that it can go on without an end."""
    rate = problem.discount if discount is None else discount
    if not is_number(rate) or not 0 < rate < 1:
        raise SolverError(
            f"discount is {found(rate)}; a problem without an end needs a number above 0 and "
            "below 1"
        )
    for agent in problem.agents:
        if agent.transitions_at:
            raise ModelError(
                f"agent {found(agent.name)} has other transitions at some stages; a problem "
                "without an end has the same at all stages"
            )
    for k, function in enumerate(problem.rewards):
        for number, entry in enumerate(function.entries):
            if entry.stages is not None:
                raise ModelError(
                    f"rewards[{k}].entries[{number}] counts at some stages only; a problem without "
                    "an end has the same rewards at all stages"
                )
    for aggregate in problem.aggregates:
        if aggregate.stages is not None:
            raise ModelError(
                f"aggregate {found(aggregate.name)} counts at some stages only; a problem without "
                "an end has the same rewards at all stages"
            )
    agents = [replace(agent, transitions=_normalised(agent)) for agent in problem.agents]
    # After as many stages as it has states, an agent has seen all that it can reach: as it is made,
    # the problem checks that none of them is without actions.
    longest = max(len(agent.states) for agent in agents)
    return replace(problem, agents=agents, horizon=min(longest, MOST_STAGES), discount=float(rate))


def _normalised(agent: Agent) -> Transitions:
    """The transitions of an agent, with probabilities that add up to 1."""
    return {
        state: {
            action: law
            if (total := math.fsum(law.values())) == 1
            else {after: chance / total for after, chance in law.items()}
            for action, law in actions.items()
        }
        for state, actions in agent.transitions.items()
    }


class _Local:
    """One agent: the states that it can ever reach, their choices and outcomes."""

    def __init__(self, agent: IndexedAgent) -> None:
        self.agent = agent
        self.states = [agent.start]
        self.position = {agent.start: 0}
        choices: list[int] = []
        begin = [0]
        for state in self.states:  # grows as it goes
            own = range(agent.choice_begin[state], agent.choice_begin[state + 1])
            if not own:
                raise ModelError(
                    f"agent {found(agent.name)} has no action in state "
                    f"{agent.states.label(state)!r}, which it can reach; add an action"
                )
            for choice in own:
                for _, after, _ in agent.outcomes(choice):
                    if after not in self.position:
                        self.position[after] = len(self.states)
                        self.states.append(after)
            choices += own
            begin.append(len(choices))
        self.choices = np.array(choices, np.int64)
        self.begin = np.array(begin, np.int64)
        laws = [agent.outcomes(choice) for choice in choices]
        most = max(map(len, laws))
        self.next = np.zeros((len(choices), most), np.int64)
        self.chance = np.zeros((len(choices), most))
        for row, law in enumerate(laws):
            for k, (_, after, chance) in enumerate(law):
                self.next[row, k] = self.position[after]
                self.chance[row, k] = chance
        owner = np.repeat(np.arange(len(agent.choice_action)), np.diff(agent.outcome_begin))
        matching = MatchedTransitions(agent)
        chances = np.array(agent.outcome_probability, np.float64)
        self.factors: list[Floats] = []
        """For each condition: the probability that a choice matches it."""
        for matched in matching:
            sums: Floats = np.bincount(
                owner[matched], chances[matched], minlength=len(agent.choice_action)
            ).astype(np.float64)
            self.factors.append(sums[self.choices])


def _teams_of(indexed: IndexedProblem) -> list[list[int]]:
    """Sets of agents that never interact with others, each ascending."""
    leader = list(range(len(indexed.agents)))

    def find(i: int) -> int:
        while leader[i] != i:
            i = leader[i]
        return i

    groups = [[i for i, _ in entry.members] for entry in indexed.entries]
    groups += [[i for i, _, _ in each.amounts] for each in indexed.aggregates]
    for group in groups:
        for i in group[1:]:
            first, second = sorted((find(group[0]), find(i)))
            leader[second] = first
    teams: dict[int, list[int]] = {}
    for i in range(len(indexed.agents)):
        teams.setdefault(find(i), []).append(i)
    return list(teams.values())


@dataclass(frozen=True, eq=False)
class _Team:
    """The solution of agents that interact with each other only."""

    agents: Sequence[int]
    locals: Sequence[_Local]
    choice: Integers
    """For each joint state: the number of the joint choice, of all joint choices of the team."""
    lower: float
    upper: float
    sweeps: int

    def act(self, state: Sequence[int]) -> Mapping[int, int]:
        """The choice of each agent of the team, given the joint state of all agents."""
        at = []
        for i, local in zip(self.agents, self.locals, strict=True):
            if state[i] not in local.position:
                raise ModelError(
                    f"agent {found(local.agent.name)} never gets to state "
                    f"{local.agent.states.label(state[i])!r} from where planning starts; solve "
                    "from that state"
                )
            at.append(local.position[state[i]])
        shape = [len(local.choices) for local in self.locals]
        rows = np.unravel_index(int(self.choice[tuple(at)]), shape)
        return {
            i: int(local.choices[row])
            for i, local, row in zip(self.agents, self.locals, rows, strict=True)
        }


def _solve_stationary(
    problem: TIMMDP,
    indexed: IndexedProblem,
    locals_: Sequence[_Local],
    teams: Sequence[Sequence[int]],
    accuracy: float,
    limits: Limits,
) -> InfiniteResult:
    solved = [
        _Iteration(indexed, locals_, team, k == 0).run(accuracy / len(teams), limits)
        for k, team in enumerate(teams)
    ]
    lower, upper = sum(t.lower for t in solved), sum(t.upper for t in solved)
    return InfiniteResult(
        problem.discount,
        "stationary",
        lower,
        upper,
        upper - lower <= accuracy,
        StationaryPolicy(problem, indexed, solved),
        None,
        (0.0, 0.0),
        sum(t.sweeps for t in solved),
        limits.seconds,
    )


def _is_over(limits: Limits) -> bool:
    """Whether a limit was reached, or Ctrl-C pressed."""
    return bool(limits.monitor.look()) or limits.interrupted


class _Iteration:
    """Value iteration over the joint states of a team."""

    def __init__(
        self,
        indexed: IndexedProblem,
        locals_: Sequence[_Local],
        team: Sequence[int],
        with_constants: bool,
    ) -> None:
        self._team = team
        self._locals = [locals_[i] for i in team]
        self._discount = indexed.discount
        self._shape = tuple(len(local.states) for local in self._locals)
        self._reward, self._largest, terms = self._rewards(indexed, with_constants)
        outcomes = sum(local.next.shape[1] + 1 for local in self._locals)
        self._operations = outcomes + terms + 8
        # The sum of the probabilities of joint outcomes is 1 up to this.
        self._slack = 2 * outcomes * UNIT
        if self._discount * (1 + self._slack) >= 1:
            raise SolverError(
                f"the discount {self._discount!r} is too close to 1: rounding of probabilities "
                "hides the bounds"
            )

    def _rewards(self, indexed: IndexedProblem, with_constants: bool) -> tuple[Floats, float, int]:
        """The expected reward of each joint choice, its largest size, the number of terms."""
        shape = [len(local.choices) for local in self._locals]
        place = {i: k for k, i in enumerate(self._team)}
        total = np.zeros(shape)
        largest, terms = 0.0, 0

        def along(k: int, values: Any) -> Any:
            return values.reshape([-1 if axis == k else 1 for axis in range(len(shape))])

        for entry in indexed.entries:
            members = dict(entry.members)
            if not (members.keys() <= place.keys() and (members or with_constants)):
                continue
            product = np.full([1] * len(shape), entry.value)
            for i, condition in entry.members:
                factors = self._locals[place[i]].factors[condition]
                product = product * along(place[i], factors)
            total += product
            largest += abs(entry.value)
            terms += len(shape) + 3
        for aggregate in indexed.aggregates:
            owners = {i for i, _, _ in aggregate.amounts}
            if not (owners <= place.keys() and (owners or with_constants)):
                continue
            sums = np.zeros(shape, np.int64)
            for i, units in added_units(aggregate.amounts, indexed.agents).items():
                sums += along(place[i], units[self._locals[place[i]].choices])
            total += np.array(aggregate.values)[sums]
            largest += max(map(abs, aggregate.values))
            terms += len(shape) + 3
        return (
            total,
            largest * (1 + 1e-6),
            terms + max(local.next.shape[1] for local in self._locals),
        )

    def run(self, accuracy: float, limits: Limits) -> _Team:
        """Sweep until the bounds are close, or until rounding or a limit keeps them apart."""
        values = np.zeros(self._shape)
        lower, upper, sweeps = -math.inf, math.inf, 0
        choice = np.zeros(self._shape, np.int64)
        start = (0,) * len(self._shape)
        rate = self._discount
        while True:
            improved, best = self._improve(values)
            sweeps += 1
            change = improved - values
            size = self._largest + (1 + rate) * float(np.abs(values).max())
            error = self._operations * UNIT * size / (1 - rate * (1 + self._slack))
            low, high = float(change.min()), float(change.max())
            reach = [self._later(low, at_least=True), self._later(high, at_least=False)]
            at = float(improved[start])
            if at + reach[0] - error > lower:
                lower, choice = at + reach[0] - error, best
            upper = min(upper, at + reach[1] + error)
            values = improved
            if upper - lower <= accuracy or reach[1] - reach[0] <= error:
                break
            if _is_over(limits):
                break
            values, more = self._follow(values, best)
            sweeps += more
        return _Team(self._team, self._locals, choice, lower, upper, sweeps)

    def _later(self, change: float, *, at_least: bool) -> float:
        """What all later sweeps add at least or at most, if one adds `change` everywhere."""
        small = (change >= 0) == at_least
        rate = self._discount * (1 - self._slack if small else 1 + self._slack)
        return change * rate / (1 - rate)

    def _improve(self, values: Floats) -> tuple[Floats, Integers]:
        """The best values if `values` come next; for each joint state, the best joint choice."""
        worth = values
        for k, local in enumerate(self._locals):
            spread = np.zeros(1)
            for j in range(local.next.shape[1]):
                part = np.take(worth, local.next[:, j], axis=k)
                weight = local.chance[:, j].reshape(
                    [-1 if axis == k else 1 for axis in range(worth.ndim)]
                )
                spread = part * weight if j == 0 else spread + part * weight
            worth = spread
        worth = self._reward + self._discount * worth
        best = np.arange(worth.size).reshape(worth.shape)
        for k, local in enumerate(self._locals):
            worth, best = _best_along(worth, best, k, local.begin)
        return worth, best

    def _follow(self, values: Floats, best: Integers) -> tuple[Floats, int]:
        """Some sweeps that follow a policy, if it has few joint outcomes."""
        fan = math.prod(local.next.shape[1] for local in self._locals)
        if fan * best.size > MOST_OUTCOMES:
            return values, 0
        rows = np.unravel_index(best.reshape(-1), self._reward.shape)
        chance, number = np.ones((best.size, 1)), np.zeros((best.size, 1), np.int64)
        for local, row in zip(self._locals, rows, strict=True):
            chance = (chance[:, :, None] * local.chance[row][:, None, :]).reshape(best.size, -1)
            number = number[:, :, None] * len(local.states) + local.next[row][:, None, :]
            number = number.reshape(best.size, -1)
        reward = self._reward.reshape(-1)[best.reshape(-1)]
        flat = values.reshape(-1)
        for _ in range(SWEEPS):
            flat = reward + self._discount * (chance * flat[number]).sum(axis=1)
        return flat.reshape(values.shape), SWEEPS


def _best_along(
    worth: Floats, best: Integers, axis: int, begin: Integers
) -> tuple[Floats, Integers]:
    """Maximise over the choices of each state of one agent; the first of equally good ones."""
    most = np.maximum.reduceat(worth, begin[:-1], axis=axis)
    is_best = worth == np.repeat(most, np.diff(begin), axis=axis)
    # The first best choice of each state is the one with the smallest number.
    shown = np.where(is_best, best, np.iinfo(np.int64).max)
    return most, np.minimum.reduceat(shown, begin[:-1], axis=axis)


def _solve_finite(
    problem: TIMMDP,
    indexed: IndexedProblem,
    accuracy: float,
    state: JointState | None,
    horizon: int | None,
    limits: Limits,
    options: Mapping[str, Any],
) -> InfiniteResult:
    rate = problem.discount
    least, most = _range_of_rewards(indexed)
    if horizon is None:
        horizon = 1
        spread = (most - least) / (1 - rate)
        if spread > accuracy / 2:
            horizon = max(1, math.ceil(math.log(accuracy / (2 * spread)) / math.log(rate)))
        horizon = min(horizon, MOST_STAGES)
    finite = replace(problem, horizon=horizon)
    settled = dict(options)
    if "options" not in settled:
        largest = max(abs(least), abs(most)) / (1 - rate)
        settled.setdefault("tolerance", min(1e-6, accuracy / (4 * max(1.0, largest))))
        if settled.get("algorithm", DEFAULT_ALGORITHM) == DEFAULT_ALGORITHM:
            settled.setdefault("absolute_gap", accuracy / 2)
    left = limits.seconds_left
    if math.isfinite(left):
        settled["time_limit"] = max(left, 1e-3)
    solution: Solution = solve(finite, state=state, memory_limit=limits.memory_limit_mb, **settled)
    weight = rate**horizon / (1 - rate) * (1 + 64 * UNIT)
    tail = (weight * least, weight * most)
    lower, upper = solution.lower_bound + tail[0], solution.upper_bound + tail[1]
    return InfiniteResult(
        rate,
        "horizon",
        lower,
        upper,
        upper - lower <= accuracy,
        solution.policy,
        horizon,
        tail,
        0,
        limits.seconds,
    )


def _range_of_rewards(indexed: IndexedProblem) -> tuple[float, float]:
    """Bounds on the expected reward of every joint choice, whatever states the agents are in."""
    factors = [_Local(agent).factors for agent in indexed.agents]
    least, most = 0.0, 0.0
    for entry in indexed.entries:
        if not entry.members:
            least, most = least + entry.value, most + entry.value
        elif len(entry.members) > 1:
            chance = math.prod(float(factors[i][c].max()) for i, c in entry.members)
            least += min(0.0, entry.value * chance)
            most += max(0.0, entry.value * chance)
    for i in range(len(indexed.agents)):
        own = [
            entry.value * factors[i][entry.members[0][1]]
            for entry in indexed.entries
            if [who for who, _ in entry.members] == [i]
        ]
        if own:
            total = np.sum(own, axis=0)
            least, most = least + float(total.min()), most + float(total.max())
    for aggregate in indexed.aggregates:
        least, most = least + min(aggregate.values), most + max(aggregate.values)
    slack = 1e-9 * (abs(least) + abs(most))
    return least - slack, most + slack
