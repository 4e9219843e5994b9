"""Transitions of agents: what the actions of a state lead to, at all stages or at some."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coreplan.errors import Diagnostic, nearest
from coreplan.model.conditions import check_stages, freeze_mapping
from coreplan.support.checks import (
    Path,
    check_name,
    float_if_number,
    found,
    is_integer,
    is_name,
    is_number,
    unknown_name,
)
from coreplan.support.frozen import FrozenMapping, freeze_sequence

Law = Mapping[str, float]
"""Next state → probability."""
Actions = Mapping[str, Law]
"""The actions of a state."""
Transitions = Mapping[str, Actions]

PROBABILITY_TOLERANCE = 1e-9
"""The largest difference between 1 and the sum of the probabilities of one action."""
NO_ACTIONS: Actions = FrozenMapping()


def freeze_transitions(transitions: object) -> Transitions:
    """Copy a table of transitions; a ModelError if it does not have the right shape."""
    path: Path = ("transitions",)
    states = freeze_mapping(transitions, path, "a mapping state -> action -> next -> probability")
    # Outcomes that are one object stay one object: large problems share them.
    laws: dict[int, Law] = {}
    frozen = {}
    for state, actions in states.items():
        if not isinstance(actions, Mapping):
            where = (*path, str(state))
            freeze_mapping(actions, where, "a mapping action -> next state -> probability")
        row = {}
        for action, outcomes in actions.items():
            law = laws.get(id(outcomes))
            if law is None:
                if not isinstance(outcomes, Mapping):
                    where = (*path, str(state), str(action))
                    freeze_mapping(outcomes, where, "a mapping next state -> probability")
                law = FrozenMapping(
                    {after: float_if_number(chance) for after, chance in outcomes.items()}
                )
                laws[id(outcomes)] = law
            row[action] = law
        frozen[state] = FrozenMapping(row)
    return FrozenMapping(frozen)


@dataclass(frozen=True)
class StageTransitions:
    """What an agent can do at some stages, in some of its states.

    Parameters
    ----------
    stages
        The stages.
    transitions
        State → action → next state → probability. At these stages, the actions of the states named
        here are these, instead of the agent's usual ones; an empty mapping leaves a state without
        actions. Other states keep theirs.

    Examples
    --------
    A ferry does not sail at stages 1 and 2:

    >>> from coreplan import Agent
    >>> ferry = Agent("ferry", "port", {
    ...     "port": {"sail": {"island": 1}, "wait": {"port": 1}},
    ...     "island": {"wait": {"island": 1}}},
    ...     transitions_at=[StageTransitions([1, 2], {"port": {"wait": {"port": 1}}})])
    >>> [list(ferry.actions_of("port", stage)) for stage in range(4)]
    [['sail', 'wait'], ['wait'], ['wait'], ['sail', 'wait']]
    """

    stages: Sequence[int]
    transitions: Transitions

    def __post_init__(self) -> None:
        stages = freeze_sequence(self.stages, ("stages",), "a list of stages")
        stages = tuple(int(t) if is_integer(t) else t for t in stages)
        object.__setattr__(self, "stages", stages)
        object.__setattr__(self, "transitions", freeze_transitions(self.transitions))

    def __repr__(self) -> str:
        """The numbers of stages and states: both may be many."""
        return (
            f"<StageTransitions: {len(self.transitions):,} states at {len(self.stages):,} stages>"
        )


class Timetable:
    """The actions of an agent's states, stage by stage.

    Parameters
    ----------
    usual
        The transitions at stages that have no others.
    changes
        Other transitions at some stages.
    """

    def __init__(self, usual: Transitions, changes: Sequence[StageTransitions]) -> None:
        self._usual = usual
        self._changed: dict[str, dict[int, Any]] = {}
        for change in changes:
            for state, actions in change.transitions.items():
                at = self._changed.setdefault(state, {})
                at.update((t, actions) for t in change.stages if is_integer(t))

    def at(self, state: str, stage: int) -> Actions:
        """The actions of a state at a stage; none where it has no row."""
        changed = self._changed.get(state)
        usual: Actions = self._usual.get(state, NO_ACTIONS)
        return usual if changed is None else changed.get(stage, usual)

    def spells(self, state: str, horizon: int) -> Iterator[tuple[str, int, int, Law]]:
        """Action, first stage, last stage and outcomes, for stretches of stages before a horizon.

        An action that stays the same while others change is one spell.
        """
        changed = self._changed.get(state)
        usual: Actions = self._usual.get(state, NO_ACTIONS)
        if changed is None:
            for action, law in usual.items():
                yield action, 0, horizon - 1, law
            return
        marks = _marks(changed, horizon)
        spells: list[list[Any]] = []
        running: dict[str, list[Any]] = {}
        for first, after in zip(marks, [*marks[1:], horizon], strict=True):
            going_on = {}
            for action, law in changed.get(first, usual).items():
                spell = running.get(action)
                if spell is None or not (spell[3] is law or spell[3] == law):
                    spell = [action, first, first, law]
                    spells.append(spell)
                spell[2] = after - 1
                going_on[action] = spell
            running = going_on
        for action, first, last, law in spells:
            yield action, first, last, law

    def spells_of_stages(self, horizon: int) -> Iterator[tuple[int, int]]:
        """Stretches of stages, from first to last, at which no state's actions change."""
        changed = {t for stages in self._changed.values() for t in stages}
        marks = _marks(changed, horizon)
        yield from zip(marks, [mark - 1 for mark in [*marks[1:], horizon]], strict=True)


def _marks(stages: Iterable[int], horizon: int) -> list[int]:
    """0, and the stages before the horizon at which something starts or ends to be different."""
    both = {0, *stages, *(t + 1 for t in stages)}
    return sorted(t for t in both if t == 0 or 0 < t < horizon)


def check_transitions(transitions: Transitions, table: Path) -> Iterable[Diagnostic]:
    """Find mistakes in the names and probabilities of transitions."""
    sound: set[int] = set()  # correct outcomes; very many may be the same object
    for state, actions in transitions.items():
        if not is_name(state):
            yield from check_name(state, (*table, str(state)), "a state", at_key=True)
        for action, law in actions.items():
            if id(law) in sound and is_name(action):
                continue
            here = (*table, str(state), str(action))
            yield from check_name(action, here, "an action", at_key=True)
            if _is_sound(law):
                sound.add(id(law))
            else:
                yield from _check_law(law, here)


def _is_sound(law: Mapping[str, float]) -> bool:
    """Tell fast whether `_check_law` would find no mistake."""
    for after, chance in law.items():
        if not after or type(after) is not str or type(chance) is not float or not chance >= 0:
            return False
    return abs(sum(law.values()) - 1) <= PROBABILITY_TOLERANCE


def _check_law(law: Mapping[str, float], here: Path) -> Iterable[Diagnostic]:
    for after, chance in law.items():
        yield from check_name(after, (*here, str(after)), "a next state", at_key=True)
        if not is_number(chance) or chance < 0:
            yield Diagnostic(
                (*here, str(after)),
                f"found {found(chance)}; expected a probability, a number of at least 0",
            )
    if all(is_number(chance) and chance >= 0 for chance in law.values()):
        total = sum(law.values())
        if abs(total - 1) > PROBABILITY_TOLERANCE:
            yield Diagnostic(
                here, f"the probabilities add up to {total:.12g}; expected 1", relies_on=here
            )


def check_changes(
    agent: str,
    states: Sequence[str],
    changes: Sequence[StageTransitions],
    path: Path,
    horizon: int,
) -> Iterable[Diagnostic]:
    """Find mistakes in the transitions that an agent has at some stages.

    Parameters
    ----------
    agent
        The agent's name.
    states
        Its states, apart from those that only these transitions name at their left.
    changes
        The transitions.
    path
        The agent's place.
    horizon
        The number of stages; 0 if it is not known.
    """
    named: dict[str, dict[int, int]] = {}
    known = set(states)
    for k, change in enumerate(changes):
        here = (*path, "transitions_at", k)
        yield from check_stages(change.stages, (*here, "stages"), horizon)
        yield from check_transitions(change.transitions, (*here, "transitions"))
        for state in change.transitions:
            place = (*here, "transitions", str(state))
            if state not in known:
                whose = f"agent {found(agent)}"
                yield Diagnostic(
                    place, unknown_name(state, "state", states, whose), relies_on=path, at_key=True
                )
            at = named.setdefault(state, {})
            for stage in dict.fromkeys(t for t in change.stages if is_integer(t)):
                before = at.setdefault(stage, k)
                if before != k:
                    yield Diagnostic(
                        place,
                        f"state {found(state)} has other transitions at stage {found(stage)} "
                        f"already, in transitions_at[{before}]; give them once",
                        at_key=True,
                    )
                    break


def check_actions_exist(
    initial: object,
    transitions: Transitions,
    changes: Sequence[StageTransitions],
    path: Path,
    horizon: int,
) -> Iterable[Diagnostic]:
    """Find states without actions that can be reached before the horizon."""
    start = initial if isinstance(initial, str) and initial else None
    if start is None:
        return
    timetable = Timetable(transitions, changes)
    told: set[str] = set()
    seen: set[str] = set()
    layer: Sequence[str] = [start]
    for first, last in timetable.spells_of_stages(horizon):
        following: dict[frozenset[str], Sequence[str]] = {}
        for stage in range(first, last + 1):
            here = frozenset(layer)
            if here in following:
                layer = following[here]
            else:
                stuck = [state for state in layer if not timetable.at(state, stage)]
                for state in stuck:
                    if state not in told:
                        yield _stuck(state, stage, transitions, changes, path)
                told.update(stuck)
                reached = {
                    after: None
                    for state in layer
                    for law in timetable.at(state, stage).values()
                    for after, chance in law.items()
                    if is_number(chance) and chance > 0
                }
                # Without changes, a state is the same at all stages: look at it once.
                seen.update(layer)
                layer = following[here] = [
                    after for after in reached if changes or after not in seen
                ]
            if not layer or frozenset(layer) == here:
                break
        if not layer:
            return


def _stuck(
    state: str,
    stage: int,
    transitions: Transitions,
    changes: Sequence[StageTransitions],
    path: Path,
) -> Diagnostic:
    place: Path = (*path, "transitions")
    hint = ""
    changed = next(
        (k for k, c in enumerate(changes) if state in c.transitions and stage in c.stages), None
    )
    if changed is not None:
        place = (*path, "transitions_at", changed, "transitions", state)
    elif state in transitions:
        place = (*place, state)
    else:
        place = (*path, "initial") if stage == 0 else place
        hint = nearest(state, transitions)
    return Diagnostic(
        place,
        f"state {found(state)} has no action and can be reached at stage {stage}, "
        f"before the horizon; add an action, for instance one that stays{hint}",
        relies_on=path,
    )
