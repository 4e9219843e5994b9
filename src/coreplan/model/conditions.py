"""Conditions on one agent's transition, and the names that they may use."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from coreplan.errors import Diagnostic, ModelError, nearest
from coreplan.support.checks import (
    Path,
    check_integer,
    found,
    is_integer,
    is_number,
    unknown_name,
)
from coreplan.support.frozen import FrozenMapping, freeze_sequence

if TYPE_CHECKING:
    from coreplan.model.timmdp import Agent

FeatureValue = str | bool | int | float
StateTest = tuple[str, ...] | FrozenMapping[str, FeatureValue] | None


def same_feature(left: object, right: object) -> bool:
    """Whether two feature values are equal: ``True`` is not 1, and 1 equals 1.0.

    Examples
    --------
    >>> same_feature(1, 1.0), same_feature(True, 1)
    (True, False)
    """
    return isinstance(left, bool) == isinstance(right, bool) and left == right


class Features(FrozenMapping[str, FeatureValue]):
    """Features by name; equal only if their values are equal as features."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping) or self.keys() != other.keys():
            return False
        return all(same_feature(value, other[name]) for name, value in self.items())

    __hash__ = FrozenMapping.__hash__


def freeze_mapping(value: object, path: Path, what: str) -> FrozenMapping[Any, Any]:
    """Turn a mapping into one that cannot change; raises a ModelError for other values."""
    if not isinstance(value, Mapping):
        raise ModelError([Diagnostic(path, f"found {found(value)}; expected {what}")])
    return FrozenMapping(value)


@dataclass(frozen=True, slots=True)
class Condition:
    """A test of one agent's transition. A part that is not given matches anything.

    Parameters
    ----------
    state, next
        A state's name, several names, or features that must all be equal: ``{"done": True}``.
    action
        An action's name or several names.

    Examples
    --------
    >>> Condition(action="go", next={"done": True})
    Condition(state=None, action=('go',), next={'done': True})
    """

    state: StateTest | str | Sequence[str] | Mapping[str, FeatureValue] = None
    action: tuple[str, ...] | str | Sequence[str] | None = None
    next: StateTest | str | Sequence[str] | Mapping[str, FeatureValue] = None

    def __post_init__(self) -> None:
        for part in ("state", "action", "next"):
            given = getattr(self, part)
            if given is None:
                continue
            if isinstance(given, str):
                given = (given,)
            elif isinstance(given, Mapping) and part != "action":
                given = Features(given)
            else:
                given = freeze_sequence(given, (part,), "a name, a list of names or features")
            object.__setattr__(self, part, given)


class MatchingStates:
    """Finds the states of an agent that pass the `state` or `next` part of a condition.

    The values of features are looked up: there may be as many conditions as states.

    Parameters
    ----------
    states
        The agent's states.
    features
        The features of each state that has any.
    """

    def __init__(
        self, states: Iterable[str], features: Mapping[str, Mapping[str, FeatureValue]]
    ) -> None:
        self._order = {state: k for k, state in enumerate(states)}
        self._features = features

    def of(self, test: Any) -> list[str] | None:
        """The states in their order; for a list of names, in its order; None if all pass."""
        if test is None:
            return None
        if isinstance(test, tuple):
            return list(test)
        sets = [
            self._with_feature.get((name, isinstance(value, bool), value), [])
            for name, value in test.items()
        ]
        if not sets:
            return list(self._order)
        smallest = min(sets, key=len)
        others = [set(each) for each in sets if each is not smallest]
        return [state for state in smallest if all(state in each for each in others)]

    @cached_property
    def _with_feature(self) -> dict[tuple[str, bool, Any], list[str]]:
        """The states that have a value of a feature, in order."""
        known: dict[tuple[str, bool, Any], list[str]] = {}
        for state, features in self._features.items():
            for name, value in features.items():
                known.setdefault((name, isinstance(value, bool), value), []).append(state)
        return {key: sorted(own, key=self._order.__getitem__) for key, own in known.items()}


class Vocabulary:
    """The names that conditions on an agent (or, by mistake, two of one name) may use.

    They are collected on first use, because collecting is slow for large agents.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._agents: list[Agent] = []

    def add(self, agent: Agent) -> None:
        """Let conditions use the names of an agent, too."""
        self._agents.append(agent)

    @cached_property
    def states(self) -> dict[str, None]:
        """All states."""
        return dict.fromkeys(itertools.chain.from_iterable(a.states for a in self._agents))

    @cached_property
    def actions(self) -> dict[str, None]:
        """All actions."""
        return dict.fromkeys(itertools.chain.from_iterable(a.actions for a in self._agents))

    @cached_property
    def features(self) -> dict[str, dict[tuple[bool, FeatureValue], None]]:
        """All features, each with its values; a boolean is told apart from numbers."""
        known: dict[str, dict[tuple[bool, FeatureValue], None]] = {}
        for agent in self._agents:
            for described in agent.features.values():
                for name, value in described.items():
                    if isinstance(value, Hashable):  # else it is another mistake
                        known.setdefault(name, {})[isinstance(value, bool), value] = None
        return known


def check_feature_value(value: object, path: Path) -> Iterable[Diagnostic]:
    """Require a value that a feature can have."""
    if not isinstance(value, str | bool) and not is_number(value):
        yield Diagnostic(
            path, f"found {found(value)}; expected a text, a boolean or a finite number"
        )


def check_stages(stages: Iterable[object] | None, path: Path, horizon: int) -> Iterable[Diagnostic]:
    """Require stages before the horizon; 0 for a horizon that is wrong itself."""
    for position, stage in enumerate(stages or ()):
        there = (*path, position)
        if not horizon:
            yield from check_integer(stage, there, "a stage", 0)
        elif not is_integer(stage) or not 0 <= stage < horizon:  # type: ignore[operator]
            yield Diagnostic(
                there,
                f"found {found(stage)}; expected a stage from 0 to {horizon - 1} (the horizon "
                f"is {horizon})",
                relies_on=("horizon",),
            )


def unknown_values(
    agents: Sequence[Agent], conditions: Iterable[tuple[Path, str, object]]
) -> Iterable[Diagnostic]:
    """Find conditions on values of features that no state has: they match nothing.

    Parameters
    ----------
    agents
        The agents of the problem.
    conditions
        Each condition with its place and the name of its agent; what is no condition is left out.
    """
    by_name: dict[str, Vocabulary] = {}
    for i, agent in enumerate(agents):
        by_name.setdefault(agent.name, Vocabulary(("agents", i))).add(agent)
    for place, name, condition in conditions:
        if name not in by_name or not isinstance(condition, Condition):
            continue  # another mistake
        for part in ("state", "next"):
            test = getattr(condition, part)
            for feature, value in test.items() if isinstance(test, FrozenMapping) else ():
                known = by_name[name].features.get(feature)
                if not known or not isinstance(value, str | bool | int | float):
                    continue
                if (isinstance(value, bool), value) in known:
                    continue
                # Yes or no: where every state says yes, one may still ask for no.
                if isinstance(value, bool) and (True, not value) in known:
                    continue
                yield Diagnostic(
                    (*place, part, str(feature)),
                    _unknown_value(
                        feature, value, [each for _, each in known], f"agent {found(name)}"
                    ),
                    relies_on=by_name[name].path,
                )


def _unknown_value(
    feature: str, value: FeatureValue, known: Sequence[FeatureValue], whose: str
) -> str:
    texts = [each for each in known if isinstance(each, str)]
    hint = nearest(value, texts) if isinstance(value, str) else ""
    if not hint and len(known) <= 8:
        hint = "; it has " + ", ".join(found(each) for each in known)
    return f"no state of {whose} has the value {found(value)} of the feature {found(feature)}{hint}"


def check_condition(
    name: str, condition: Condition, place: Path, agent: Vocabulary
) -> Iterable[Diagnostic]:
    """Find names in a condition that its agent does not have."""
    whose = f"agent {found(name)}"
    for part in ("state", "action", "next"):
        test = getattr(condition, part)
        here = (*place, part)
        if test is None:
            continue
        if isinstance(test, FrozenMapping):
            for feature, value in test.items():
                if feature not in agent.features:
                    yield Diagnostic(
                        (*here, str(feature)),
                        unknown_name(feature, "feature", list(agent.features), whose),
                        relies_on=agent.path,
                        at_key=True,
                    )
                yield from check_feature_value(value, (*here, str(feature)))
            continue
        if not test:
            yield Diagnostic(here, "found an empty list; expected one or more names")
        known = agent.actions if part == "action" else agent.states
        what = "action" if part == "action" else "state"
        for position, wanted in enumerate(test):
            if not isinstance(wanted, str) or wanted not in known:
                yield Diagnostic(
                    (*here, position),
                    unknown_name(wanted, what, list(known), whose),
                    relies_on=agent.path,
                )
