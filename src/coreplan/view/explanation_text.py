"""Explanations of a decision as text."""

from __future__ import annotations

from collections.abc import Mapping

from coreplan.analysis.explanation import Alternative, Difference, Explanation
from coreplan.support.cents import amount_text
from coreplan.support.late import provides
from coreplan.view.words import count

MOST_DIFFERENCES = 4
"""The most reasons that are printed for an alternative."""
MOST_ALONE, MOST_TOGETHER = 12, 3
"""The most alternatives of one agent, and of several, that are printed; the data has more."""


@provides("Explanation.text")
def explanation_in_words(explanation: Explanation) -> list[str]:
    """Lines with the decision, its alternatives, and the reasons why they are better or worse."""
    lines = [f"in step {explanation.stage}:"]
    lines += [f"  {name}: {state}" for name, state in explanation.state.items()]
    about = "" if explanation.exact else "about "
    does = _actions(explanation.action)
    value, low, high = explanation.value, explanation.low, explanation.high
    worth = f"expected value from here on: {about}{amount_text(value)}"
    if explanation.words.money:
        verb, sign = ("cost", -1) if value < 0 else ("earn", 1)
        worth = f"from here on it is expected to {verb} {about}{amount_text(abs(value))}"
        low, high = sorted((sign * low, sign * high))
    lines.append(f"the plan: {does}; {worth}")
    if not explanation.exact:
        lines.append(
            f"  between {amount_text(low)} and {amount_text(high)}, estimated by simulation"
        )
    lines += [f"  {text}" for text in explanation.overlaps]
    if not explanation.alternatives and not explanation.left_out:
        return [*lines, f"no alternatives: every {explanation.words.agent} has one action only"]
    lines.append("alternatives, for this step only:")
    alone = [each for each in explanation.alternatives if len(each.changes) == 1]
    together = [each for each in explanation.alternatives if len(each.changes) > 1]
    told = [*alone[:MOST_ALONE], *together[:MOST_TOGETHER]]
    for each in told:
        lines += _alternative(each)
    left_out = explanation.left_out + len(explanation.alternatives) - len(told)
    if left_out:
        what = "other combination" if explanation.words.money else "other joint action"
        lines.append(f"  and {count(left_out, what)}")
    return lines


def _alternative(each: Alternative) -> list[str]:
    about = "" if each.exact else "about "
    amount = amount_text(abs(each.loss))
    if amount == "0.00":
        worth = f"{about}as good"
    else:
        worth = f"{about}{amount} {'worse' if each.loss > 0 else 'better'}"
    reasons = [*each.overlaps, *map(_difference, each.differences[:MOST_DIFFERENCES])]
    return [f"  {_actions(each.changes)}: {worth}", *(f"    - {reason}" for reason in reasons)]


def _difference(each: Difference) -> str:
    amount = amount_text(abs(each.amount))
    if each.verb:
        return f"{each.what} {each.verb} {amount} {'less' if each.amount > 0 else 'more'}"
    note = f" ({each.note})" if each.note else ""
    return f"{each.what}: {amount} {'more' if each.amount > 0 else 'less'}{note}"


def _actions(actions: Mapping[str, str]) -> str:
    return ", ".join(f"{name}: {action}" for name, action in actions.items())
