"""The part of a search that a view shows: some branches, and the end of a followed sequence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from coreplan.analysis.followed import FollowedStep, in_brackets
from coreplan.analysis.trace import (
    SearchTrace,
    TracedAction,
    TracedLocal,
    TracedOutcome,
    TracedState,
    leads_to,
)
from coreplan.errors import SolverError
from coreplan.support.checks import unknown_name


@dataclass
class TracePart:
    """Visits of a search that a view shows; positions refer to `states`.

    Attributes
    ----------
    start, states
        As in :class:`SearchTrace`. If a followed sequence reaches the horizon, the outcomes of its
        last joint action are states as well, with the reward of this outcome as value.
    hidden
        The joint actions at the start of the search that are left out.
    visits, actions, outcomes
        The followed sequence: positions of visits; (visit, action); (visit, action, outcome).
    """

    start: TracedOutcome
    states: list[TracedState]
    hidden: tuple[TracedAction, ...] = ()
    visits: set[int] = field(default_factory=set)
    actions: set[tuple[int, int]] = field(default_factory=set)
    outcomes: set[tuple[int, int, int]] = field(default_factory=set)

    def is_first(self, state: TracedState) -> bool:
        """Whether a visit is the first one."""
        return state is self.states[self.start.states[0]]


def part_of(trace: SearchTrace, branches: Sequence[str] = ()) -> TracePart:
    """Choose what to show of a search.

    Parameters
    ----------
    trace
        The search.
    branches
        Joint actions at the start of the search, as texts name them: ``(b, a)``. Others are left
        out, except the one that starts the followed sequence. By default everything is shown.

    Raises
    ------
    SolverError
        If the search has no such joint action at its start.
    """
    part = TracePart(trace.start, list(trace.states))
    if branches:
        _choose(trace, branches, part)
    if trace.followed is not None:
        _mark(trace, part)
    return part


def _choose(trace: SearchTrace, branches: Sequence[str], part: TracePart) -> None:
    """Leave out all other branches."""
    if trace.start.decoupled:
        raise SolverError("the agents are decoupled from the start; branches cannot be chosen")
    first = trace.states[trace.start.states[0]]
    names = [in_brackets(action.actions) for action in first.actions]
    chosen = set()
    for branch in branches:
        same = [k for k, name in enumerate(names) if _plain(name) == _plain(branch)]
        if not same:
            raise SolverError(
                unknown_name(branch, "joint action", names, "the start of the search")
            )
        chosen.update(same)
    if trace.followed is not None:
        chosen.add(names.index(in_brackets(trace.followed.steps[0].actions)))
    part.hidden = tuple(a for k, a in enumerate(first.actions) if k not in chosen)
    position: dict[int, int] = {}
    kept: list[tuple[int, TracedState]] = []
    for old, state in enumerate(trace.states):  # parents come before children
        is_first = state.parent is None
        if is_first or (
            state.parent in position
            and (trace.states[state.parent] is not first or state.parent_action in chosen)
        ):
            position[old] = len(kept)
            kept.append((old, state))
    part.start = _moved(trace.start, position)
    part.states = []
    for _, state in kept:
        order = [k for k in range(len(state.actions)) if state is not first or k in chosen]
        above = None if state.parent is None else trace.states[state.parent]
        turn = state.parent_action
        if above is first and turn is not None:
            turn = sum(k < turn for k in chosen)
        part.states.append(
            replace(
                state,
                parent=None if state.parent is None else position[state.parent],
                parent_action=turn,
                actions=tuple(
                    replace(
                        state.actions[k],
                        outcomes=tuple(_moved(o, position) for o in state.actions[k].outcomes),
                    )
                    for k in order
                ),
                best=order.index(state.best) if state.best in order else None,
            )
        )


def _plain(name: str) -> str:
    """A joint action without brackets around it and without spaces, for comparison."""
    text = "".join(name.split())
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


def _moved(outcome: TracedOutcome, position: dict[int, int]) -> TracedOutcome:
    return TracedOutcome(outcome.probability, tuple(position[k] for k in outcome.states))


def _mark(trace: SearchTrace, part: TracePart) -> None:
    """Mark the followed sequence, and add the outcomes of its last joint action."""
    assert trace.followed is not None
    at = part.start.states[0]
    part.visits.add(at)
    for step in trace.followed.steps:
        state = part.states[at]
        action = next(k for k, a in enumerate(state.actions) if a.actions == step.actions)
        if state.stage == trace.horizon - 1:
            _add_ends(trace.followed.last_outcomes, part, at, action)
        part.actions.add((at, action))
        outcomes = part.states[at].actions[action].outcomes
        wanted = dict(zip(state.agents, step.labels, strict=True))
        outcome = next(k for k, each in enumerate(outcomes) if leads_to(part.states, each, wanted))
        part.outcomes.add((at, action, outcome))
        part.visits.update(outcomes[outcome].states)
        at = outcomes[outcome].states[0]


def _add_ends(ends: Sequence[FollowedStep], part: TracePart, at: int, action: int) -> None:
    """Add the outcomes of a joint action at the last stage, which a search does not visit."""
    before = part.states[at]
    outcomes = []
    for end in ends:
        outcomes.append(TracedOutcome(end.probability, (len(part.states),)))
        part.states.append(
            TracedState(
                stage=before.stage + 1,
                locals=tuple(
                    TracedLocal(agent, label, label, ())
                    for agent, label in zip(before.agents, end.labels, strict=True)
                ),
                parent=at,
                parent_action=action,
                probability=end.probability,
                value=end.reward,
                independent=False,
                remembered=False,
                actions=(),
                best=None,
            )
        )
    actions = list(before.actions)
    actions[action] = replace(actions[action], outcomes=tuple(outcomes))
    part.states[at] = replace(before, actions=tuple(actions))
