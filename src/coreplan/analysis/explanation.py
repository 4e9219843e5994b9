"""Explanations of decisions: the alternatives to an action, and their values.

An alternative replaces one joint action; afterwards the policy is followed. Its value is exact if
it can be computed in time, and otherwise marked as an estimate by simulation. The rewards show the
reasons for a difference: each entry contributes its part to a value.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from coreplan.analysis.simulator import Runs
from coreplan.errors import LimitError, ModelError, SolverError
from coreplan.model.indexed import IndexedAggregate, IndexedEntry, JointState
from coreplan.model.problem import RewardKind, Words
from coreplan.model.values import plain_state
from coreplan.policies.evaluation import Beginning, evaluate_entries
from coreplan.policies.policy import Policy
from coreplan.solving.limits import Limits
from coreplan.solving.solver import errors_of_the_core
from coreplan.support.checks import found, is_number, unknown_name
from coreplan.support.clock import now
from coreplan.support.frozen import FrozenMapping
from coreplan.support.late import late, provides

MOST_JOINT_ACTIONS = 64
"""The most joint actions that are all examined; beyond, only changes of one or two agents."""
RUNS = 20_000
"""The number of simulated runs if the exact value is out of reach."""
LEAST_DIFFERENCE = 1e-9
"""Differences below this part of the largest amount count as rounding."""
_NOTHING_TO_SAY = RewardKind()


@dataclass(frozen=True)
class Difference:
    """The change in one part of the rewards, compared with the policy's own action.

    Attributes
    ----------
    what
        The part, as text: a reward function or, where the domain says so, the rewards of one kind
        for one subject, for instance the revenue of a task.
    amount
        The additional reward of this part; negative if it earns less.
    note
        Details, for instance the probability that a task is completed.
    verb
        The verb for a loss by this part, for instance ``costs``; empty if texts speak of more or
        less of it.
    subject
        The subject of the rewards, for instance a task; empty if the domain names none.
    kind
        What people say of rewards of this kind.
    chances
        The probabilities of the event of this kind: with this action, and with the policy's own.
    """

    what: str
    amount: float
    note: str = ""
    verb: str = ""
    subject: str = field(default="", repr=False)
    kind: RewardKind = field(default=_NOTHING_TO_SAY, repr=False)
    chances: tuple[float, float] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Alternative:
    """Another joint action, taken once before the policy is followed.

    Attributes
    ----------
    action
        An action for every agent, by name.
    changes
        The actions of the agents that act differently from the policy.
    value, low, high
        The expected value, and an interval for it if it is an estimate.
    exact
        Whether the value is exact.
    loss
        The loss against the policy's own action; negative if the alternative is better.
    overlaps
        Remarks of the domain, as text, for instance the works that would coincide now.
    differences
        The reasons for the loss, the largest first.
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
    """The decision of a policy and its alternatives; made by :meth:`coreplan.Policy.explain`.

    Attributes
    ----------
    stage, state
        The situation: a local state for every agent, by name.
    action
        The joint action of the policy, by agents' names.
    value, low, high, exact
        The expected value from here on, and an interval for it if it is not exact.
    overlaps
        Remarks of the domain on the policy's own action, as text.
    alternatives
        The other joint actions, the best first.
    left_out
        The number of further joint actions that were not examined or not kept.
    words
        The terms of the domain, for texts.
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
    words: Words = field(default=Words(), repr=False)

    @property
    def best(self) -> bool:
        """Whether no alternative that was examined is better, up to rounding."""
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
    """Compare a decision with its alternatives, see :meth:`coreplan.Policy.explain`."""
    _check(most, time_limit)
    policy.act(stage, joint_state)  # raises an error if they are invalid
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
        policy.problem.words,
    )


def _check(most: object, time_limit: object) -> None:
    if isinstance(most, bool) or not isinstance(most, int) or most < 0:
        raise ModelError(f"most is {found(most)}; expected a whole number of at least 0")
    if not is_number(time_limit) or not time_limit > 0:  # type: ignore[operator]
        raise ModelError(f"time_limit is {found(time_limit)}; expected a number above 0")


def _agents(names: Sequence[str], asked: Iterable[str] | None) -> list[int]:
    """The numbers of the agents whose other actions are examined."""
    if asked is None:
        return list(range(len(names)))
    numbers = []
    for name in [asked] if isinstance(asked, str) else asked:
        if name not in names:
            raise ModelError(unknown_name(name, "agent", names, "the problem"))
        numbers.append(names.index(name))
    return sorted(set(numbers))


class _Candidates:
    """The joint actions to examine."""

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
        """Changes of single agents first; then of pairs that share a reward, or all if few."""
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
            for reward in self._policy.indexed.rewards
            for pair in itertools.combinations(reward.agents, 2)
        }
        for pair in itertools.combinations(able, 2):
            if pair in linked:
                yield from self._changed(pair)

    def _changed(self, who: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """The joint actions in which exactly these agents act differently."""
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
    """For each reward, by its number: its contribution."""


class _Judge:
    """Computes the values of joint actions, as exactly as time allows."""

    def __init__(
        self, policy: Policy, stage: int, state: tuple[int, ...], time_limit: float, seed: int
    ) -> None:
        self._policy = policy
        self._stage = stage
        self._state = state
        self._end = now() + time_limit
        self._seed = seed
        self._exact = True

    def worth(self, choices: tuple[int, ...], seconds: float | None) -> _Worth | None:
        """The value of taking a joint action once; None if no time is left."""
        left = self._end - now()
        if left <= 0:
            return None
        beginning = Beginning(self._stage, self._state, choices)
        if self._exact:
            try:
                limit = left if seconds is None else min(left, seconds)
                value, amounts = evaluate_entries(self._policy, limit, beginning)
                return _Worth(value, value, value, True, amounts)
            except SolverError:
                # If one exact value is out of reach, the others usually are, too.
                self._exact = False
        return self._estimate(beginning)

    def _estimate(self, beginning: Beginning) -> _Worth | None:
        left = self._end - now()
        if left <= 0:
            return None
        limits = Limits(left)
        try:
            with errors_of_the_core():
                # The same seed for all, so that common noise hides no difference.
                runs = Runs(self._policy, self._seed, limits, beginning)
                shown = runs.run(RUNS, 0.95, None, None)
        except LimitError:
            return None
        return _Worth(shown.value.mean, shown.value.low, shown.value.high, False, runs.amounts())


class _Words:
    """Translates numbers into names for people."""

    def __init__(self, policy: Policy, stage: int, state: tuple[int, ...], own: _Worth) -> None:
        self._policy = policy
        self._indexed = policy.indexed
        self._stage = stage
        self._state = state
        self._own = own

    def action(self, choices: Sequence[int]) -> FrozenMapping[str, str]:
        """Name the actions of a joint action."""
        return FrozenMapping(
            {
                agent.name: agent.actions[agent.choice_action[choice]]
                for agent, choice in zip(self._indexed.agents, choices, strict=True)
            }
        )

    def alternative(
        self, choices: tuple[int, ...], worth: _Worth, chosen: tuple[int, ...]
    ) -> Alternative:
        """Describe another joint action."""
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
        """Find the parts of the rewards that cause the difference."""
        kinds = self._policy.problem.reward_kinds
        sums: dict[str, float] = {}
        notes: dict[str, str] = {}
        told_of: dict[str, RewardKind] = {}
        subjects: dict[str, str] = {}
        chances: dict[str, tuple[float, float]] = {}
        for entry, amount, own in zip(
            self._indexed.rewards, amounts, self._own.amounts, strict=True
        ):
            what = self._part(entry)
            sums[what] = sums.get(what, 0.0) + amount - own
            kind = kinds.get(entry.kind, _NOTHING_TO_SAY)
            told_of[what], subjects[what] = kind, entry.subject or ""
            # With a discount, amounts tell no chances.
            undiscounted = self._indexed.discount == 1
            if kind.event and undiscounted and isinstance(entry, IndexedEntry):
                chances[what] = (amount / entry.value, own / entry.value)
                this, else_ = (f"{100 * each / entry.value:.3g} %" for each in (amount, own))
                notes[what] = f"{kind.event} with a chance of {this} instead of {else_}"
        largest = max((abs(each) for each in (*amounts, *self._own.amounts)), default=0.0)
        told = [
            Difference(
                what,
                amount,
                notes.get(what, ""),
                told_of[what].verb,
                subjects[what],
                told_of[what],
                chances.get(what),
            )
            for what, amount in sums.items()
            if abs(amount) > LEAST_DIFFERENCE * max(1.0, largest)
        ]
        return sorted(told, key=lambda each: -abs(each.amount))

    def _part(self, entry: IndexedEntry | IndexedAggregate) -> str:
        if entry.subject is None:
            return self._indexed.functions[entry.function]
        return f"{entry.kind} of {entry.subject}"

    def overlaps(self, choices: Sequence[int], usual: Sequence[int] | None) -> list[str]:
        """The domain's remarks on choices; compared with others, only the new ones."""
        problem = self._policy.problem
        return problem.remarks(self._indexed, self._stage, self._state, choices, usual)
