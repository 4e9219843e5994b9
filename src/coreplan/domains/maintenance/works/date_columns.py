"""The order of day and month in works lists: found from all the dates of a column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from coreplan.domains.maintenance.works.sheet import Sheet
from coreplan.model.dates import (
    ORDERS,
    DateStyle,
    Order,
    find_order,
    is_ambiguous,
    parse_date,
    write_date,
)
from coreplan.support.checks import found

DATE_COLUMNS = ("earliest", "latest", "planned", "actual")
"""The columns whose cells may be dates."""


class DateColumns:
    """How the dates of works lists are read.

    A date such as 06-04-2026 has the day or the month first. If another date of its column shows
    which (13-04-2026), all dates of the column are read in this way; if the column shows nothing,
    the other columns of the lists decide.

    Parameters
    ----------
    sheets
        The lists.
    style
        What is known without them; its order takes precedence.
    """

    def __init__(self, sheets: Sequence[Sheet], style: DateStyle) -> None:
        self._style = style
        texts = {
            (id(sheet), key): list(_texts(sheet, key))
            for sheet in sheets
            for key in DATE_COLUMNS
            if key in sheet.columns
        }
        whole = find_order(text for column in texts.values() for text in column)
        self._orders: dict[tuple[int, str], Order] = {}
        self.notes: list[str] = []
        for sheet in sheets:
            for key in DATE_COLUMNS:
                column = texts.get((id(sheet), key))
                if column is None:
                    continue
                order = find_order(column)
                if not order.shown_by:
                    order = whole
                if style.order is not None:
                    order = Order(style.order)
                self._orders[id(sheet), key] = order
                self._note(sheet, key, column, order)

    def style(self, sheet: Sheet, key: str) -> DateStyle:
        """How the dates of a column are read."""
        return self._style._replace(order=self._orders.get((id(sheet), key), Order()).order)

    def _note(self, sheet: Sheet, key: str, column: Iterable[str], order: Order) -> None:
        """Tell the user how the column's ambiguous dates are read, if it has any."""
        example = next(filter(is_ambiguous, column), None)
        if example is None or order.order is None:
            return
        day = write_date(parse_date(example, DateStyle(order.order)))
        why = f"as {found(order.shown_by)} shows" if order.shown_by else f"--dates {order.order}"
        self.notes.append(
            f"{sheet.where}: column {found(sheet.title(key))}: dates are read with "
            f"{ORDERS[order.order]} ({why}): {found(example.strip())} is {day}"
        )


def _texts(sheet: Sheet, key: str) -> Iterable[str]:
    for row in sheet.rows:
        value = sheet.value(row, key)
        if isinstance(value, str):
            yield value
