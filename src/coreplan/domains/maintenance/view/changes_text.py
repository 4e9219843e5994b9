"""Sentences about how much a plan changes the starts of an old plan."""

from __future__ import annotations

from coreplan.domains.maintenance.money import amount_text, rounded
from coreplan.domains.maintenance.old_starts import StartChanges
from coreplan.model.calendar import Calendar
from coreplan.support.language import local_number, marked, say, say_marked
from coreplan.view.units import some_steps, unit_of
from coreplan.view.words import MoneyWorth, count

_FOR_EACH = {
    "step": marked("{amount} for each step"),
    "day": marked("{amount} for each day"),
    "week": marked("{amount} for each week"),
}


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
    changes cost 3.00 of the 512.00 (1.00 for each step); the plan itself costs 509.00
    """
    size = f"{changes.difference:.2f}".rstrip("0").rstrip(".")
    many = some_steps(local_number(size), calendar)
    lines = [
        say(
            "compared with the old plan: {works} moved, {kept} as before; all starts differ by "
            "{steps} expected",
            works=count(changes.moved, "work"),
            kept=changes.kept,
            steps=many,
        )
    ]
    if price is None or value is None:
        return lines
    total = value - price * changes.difference
    # The difference of what is shown elsewhere, so that readers can check it.
    cost = rounded(value) - rounded(total)
    each = say_marked(_FOR_EACH[unit_of(calendar)], amount=amount_text(price))
    if total <= 0:
        lines.append(
            say(
                "changes cost {cost} of the {total} ({each}); the plan itself {is_worth}",
                cost=amount_text(cost),
                total=amount_text(0.0 - total),
                each=each,
                is_worth=MoneyWorth().has(value),
            )
        )
    else:
        lines.append(
            say(
                "changes cost {cost} ({each}); with them the plan earns {total} in all",
                cost=amount_text(cost),
                total=amount_text(total),
                each=each,
            )
        )
    return lines
