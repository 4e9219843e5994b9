"""The revenue and costs of a plan as a table for the terminal."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text

from coreplan.domains.maintenance.money import Money, amount_text
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.support.language import say
from coreplan.view.terminal import break_lines, fit
from coreplan.view.words import count, printable

MOST_HINDRANCES = 8
"""The most hindrance rules that are shown, the most expensive first."""
_LEAST_NAME = 16
_LONGEST_WORD = 30
"""Words of names up to this width, with their indentation, are not broken."""
_INDENT = 2
"""The indentation of the further lines of a long name."""


def money_table(problem: MaintenanceProblem, money: Money, width: int = 100) -> list[Text]:
    """A row for each contractor, for each hindrance rule that costs something, and the total.

    Costs are positive numbers. The last column has costs if the plan costs money, else earnings.
    """
    sign = -1 if money.value < 0 else 1
    money = money.in_cents()
    rows: list[tuple[str, str, str, str, str]] = []
    for contractor, revenue, works in zip(
        problem.contractors, money.revenue_of, money.works_of, strict=True
    ):
        amounts = _amounts(revenue, works, sign * (revenue - works))
        rows.append((printable(contractor.name), *amounts, ""))
    dearest = sorted(
        (k for k, cost in enumerate(money.hindrances) if cost != 0),
        key=lambda k: -money.hindrances[k],
    )
    for k in dearest[:MOST_HINDRANCES]:
        tasks = " + ".join(printable(each) for each in problem.network[k].tasks)
        amount = amount_text(-sign * money.hindrances[k])
        rows.append((say("hindrance: {works}", works=tasks), "", "", amount, "yellow"))
    if len(dearest) > MOST_HINDRANCES:
        left = dearest[MOST_HINDRANCES:]
        amount = amount_text(-sign * sum(money.hindrances[k] for k in left))
        more = say("hindrance: {rules}", rules=count(len(left), "more rule"))
        rows.append((more, "", "", amount, "yellow"))
    elif not dearest:
        rows.append((say("hindrance: none"), "", "", amount_text(0.0), ""))
    rows.append((say("in all"), *_amounts(money.revenue, money.works, sign * money.value), "bold"))
    titles = (
        say("expected", context="amounts"),
        say("revenue"),
        say("cost of works"),
        say("costs in all") if sign < 0 else say("earns in all"),
        "bold",
    )
    table = [titles, *rows]
    widths = [max(len(row[k]) for row in table) for k in (1, 2, 3)]
    longest = _INDENT + max(cell_len(word) for row in table for word in row[0].split())
    room = max(_LEAST_NAME, min(longest, _LONGEST_WORD), width - sum(widths) - 2 * len(widths))
    first = min(room, max(cell_len(row[0]) for row in table))
    lines = []
    for name, *cells, style in table:
        numbers = [f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)]
        # Names are never cut: rows of two rules could then look the same.
        room = first - _INDENT if cell_len(name) > first else first
        head, *rest = break_lines(Text(name), room, fold=True)
        lines.append(Text("  ".join([fit(head.plain, first), *numbers]), style))
        lines += [Text(f"{'':{_INDENT}}{each.plain}", style) for each in rest]
    return lines


def _amounts(revenue: float, works: float, total: float) -> tuple[str, str, str]:
    return amount_text(revenue), amount_text(works), amount_text(total)
