"""Sentences about how much a plan changes the starts of an old plan."""

from __future__ import annotations

from coreplan.domains.maintenance.money import amount_text, rounded
from coreplan.domains.maintenance.old_starts import StartChanges
from coreplan.model.calendar import Calendar
from coreplan.view.words import count


def changes_in_words(
    changes: StartChanges,
    price: float | None = None,
    value: float | None = None,
    calendar: Calendar | None = None,
) -> list[str]:
    """What changes, and what the changes cost apart from money.

    Parameters
    ----------
    changes
        The changes of the old plan.
    price
        The cost of a step of difference, if changes cost something.
    value
        The value of the plan without the cost of changes.
    calendar
        The dates of the steps, if they are known.

    Examples
    --------
    >>> for line in changes_in_words(StartChanges(2, 7, 3.0), 1.0, -509.0):
    ...     print(line)
    compared with the old plan: 2 works moved, 7 as before; all starts differ by 3 steps expected
    changes cost 3.00 of the 512.00 in all (1.00 for each step)
    """
    unit = "step" if calendar is None else calendar.step
    size = f"{changes.difference:.2f}".rstrip("0").rstrip(".")
    plural = "" if size == "1" else "s"
    lines = [
        f"compared with the old plan: {count(changes.moved, 'work')} moved, {changes.kept} as "
        f"before; all starts differ by {size} {unit}{plural} expected"
    ]
    if price is None or value is None:
        return lines
    total = value - price * changes.difference
    # The difference of what is shown elsewhere, so that readers can check it.
    cost = rounded(value) - rounded(total)
    each = f"({amount_text(price)} for each {unit})"
    if total <= 0:
        lines.append(
            f"changes cost {amount_text(cost)} of the {amount_text(0.0 - total)} in all {each}"
        )
    else:
        lines.append(
            f"changes cost {amount_text(cost)} {each}; with them the plan earns "
            f"{amount_text(total)} in all"
        )
    return lines
