"""The order of day and month in works lists: found from all the dates of a column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from coreplan.domains.maintenance.works.sheet import Sheet
from coreplan.model.dated_steps import order_note
from coreplan.model.dates import (
    DateStyle,
    Order,
    find_order,
    is_ambiguous,
)
from coreplan.support.checks import found
from coreplan.support.language import say

DATE_COLUMNS = ("earliest", "latest", "planned", "actual", "from", "to")
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
        why = f"--dates {order.order}"
        if order.shown_by:
            why = say("as {date} shows", date=found(order.shown_by))
        self.notes.append(
            say(
                "{file}: column {title}: {note}",
                file=sheet.where,
                title=found(sheet.title(key)),
                note=order_note(example, DateStyle(order.order), why),
            )
        )


def _texts(sheet: Sheet, key: str) -> Iterable[str]:
    for row in sheet.rows:
        value = sheet.value(row, key)
        if isinstance(value, str):
            yield value
