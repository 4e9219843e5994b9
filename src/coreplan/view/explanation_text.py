"""Explanations of a decision as text."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch

from coreplan.analysis.explanation import Alternative, Difference, Explanation
from coreplan.model.calendar import Calendar
from coreplan.support.cents import amount_text, value_text
from coreplan.support.language import say, say_marked
from coreplan.support.late import provides
from coreplan.view.words import count

MOST_DIFFERENCES = 4
"""The most reasons that are printed for an alternative."""
MOST_ALONE, MOST_TOGETHER = 12, 3
"""The most alternatives of one agent, and of several, that are printed; the data has more."""


@singledispatch
def state_in_words(state: object) -> str:
    """The state of an agent; a domain may register its own words for its states."""
    return str(state)


@singledispatch
def action_in_words(state: object, action: str) -> str:
    """The action of an agent in a state; a domain may register its own words for its states."""
    return action


@provides("Explanation.text")
def explanation_in_words(explanation: Explanation, calendar: Calendar | None = None) -> list[str]:
    """Lines with the decision, its alternatives, and the reasons why they are better or worse.

    The step is named by its date if a calendar is given.
    """
    if calendar is None:
        lines = [say("in step {step}:", step=explanation.stage)]
    else:
        lines = [say("on {date}:", date=calendar.label(explanation.stage))]
    lines += [f"  {name}: {state_in_words(state)}" for name, state in explanation.state.items()]
    does = _actions(explanation.action, explanation)
    lines.append(say("the plan: {actions}; {worth}", actions=does, worth=_worth(explanation)))
    if not explanation.exact:
        low, high = explanation.low, explanation.high
        if explanation.words.money:
            sign = -1 if explanation.value < 0 else 1
            low, high = sorted((sign * low, sign * high))
        between = say(
            "between {low} and {high}, estimated by simulation",
            low=_number(low, explanation),
            high=_number(high, explanation),
        )
        lines.append(f"  {between}")
    lines += [f"  {text}" for text in explanation.overlaps]
    if not explanation.alternatives and not explanation.left_out:
        agent = say_marked(explanation.words.agent)
        none = say("no alternatives: every {agent} has one action only", agent=agent)
        return [*lines, none]
    lines.append(say("alternatives, for this step only:"))
    alone = [each for each in explanation.alternatives if len(each.changes) == 1]
    together = [each for each in explanation.alternatives if len(each.changes) > 1]
    told = [*alone[:MOST_ALONE], *together[:MOST_TOGETHER]]
    for each in told:
        lines += _alternative(each, explanation)
    left_out = explanation.left_out + len(explanation.alternatives) - len(told)
    if left_out:
        what = (
            count(left_out, "other combination")
            if explanation.words.money
            else count(left_out, "other joint action")
        )
        lines.append(f"  {say('and {combinations}', combinations=what)}")
    return lines


def _number(value: float, explanation: Explanation) -> str:
    """Write a value, which is an amount of money in some domains."""
    return amount_text(value) if explanation.words.money else value_text(value)


def _worth(explanation: Explanation) -> str:
    """The value of the plan from the step on."""
    value = explanation.value
    if not explanation.words.money:
        amount = value_text(value)
        if explanation.exact:
            return say("expected value from here on: {value}", value=amount)
        return say("expected value from here on: about {value}", value=amount)
    amount = amount_text(abs(value))
    if value < 0 and explanation.exact:
        return say("from here on it is expected to cost {amount}", amount=amount)
    if value < 0:
        return say("from here on it is expected to cost about {amount}", amount=amount)
    if explanation.exact:
        return say("from here on it is expected to earn {amount}", amount=amount)
    return say("from here on it is expected to earn about {amount}", amount=amount)


def _alternative(each: Alternative, explanation: Explanation) -> list[str]:
    amount = _number(abs(each.loss), explanation)
    if amount == _number(0.0, explanation):
        worth = say("as good") if each.exact else say("about as good")
    elif each.loss > 0:
        worth = (
            say("{amount} worse", amount=amount)
            if each.exact
            else say("about {amount} worse", amount=amount)
        )
    else:
        worth = (
            say("{amount} better", amount=amount)
            if each.exact
            else say("about {amount} better", amount=amount)
        )
    differences = each.differences[:MOST_DIFFERENCES]
    reasons = [*each.overlaps, *(_difference(part, explanation) for part in differences)]
    said = _actions(each.changes, explanation)
    return [f"  {said}: {worth}", *(f"    - {reason}" for reason in reasons)]


def _difference(each: Difference, explanation: Explanation) -> str:
    """A sentence about one part of the rewards: those of the domain, or a general one."""
    amount = _number(abs(each.amount), explanation)
    more = (each.amount > 0) != bool(each.verb)  # a verb is about what is lost
    own = each.kind.more if more else each.kind.less
    if own and each.subject:
        text = say_marked(own, subject=each.subject, amount=amount)
    elif each.verb:
        return f"{each.what} {each.verb} {amount} {'more' if more else 'less'}"
    elif more:
        text = say("{what}: {amount} more", what=each.what, amount=amount)
    else:
        text = say("{what}: {amount} less", what=each.what, amount=amount)
    note = each.note
    if each.kind.chances and each.chances is not None:
        now, then = (say("{share:.3g} %", share=100 * chance) for chance in each.chances)
        note = say_marked(each.kind.chances, now=now, then=then)
    return f"{text} ({note})" if note else text


def _actions(actions: Mapping[str, str], explanation: Explanation) -> str:
    return ", ".join(
        f"{name}: {action_in_words(explanation.state[name], action)}"
        for name, action in actions.items()
    )
