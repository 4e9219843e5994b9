"""Sentences about why works start when they do."""

from __future__ import annotations

import math

from coreplan.domains.maintenance.money import amount_text, rounded
from coreplan.domains.maintenance.reasons import Cause, Reason, Reasons, Shift
from coreplan.model.calendar import Calendar
from coreplan.support.language import marked, say, say_marked
from coreplan.view.terminal import fold
from coreplan.view.units import joined, unit_of
from coreplan.view.words import printable, when

NOTE = marked(
    "Costs are compared with the best plan from the same moment on, if nothing is delayed before; "
    "all other works are planned anew."
)
"""What all sentences have in common."""
STOPPED = marked("A limit was reached: some costs are bounds, and some causes are not known.")
"""The remark on reasons that are not complete."""
_SHIFTS = {
    ("earlier", "step"): marked("a step earlier"),
    ("earlier", "day"): marked("a day earlier"),
    ("earlier", "week"): marked("a week earlier"),
    ("later", "step"): marked("a step later"),
    ("later", "day"): marked("a day later"),
    ("later", "week"): marked("a week later"),
}
_BOTH = {
    "step": marked("a step earlier or later costs the same"),
    "day": marked("a day earlier or later costs the same"),
    "week": marked("a week earlier or later costs the same"),
}


def reason_in_words(reason: Reason, calendar: Calendar | None = None) -> str:
    """One sentence: when a work starts, and what an earlier or a later start would cost, and why.

    Examples
    --------
    >>> earlier = Shift(1, True, 31.2, 31.2, Cause("hindrance", ("Alpha/a2", "Beta/b1"), 0.0), True)
    >>> later = Shift(2, True, 3.0, 3.0)
    >>> for part in reason_in_words(Reason("Alpha", "a2", 2, earlier, later)).split(", "):
    ...     print(part)
    Alpha/a2 starts in step 2: a step earlier costs 31.20 more
    because Alpha/a2 and Beta/b1 hinder each other; a step later costs 3.00 more.
    """
    name = printable(f"{reason.contractor}/{reason.work}")
    if _same(reason.earlier) and _same(reason.later) and reason.before is None:
        costs = say_marked(_BOTH[unit_of(calendar)])
    else:
        earlier = _shift(reason.earlier, "earlier", reason, calendar)
        costs = f"{earlier}; {_shift(reason.later, 'later', reason, calendar)}"
    at = when(reason.start, calendar)
    if calendar is None:
        return say("{name} starts in {step}: {costs}.", name=name, step=at, costs=costs)
    return say("{name} starts on {date}: {costs}.", name=name, date=at, costs=costs)


def reasons_lines(reasons: Reasons, width: int, calendar: Calendar | None = None) -> list[str]:
    """All sentences for the terminal, with a heading and a note."""
    if not reasons.reasons:
        return [say("Why then: no work starts if nothing is delayed.")]
    lines = [say("Why then:")]
    for each in reasons.reasons:
        lines += fold(reason_in_words(each, calendar), width, "  - ", "    ")
    lines += fold(say_marked(NOTE), width)
    if not reasons.complete:
        lines += fold(say_marked(STOPPED), width)
    return lines


def _same(shift: Shift) -> bool:
    return shift.possible and rounded(shift.high) == 0


def _shift(shift: Shift, direction: str, reason: Reason, calendar: Calendar | None) -> str:
    own = f"{reason.contractor}/{reason.work}"
    if not shift.possible:
        return _impossible(shift.cause, direction, own)
    what = say_marked(_SHIFTS[direction, unit_of(calendar)])
    if _same(shift):
        moved = reason.before if direction == "earlier" else None
        if moved:
            return say("{shift} costs the same if {work} moves", shift=what, work=printable(moved))
        return say("{shift} costs the same", shift=what)
    low, high = rounded(shift.low), rounded(shift.high)
    least, most = amount_text(low), amount_text(high)
    if shift.exact or low == high:
        cost = say("{shift} costs {amount} more", shift=what, amount=most)
    elif not math.isfinite(shift.high):
        if low <= 0:
            return say("what {shift} costs was not computed", shift=what)
        cost = say("{shift} costs at least {amount} more", shift=what, amount=least)
    elif low <= 0:
        cost = say("{shift} costs at most {amount} more", shift=what, amount=most)
    else:
        cost = say("{shift} costs between {low} and {high} more", shift=what, low=least, high=most)
    return _with_cause(cost, shift, own)


def _with_cause(cost: str, shift: Shift, own: str) -> str:
    """What another start costs, and what causes it."""
    cause = shift.cause
    if cause is None:
        if shift.searched and shift.low > 0:
            return say("{cost}, for several reasons together", cost=cost)
        return cost
    because = _because(cause, own)
    left = 0.0 if cause.left is None else rounded(cause.left)
    if not left:
        return say("{what}, {because}", what=cost, because=because)
    return say(
        "{cost}, mainly {because} (otherwise {amount})",
        cost=cost,
        because=because,
        amount=amount_text(left),
    )


def _because(cause: Cause, own: str) -> str:
    """A cause as the end of a sentence."""
    if cause.kind == "hindrance":
        works = joined([printable(each) for each in cause.names])
        return say("because {works} hinder each other", works=works)
    name = printable(cause.names[0])
    if cause.kind == "closed":
        return say("because of the closed period {period}", period=name)
    if cause.names == (own,):
        return say_marked(_OWN[cause.kind])
    return say_marked(_OTHERS[cause.kind], work=name)


_OWN = {
    "window": marked("because of its window"),
    "delay": marked("because it may be delayed"),
    "price": marked("because its costs depend on the date"),
    "work": marked("because the same contractor has to do it"),
}
"""Causes of the work itself."""
_OTHERS = {
    "window": marked("because of the window of {work}"),
    "delay": marked("because {work} may be delayed"),
    "price": marked("because the costs of {work} depend on the date"),
    "work": marked("because the same contractor has to do {work}"),
}
"""Causes of another work."""


def _impossible(cause: Cause | None, direction: str, own: str) -> str:
    """Why a start is impossible."""
    earlier = direction == "earlier"
    if cause is not None and cause.kind == "must_complete":
        if earlier:
            return say(
                "it cannot start earlier without the risk that works are not completed in time"
            )
        return say("it cannot start later without the risk that works are not completed in time")
    cannot = say("it cannot start earlier") if earlier else say("it cannot start later")
    if cause is None:
        return cannot
    if cause.kind == "begin":
        because = say("because the plan begins then")
    elif cause.kind == "end":
        because = say("because the plan ends then")
    elif cause.kind == "under_way":
        work = printable("".join(cause.names))
        because = say("because {work} is under way until then", work=work)
    else:
        because = _because(cause, own)
    return say("{what}, {because}", what=cannot, because=because)
