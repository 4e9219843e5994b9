"""Why a policy does what it does: what else could be done, and what that would be worth.

An alternative is done once; from then on the policy is followed. Its value is exact where it can be
computed in time, and else an estimate by simulation, which is said. What makes the difference is
found in the rewards: each entry adds its part to a value.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coreplan.analysis.simulator import Runs
from coreplan.errors import LimitError, ModelError, SolverError
from coreplan.model.indexed import IndexedEntry, JointState
from coreplan.model.values import plain_state
from coreplan.policies.evaluation import Beginning, evaluate_entries
from coreplan.policies.policy import Policy
from coreplan.solving.limits import Limits
from coreplan.solving.solver import errors_of_the_core
from coreplan.support.checks import found, is_number, unknown_name
from coreplan.support.frozen import FrozenMapping
from coreplan.support.late import late, provides

MOST_JOINT_ACTIONS = 64
"""Up to so many joint actions are all looked at; else single agents' changes, and pairs'."""
RUNS = 20_000
"""Runs of a simulation where the exact value is out of reach."""
LEAST_DIFFERENCE = 1e-9
"""Differences below this part of the largest amount are taken for rounding."""


@dataclass(frozen=True)
class Difference:
    """What one part of the rewards adds more, or less, than with the policy's own action.

    Attributes
    ----------
    what
        The part, in words: a reward function or, in a maintenance problem, the works, the revenue
        or the hindrance of tasks.
    amount
        How much more is earned by it; below zero if less.
    note
        More about it, such as how likely a task is completed.
    """

    what: str
    amount: float
    note: str = ""


@dataclass(frozen=True)
class Alternative:
    """Another joint action, done once before the policy is followed.

    Attributes
    ----------
    action
        An action for every agent, by name.
    changes
        The actions of those who do something else than the policy says.
    value, low, high
        What is expected to be earned; a range for it where it is an estimate.
    exact
        Whether the value is exact.
    loss
        How much less that is than with the policy's own action; below zero if it is more.
    overlaps
        In a maintenance problem: which works would coincide now, in words.
    differences
        What makes the difference, the largest first.
    """

    action: Mapping[str, str]
    changes: Mapping[str, str]
    value: float
    low: float
    high: float
    exact: bool
    loss: float
    overlaps: tuple[str, ...]
    differences: tuple[Difference, ...]

    def to_dict(self) -> dict[str, Any]:
        """The parts by name."""
        return {
            "action": dict(self.action),
            "changes": dict(self.changes),
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "exact": self.exact,
            "loss": self.loss,
            "overlaps": list(self.overlaps),
            "differences": [
                {"what": each.what, "amount": each.amount, "note": each.note}
                for each in self.differences
            ],
        }


@dataclass(frozen=True)
class Explanation:
    """Why a policy does what it does; made by :meth:`coreplan.Policy.explain`.

    Attributes
    ----------
    stage, state
        The situation: a local state for every agent, by name.
    action
        What the policy does, by agents' names.
    value, low, high, exact
        What is expected to be earned from here on; a range for it, if it is not exact.
    overlaps
        In a maintenance problem: which works coincide now, in words.
    alternatives
        What else could be done, the best first.
    left_out
        How many joint actions there are besides that were not looked at or not kept.
    """

    stage: int
    state: Mapping[str, Any]
    action: Mapping[str, str]
    value: float
    low: float
    high: float
    exact: bool
    overlaps: tuple[str, ...]
    alternatives: tuple[Alternative, ...]
    left_out: int

    @property
    def best(self) -> bool:
        """Whether nothing that was looked at is better, up to rounding."""
        tolerance = LEAST_DIFFERENCE * max(1.0, abs(self.value))
        return all(each.loss >= -tolerance for each in self.alternatives)

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain values, for machines."""
        return {
            "stage": self.stage,
            "state": plain_state(self.state),
            "action": dict(self.action),
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "exact": self.exact,
            "overlaps": list(self.overlaps),
            "alternatives": [each.to_dict() for each in self.alternatives],
            "left_out": self.left_out,
        }

    def __str__(self) -> str:
        return "\n".join(late("Explanation.text")(self))


@provides("Policy.explain")
def explain(
    policy: Policy,
    stage: int,
    joint_state: JointState | None = None,
    *,
    most: int = 10,
    agents: Iterable[str] | None = None,
    time_limit: float = 10.0,
    seed: int = 1,
) -> Explanation:
    """Why a policy does what it does, see :meth:`coreplan.Policy.explain`."""
    _check(most, time_limit)
    policy.act(stage, joint_state)  # says what is wrong with them
    indexed = policy.indexed
    state = policy.find_state(stage, joint_state)
    looked_at = _agents(indexed.agent_names, agents)
    chosen = tuple(policy.choose(stage, state))
    judge = _Judge(policy, stage, state, time_limit, seed)
    own = judge.worth(chosen, time_limit / 2)
    candidates = _Candidates(policy, stage, state, chosen, looked_at)
    judged = []
    for choices in candidates.some():
        worth = judge.worth(choices, None)
        if worth is None:
            break
        judged.append((choices, worth))
    if own is None:
        raise LimitError("time_limit", "the time limit was reached before any value was computed")
    names = _Words(policy, stage, state, own)
    made = [names.alternative(choices, worth, chosen) for choices, worth in judged]
    made.sort(key=lambda each: (each.loss, len(each.changes)))
    others = [each for each in made if len(each.changes) > 1][:most]
    kept = [each for each in made if len(each.changes) == 1 or each in others]
    return Explanation(
        stage,
        FrozenMapping(indexed.name_state(state)),
        names.action(chosen),
        own.value,
        own.low,
        own.high,
        own.exact,
        tuple(names.overlaps(chosen, None)),
        tuple(kept),
        candidates.count - len(kept),
    )


def _check(most: object, time_limit: object) -> None:
    if isinstance(most, bool) or not isinstance(most, int) or most < 0:
        raise ModelError(f"most is {found(most)}; expected a whole number of at least 0")
    if not is_number(time_limit) or not time_limit > 0:  # type: ignore[operator]
        raise ModelError(f"time_limit is {found(time_limit)}; expected a number above 0")


def _agents(names: Sequence[str], asked: Iterable[str] | None) -> list[int]:
    """The numbers of the agents whose other actions are looked at."""
    if asked is None:
        return list(range(len(names)))
    numbers = []
    for name in [asked] if isinstance(asked, str) else asked:
        if name not in names:
            raise ModelError(unknown_name(name, "agent", names, "the problem"))
        numbers.append(names.index(name))
    return sorted(set(numbers))


class _Candidates:
    """The joint actions that are looked at."""

    def __init__(
        self,
        policy: Policy,
        stage: int,
        state: Sequence[int],
        chosen: tuple[int, ...],
        agents: Sequence[int],
    ) -> None:
        self._policy = policy
        self._chosen = chosen
        self._others = {
            i: [
                choice
                for choice in policy.indexed.agents[i].choices(stage, state[i]).values()
                if choice != chosen[i]
            ]
            for i in agents
        }
        self.count = math.prod(len(each) + 1 for each in self._others.values()) - 1

    def some(self) -> Iterator[tuple[int, ...]]:
        """Those of single agents first; then pairs that share a reward, or all if they are few."""
        for i in self._others:
            yield from self._changed((i,))
        able = [i for i, others in self._others.items() if others]
        if self.count <= MOST_JOINT_ACTIONS:
            for size in range(2, len(able) + 1):
                for who in itertools.combinations(able, size):
                    yield from self._changed(who)
            return
        linked = {
            pair
            for entry in self._policy.indexed.entries
            for pair in itertools.combinations(sorted({i for i, _ in entry.members}), 2)
        }
        for pair in itertools.combinations(able, 2):
            if pair in linked:
                yield from self._changed(pair)

    def _changed(self, who: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """The joint actions in which exactly these agents do something else."""
        for others in itertools.product(*(self._others[i] for i in who)):
            changed = list(self._chosen)
            for i, choice in zip(who, others, strict=True):
                changed[i] = choice
            yield tuple(changed)


@dataclass(frozen=True)
class _Worth:
    value: float
    low: float
    high: float
    exact: bool
    amounts: list[float]
    """Per entry of the rewards: what it adds."""


class _Judge:
    """What joint actions are worth, as exactly as time allows."""

    def __init__(
        self, policy: Policy, stage: int, state: tuple[int, ...], time_limit: float, seed: int
    ) -> None:
        self._policy = policy
        self._stage = stage
        self._state = state
        self._end = time.monotonic() + time_limit
        self._seed = seed
        self._exact = True

    def worth(self, choices: tuple[int, ...], seconds: float | None) -> _Worth | None:
        """What it is worth to do something once; None if there is no time left."""
        left = self._end - time.monotonic()
        if left <= 0:
            return None
        beginning = Beginning(self._stage, self._state, choices)
        if self._exact:
            try:
                limit = left if seconds is None else min(left, seconds)
                value, amounts = evaluate_entries(self._policy, limit, beginning)
                return _Worth(value, value, value, True, amounts)
            except SolverError:
                # What is out of reach for one is so for the others, as a rule.
                self._exact = False
        return self._estimate(beginning)

    def _estimate(self, beginning: Beginning) -> _Worth | None:
        left = self._end - time.monotonic()
        if left <= 0:
            return None
        limits = Limits(left)
        try:
            with errors_of_the_core():
                # The same seed for all: what they have in common then hides no difference.
                runs = Runs(self._policy, self._seed, limits, beginning)
                shown = runs.run(RUNS, 0.95, None, None)
        except LimitError:
            return None
        return _Worth(shown.value.mean, shown.value.low, shown.value.high, False, runs.amounts())


class _Words:
    """From numbers to what people call things."""

    def __init__(self, policy: Policy, stage: int, state: tuple[int, ...], own: _Worth) -> None:
        self._policy = policy
        self._indexed = policy.indexed
        self._stage = stage
        self._state = state
        self._own = own

    def action(self, choices: Sequence[int]) -> FrozenMapping[str, str]:
        """A joint action by names."""
        return FrozenMapping(
            {
                agent.name: agent.actions[agent.choice_action[choice]]
                for agent, choice in zip(self._indexed.agents, choices, strict=True)
            }
        )

    def alternative(
        self, choices: tuple[int, ...], worth: _Worth, chosen: tuple[int, ...]
    ) -> Alternative:
        """What is to be said of another joint action."""
        action, usual = self.action(choices), self.action(chosen)
        changes = {name: action[name] for name in action if action[name] != usual[name]}
        return Alternative(
            action,
            FrozenMapping(changes),
            worth.value,
            worth.low,
            worth.high,
            worth.exact and self._own.exact,
            self._own.value - worth.value,
            tuple(self.overlaps(choices, chosen)),
            tuple(self._differences(worth.amounts)),
        )

    def _differences(self, amounts: Sequence[float]) -> list[Difference]:
        """Which parts of the rewards make the difference."""
        sums: dict[str, float] = {}
        notes: dict[str, str] = {}
        for entry, amount, own in zip(
            self._indexed.entries, amounts, self._own.amounts, strict=True
        ):
            what = self._part(entry)
            sums[what] = sums.get(what, 0.0) + amount - own
            if entry.kind == "revenue":
                now, else_ = (f"{100 * each / entry.value:.3g} %" for each in (amount, own))
                notes[what] = f"completed with a chance of {now} instead of {else_}"
        largest = max((abs(each) for each in (*amounts, *self._own.amounts)), default=0.0)
        told = [
            Difference(what, amount, notes.get(what, ""))
            for what, amount in sums.items()
            if abs(amount) > LEAST_DIFFERENCE * max(1.0, largest)
        ]
        return sorted(told, key=lambda each: -abs(each.amount))

    def _part(self, entry: IndexedEntry) -> str:
        if entry.subject is None:
            return self._indexed.functions[entry.function]
        return f"{entry.kind} of {entry.subject}"

    def overlaps(self, choices: Sequence[int], usual: Sequence[int] | None) -> list[str]:
        """What the domain has to say of choices; only what is new against others, if asked."""
        problem = self._policy.problem
        return problem.remarks(self._indexed, self._stage, self._state, choices, usual)
