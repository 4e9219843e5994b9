"""Sentences about why works start when they do."""

from __future__ import annotations

import math

from coreplan.domains.maintenance.money import amount_text, rounded
from coreplan.domains.maintenance.reasons import Cause, Reason, Reasons, Shift
from coreplan.model.calendar import Calendar
from coreplan.view.terminal import fold
from coreplan.view.words import printable, when

NOTE = (
    "Costs are compared with the best plan from the same moment on, if nothing is delayed before; "
    "all other works are planned anew."
)
"""What all sentences have in common."""


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
    unit = "step" if calendar is None else calendar.step
    name = printable(f"{reason.contractor}/{reason.work}")
    at = f"in {when(reason.start)}" if calendar is None else f"on {calendar.label(reason.start)}"
    if _same(reason.earlier) and _same(reason.later) and reason.before is None:
        return f"{name} starts {at}: a {unit} earlier or later costs the same."
    parts = [
        _shift(reason.earlier, "earlier", unit, reason),
        _shift(reason.later, "later", unit, reason),
    ]
    return f"{name} starts {at}: {'; '.join(parts)}."


def reasons_lines(reasons: Reasons, width: int, calendar: Calendar | None = None) -> list[str]:
    """All sentences for the terminal, with a heading and a note."""
    if not reasons.reasons:
        return ["Why then: no work starts if nothing is delayed."]
    lines = ["Why then:"]
    for each in reasons.reasons:
        lines += fold(reason_in_words(each, calendar), width, "  - ", "    ")
    lines += fold(NOTE, width)
    if not reasons.complete:
        limit = "A limit was reached: some costs are bounds, and some causes are not known."
        lines += fold(limit, width)
    return lines


def _same(shift: Shift) -> bool:
    return shift.possible and rounded(shift.high) == 0


def _shift(shift: Shift, direction: str, unit: str, reason: Reason) -> str:
    own = f"{reason.contractor}/{reason.work}"
    if not shift.possible:
        return f"it cannot start {direction}{_obstacle(shift.cause, own)}"
    what = f"a {unit} {direction}"
    if _same(shift):
        moved = reason.before if direction == "earlier" else None
        return f"{what} costs the same" + (f" if {printable(moved)} moves" if moved else "")
    low, high = rounded(shift.low), rounded(shift.high)
    if shift.exact or low == high:
        cost = f"costs {amount_text(high)} more"
    elif not math.isfinite(shift.high):
        if low <= 0:
            return f"what {what} costs was not computed"
        cost = f"costs at least {amount_text(low)} more"
    elif low <= 0:
        cost = f"costs at most {amount_text(high)} more"
    else:
        cost = f"costs between {amount_text(low)} and {amount_text(high)} more"
    return f"{what} {cost}{_because(shift, own)}"


def _because(shift: Shift, own: str) -> str:
    cause = shift.cause
    if cause is None:
        return ", for several reasons together" if shift.searched and shift.low > 0 else ""
    left = "" if cause.left is None else rounded(cause.left)
    if not left:
        return f", because {_cause(cause, own)}"
    return f", mainly because {_cause(cause, own)} (otherwise {amount_text(float(left))})"


def _cause(cause: Cause, own: str) -> str:
    """A cause as the rest of a sentence after "because"."""
    if cause.kind == "hindrance":
        *most, last = (printable(each) for each in cause.names)
        return f"{', '.join(most)} and {last} hinder each other"
    name = "it" if cause.names == (own,) else printable(cause.names[0])
    its = "its window" if name == "it" else f"the window of {name}"
    costs = "its costs" if name == "it" else f"the costs of {name}"
    return {
        "window": f"of {its}",
        "delay": f"{name} may be delayed",
        "price": f"{costs} depend on the date",
        "work": f"the same contractor has to do {name}",
        "closed": f"of the closed period {printable(cause.names[0])}",
    }[cause.kind]


def _obstacle(cause: Cause | None, own: str) -> str:
    """Why a start is impossible, as the end of a sentence."""
    if cause is None:
        return ""
    return {
        "begin": ", because the plan begins then",
        "end": ", because the plan ends then",
        "under_way": f", because {printable(''.join(cause.names))} is under way until then",
        "must_complete": " without the risk that works are not completed in time",
    }.get(cause.kind) or f", because {_cause(cause, own)}"
