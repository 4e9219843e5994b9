"""Searches as indented trees, and the labels that they share with pictures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from coreplan.analysis.followed import FollowedSequence, in_brackets
from coreplan.analysis.trace import (
    SearchTrace,
    TracedAction,
    TracedLocal,
    TracedOutcome,
    TracedState,
)
from coreplan.support.late import provides
from coreplan.view.trace_part import TracePart, part_of
from coreplan.view.words import count

_INDENT = "  "
MOST_ALIKE = 2
"""The number of merged local states that are named after the first one."""


@provides("SearchTrace.text")
def trace_text(trace: SearchTrace, branches: Sequence[str] = ()) -> str:
    """Write the tree: joint states, below them joint actions, below these their outcomes."""
    shown = part_of(trace, branches)
    lines = [
        f"{one_line(trace.problem)} by {trace.algorithm}, from stage {trace.stage} on: worth "
        f"{number(trace.value)}",
        counts_in_words(trace),
    ]
    constant = sum(trace.constants)
    if constant:
        lines.append(f"of this, {number(constant)} does not depend on any action")
    lines.append("")
    # The parts still to be written, with their depths; the next one is last.
    waiting: list[tuple[int, TracedOutcome | TracedAction | TracedState | str, str]]
    waiting = [(0, shown.start, "")]
    while waiting:
        depth, part, prefix = waiting.pop()
        inside: list[tuple[int, TracedOutcome | TracedAction | TracedState | str, str]] = []
        if isinstance(part, str):
            lines.append(f"{_INDENT * depth}{part}")
        elif isinstance(part, TracedOutcome):
            chance = "" if part.probability == 1 else f"{number(part.probability)}: "
            if part.decoupled:
                lines.append(
                    f"{_INDENT * depth}{chance}decoupled into {len(part.states)} groups, "
                    f"worth {number(sum(shown.states[k].value for k in part.states))}"
                )
                inside = [(depth + 1, shown.states[k], "") for k in part.states]
            else:
                inside = [(depth, shown.states[k], chance) for k in part.states]
        elif isinstance(part, TracedState):
            lines.append(f"{_INDENT * depth}{prefix}{_state_line(part, trace.horizon)}")
            for k, action in enumerate(part.actions):
                inside.append((depth + 1, action, " (best)" if k == part.best else ""))
            if shown.is_first(part) and shown.hidden:
                inside.append((depth + 1, hidden_in_words(shown), ""))
        else:
            lines.append(f"{_INDENT * depth}{_action_line(part)}{prefix}")
            inside = [(depth + 1, outcome, "") for outcome in part.outcomes]
        waiting.extend(reversed(inside))
    if trace.followed is not None:
        lines += ["", *_followed_lines(trace.followed)]
    return "\n".join(lines) + "\n"


def _followed_lines(followed: FollowedSequence) -> list[str]:
    """The followed sequence, step by step."""
    lines = ["followed:"]
    for step in followed.steps:
        actions, labels = (
            in_brackets(list(map(one_line, names))) for names in (step.actions, step.labels)
        )
        chance = "" if step.probability == 1 else f", probability {number(step.probability)}"
        lines.append(f"{_INDENT}{actions} -> {labels}{chance}: earns {number(step.reward)}")
    return [
        *lines,
        f"{_INDENT}together: probability {number(followed.probability)}, earns "
        f"{number(followed.reward)}",
    ]


def hidden_in_words(shown: TracePart) -> str:
    """Say what is left out of a view of a search."""
    pruned = sum(action.pruned for action in shown.hidden)
    counted = count(len(shown.hidden), "more joint action")
    return f"{counted}, not shown: {len(shown.hidden) - pruned:,} evaluated, {pruned:,} pruned"


def _state_line(state: TracedState, horizon: int) -> str:
    who = ", ".join(f"{one_line(local.agent)}: {local_name(local)}" for local in state.locals)
    if state.stage == horizon:
        return f"stage {state.stage} [{who}] earns {number(state.value)}"
    line = f"stage {state.stage} [{who}] is worth {number(state.value)}"
    if state.independent:
        line += ", by its own best policy"
    if state.remembered:
        line += ", remembered"
    return line


def _action_line(action: TracedAction) -> str:
    line = f"{joint_action(action)}: bounds {interval(action.lower, action.upper)}"
    if narrowed(action):
        line += f" (CRGs alone: {interval(action.graph_lower, action.graph_upper)})"
    if action.value is None:
        return f"{line}, {'pruned' if action.pruned else 'given up'}: {reason(action)}"
    return f"{line}, worth {number(action.value)}"


def counts_in_words(trace: SearchTrace) -> str:
    """Count the work of the search."""
    alone = sum(state.independent for state in trace.states)
    remembered = sum(state.remembered for state in trace.states)
    parts = [
        f"{count(trace.joint_states_expanded, 'joint state')} searched",
        f"{count(trace.joint_actions_evaluated, 'joint action')} evaluated",
        f"{trace.joint_actions_pruned:,} pruned",
        count(trace.decouplings, "decoupling"),
        f"{count(alone, 'local state')} solved alone" if alone else "",
        f"{remembered:,} remembered" if remembered else "",
    ]
    return ", ".join(part for part in parts if part)


def joint_action(action: TracedAction) -> str:
    """Write a joint action: ``(a, b)``, or ``a`` for one agent."""
    return in_brackets([one_line(name) for name in action.actions])


def local_name(local: TracedLocal) -> str:
    """Name a local state, and the first of the states merged with it."""
    names = [one_line(name) for name in (local.label, *local.alike[:MOST_ALIKE])]
    more = len(local.alike) - MOST_ALIKE
    return " or ".join(names) + (f" or {more:,} more" if more > 0 else "")


def reason(action: TracedAction) -> str:
    """Why an action was pruned or given up; the two numbers have enough digits to differ."""
    certain = -math.inf if action.certain is None else action.certain
    upper = action.upper if action.given_up is None else action.given_up
    best, sure = apart(upper, certain)
    return f"at best {best}, {sure} is certain"


def narrowed(action: TracedAction) -> bool:
    """Whether the search knew more than the conditional return graphs alone."""
    alone = interval(action.graph_lower, action.graph_upper)
    return alone != interval(action.lower, action.upper)


def interval(lower: float, upper: float) -> str:
    """Write bounds as in the paper."""
    return f"[{number(lower)}, {number(upper)}]"


def number(value: float, digits: int = 6) -> str:
    """Write a number with the digits that it needs."""
    text = f"{value:.{digits}g}"
    return "0" if text == "-0" else text


def apart(left: float, right: float) -> tuple[str, str]:
    """Write two different numbers with enough digits to differ."""
    for digits in (6, 9, 12, 17):
        texts = number(left, digits), number(right, digits)
        if texts[0] != texts[1]:
            break
    return texts


def one_line(name: str) -> str:
    r"""Escape the characters of a name that are not printable: ``a\nb``."""
    return "".join(_visible(name))


def _visible(name: str) -> Iterable[str]:
    for letter in name:
        if letter.isprintable():
            yield letter
        else:
            yield letter.encode("unicode_escape").decode("ascii")
