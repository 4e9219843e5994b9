"""A plan as an Excel workbook: all works, one sheet per contractor, hindrance, and the totals.

The sheets ``works`` and ``hindrance`` are those of a works list: coreplan can read them again.
"""

from __future__ import annotations

import datetime
import importlib
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coreplan.domains.maintenance.exports.content import ExportedPlan
from coreplan.domains.maintenance.exports.table import (
    COST,
    LONGEST_CELL,
    ExportColumn,
    Kind,
    contractor_columns,
    cost_cell,
    expected_cost_title,
    input_columns,
    shown_columns,
    unit_of,
)
from coreplan.domains.maintenance.exports.texts import cut, plain
from coreplan.domains.maintenance.parts import Hindrance
from coreplan.domains.maintenance.works.excel import load_openpyxl, workbook_bytes
from coreplan.domains.maintenance.works.opening import HINDRANCE_SHEETS, WORKS_SHEETS
from coreplan.files.writing import cell_text
from coreplan.support.cents import amount_text
from coreplan.support.language import around_money, say, say_marked
from coreplan.support.version import __version__
from coreplan.view.words import describe_calendar, describe_problem, percent

LONGEST_SHEET_NAME = 31
NARROWEST, WIDEST, WIDEST_NUMBERS = 9, 42, 16
"""The widths of columns, in characters; longer texts take several lines."""
_LINE_HEIGHT, _MOST_LINES = 15.0, 8
_NOT_IN_SHEET_NAMES = re.compile(r"[\[\]:*?/\\]")
_DATE_FORM, _AMOUNT_FORM = "d mmm yyyy", "#,##0.00"
_DATE_WIDTH = 12
_SHADE, _LINE = "DCE6F1", "B7C4D6"


@dataclass(frozen=True)
class _Styles:
    """The styles of cells, made once."""

    bold: Any
    shade: Any
    under: Any
    over: Any
    head: Any
    right: Any
    left: Any
    text: Any


def plan_workbook(plan: ExportedPlan, path: str | Path) -> bytes:
    """The plan as the content of a workbook; errors name the path."""
    book = load_openpyxl().Workbook()
    book.remove(book.active)
    book.properties.creator = f"coreplan {__version__}"
    book.properties.title = cut(plan.name, 255)
    styles = _make_styles()
    names = _sheet_names(plan)
    shown = shown_columns(plan)
    # What no work has would only make the list wide.
    inputs = [
        column
        for column in input_columns(plan)
        if any(column.value(work) is not None for work in plan.works)
    ]
    columns = [*shown, *inputs]
    rows = [[column.value(work) for column in columns] for work in plan.works]
    sheet = book.create_sheet(say("works", context="sheet"))
    _fill(sheet, columns, rows, styles, fixed=2)
    sheet.print_area = f"A1:{sheet.cell(len(rows) + 1, len(shown)).coordinate}"
    own = contractor_columns(plan)
    for contractor, name in zip(plan.problem.contractors, names, strict=True):
        sheet = book.create_sheet(name)
        works = plan.of(contractor.name)
        rows = [[column.value(work) for column in own] for work in works]
        _fill(sheet, own, rows, styles, fixed=1, total=_total(own, rows))
        sheet.oddHeader.left.text = cut(plain(contractor.name), 100).replace("&", "&&")
    if plan.problem.network:
        _fill_hindrance(book.create_sheet(say("hindrance", context="sheet")), plan, styles)
    _fill_totals(book.create_sheet(say("plan", context="sheet")), plan, styles)
    return workbook_bytes(book, path)


def _make_styles() -> _Styles:
    styles = importlib.import_module("openpyxl.styles")
    return _Styles(
        bold=styles.Font(name="Calibri", size=11, bold=True),
        shade=styles.PatternFill("solid", fgColor=_SHADE),
        under=styles.Border(bottom=styles.Side("thin", color=_LINE)),
        over=styles.Border(top=styles.Side("thin", color=_LINE)),
        head=styles.Alignment(wrap_text=True, vertical="top"),
        right=styles.Alignment(wrap_text=True, vertical="top", horizontal="right"),
        left=styles.Alignment(vertical="top", horizontal="left"),
        text=styles.Alignment(wrap_text=True, vertical="top"),
    )


def _sheet_names(plan: ExportedPlan) -> list[str]:
    """A valid name of a sheet for each contractor; all are different, and none is taken."""
    own = say("plan", context="sheet").casefold()
    taken = {*WORKS_SHEETS, *HINDRANCE_SHEETS, own, "history"}  # Excel keeps history for itself
    names = []
    for contractor in plan.problem.contractors:
        text = " ".join(_NOT_IN_SHEET_NAMES.sub(" ", plain(contractor.name)).split())
        name = _cut_units(text.strip("'"), LONGEST_SHEET_NAME).strip("' ")
        name = text = name or say("contractor")
        number = 1
        while name.casefold() in taken:
            number += 1
            mark = f" ({number})"
            name = f"{_cut_units(text, LONGEST_SHEET_NAME - len(mark))}{mark}"
        taken.add(name.casefold())
        names.append(name)
    return names


def _cut_units(text: str, most: int) -> str:
    """Cut a text to a size as Excel counts it, in units of UTF-16."""
    return text.encode("utf-16-le")[: 2 * most].decode("utf-16-le", "ignore")


def _fill(
    sheet: Any,
    columns: Sequence[ExportColumn],
    rows: Sequence[Sequence[Any]],
    styles: _Styles,
    *,
    fixed: int,
    total: Sequence[Any] | None = None,
) -> None:
    """Write a table: a header that stays in view, rows with formats, and a print set-up.

    Parameters
    ----------
    fixed
        The number of columns that stay in view.
    total
        The last row, in bold.
    """
    _write_row(sheet, 1, [column.title for column in columns], ["text"] * len(columns), styles)
    for cell, column in zip(sheet[1], columns, strict=True):
        cell.font, cell.fill, cell.border = styles.bold, styles.shade, styles.under
        cell.alignment = styles.head if column.kind in ("text", "any") else styles.right
    kinds = [column.kind for column in columns]
    for number, row in enumerate(rows, 2):
        _write_row(sheet, number, row, kinds, styles)
    if total is not None:
        _write_row(sheet, len(rows) + 2, total, kinds, styles)
        for cell in sheet[len(rows) + 2]:
            cell.font, cell.border = styles.bold, styles.over
    widths = []
    for k, column in enumerate(columns):
        shown = [row[k] for row in (*rows, total or [None] * len(columns))]
        widths.append(_width(column, shown))
        sheet.column_dimensions[sheet.cell(1, k + 1).column_letter].width = widths[-1]
    titles = [column.title for column in columns]
    for number, row in enumerate([titles, *rows], 1):
        texts = zip(row, widths, columns, strict=True)
        _set_height(sheet, number, [(text, size) for text, size, of in texts if _wraps(text, of)])
    last = sheet.cell(len(rows) + 1, len(columns)).coordinate
    sheet.freeze_panes = sheet.cell(2, fixed + 1).coordinate
    sheet.auto_filter.ref = f"A1:{last}"
    _set_up_page(sheet)


def _write_row(
    sheet: Any, number: int, values: Sequence[Any], kinds: Sequence[Kind], styles: _Styles
) -> None:
    for k, (value, kind) in enumerate(zip(values, kinds, strict=True), 1):
        if value is None:
            continue
        cell = sheet.cell(number, k)
        if isinstance(value, str):
            # Whatever it looks like, it is a text: neither a formula nor an error.
            cell.value = cut(cell_text(value), LONGEST_CELL)
            cell.data_type = "s"
            cell.alignment = styles.left if kind == "money" else styles.text
            continue
        cell.value = value
        is_date = isinstance(value, datetime.date)
        if is_date:
            cell.number_format = _DATE_FORM
        elif kind in ("chance", "money"):
            cell.number_format = _chance_form(value) if kind == "chance" else _money_form()
        cell.alignment = styles.right


def _chance_form(chance: float) -> str:
    """Per cent; a chance that is nearly 0 or 1 has decimals, so that it does not look certain."""
    share = 100 * chance
    nearly_certain = (0 < share < 1) or (99 < share < 100)
    # The marks in a format of Excel are English; the program shows those of its own language.
    if nearly_certain:
        return say("0.0### %", context="format")
    return say("0 %", context="format")


def _money_form() -> str:
    """The number format of amounts, with the present currency."""
    before, after = (_currency_form(each) for each in around_money())
    form = f"{before}{_AMOUNT_FORM}{after}"
    # As in texts, a minus stands beside the number if there is a space before it.
    return f"{form};{before}-{_AMOUNT_FORM}{after}" if before.endswith(" ") else form


def _currency_form(text: str) -> str:
    sign = text.strip("\xa0")
    return text.replace(sign, f"[${sign}]").replace("\xa0", " ") if sign else ""


def _width(column: ExportColumn, values: Iterable[Any]) -> float:
    """The width of a column: that of its longest value, and of the longest word of its title."""
    longest = max(map(len, column.title.split()), default=0)
    most = WIDEST
    for value in values:
        if isinstance(value, str):
            longest = max(longest, len(value))
            most = WIDEST_NUMBERS if column.kind == "money" else most
        elif isinstance(value, datetime.date):
            longest = max(longest, _DATE_WIDTH)
        elif column.kind == "money" and value is not None:
            longest = max(longest, len(amount_text(value)))
    return float(min(max(longest + 3, NARROWEST), most))  # with room for the filter's button


def _wraps(value: Any, column: ExportColumn) -> bool:
    return isinstance(value, str) and (column.kind != "money" or value == column.title)


def _set_height(sheet: Any, number: int, texts: Iterable[tuple[str, float]]) -> None:
    """Make a row as high as its longest text needs; not all programs do this by themselves."""
    lines = 1
    for text, width in texts:
        room = max(1, int(width) - 1)
        lines = max(lines, len(textwrap.wrap(text[: room * _MOST_LINES], room)))
    if lines > 1:
        sheet.row_dimensions[number].height = _LINE_HEIGHT * min(lines, _MOST_LINES)


def _set_up_page(sheet: Any) -> None:
    """Print in landscape on A4, all columns on a page, with the header on every page."""
    sheet.page_setup.orientation = "landscape"
    sheet.page_setup.paperSize = sheet.PAPERSIZE_A4
    sheet.page_setup.fitToWidth, sheet.page_setup.fitToHeight = 1, 0
    sheet.sheet_properties.pageSetUpPr = importlib.import_module(
        "openpyxl.worksheet.properties"
    ).PageSetupProperties(fitToPage=True)
    sheet.print_title_rows = "1:1"
    sheet.oddFooter.left.text = "&A"
    sheet.oddFooter.right.text = "&P / &N"


def _total(columns: Sequence[ExportColumn], rows: Sequence[Sequence[Any]]) -> list[Any] | None:
    """The last row of a contractor's sheet: the sum of its expected costs."""
    place = next(k for k, column in enumerate(columns) if column.title == expected_cost_title())
    costs = [row[place] for row in rows if row[place] is not None]
    if not costs:
        return None
    total: list[Any] = [None] * len(columns)
    total[0] = say("total")
    total[place] = round(sum(costs), 2)
    return total


def _fill_hindrance(sheet: Any, plan: ExportedPlan, styles: _Styles) -> None:
    """The list of hindrance, with the expected cost of each rule."""
    network = plan.problem.network
    expected = (None,) * len(network) if plan.money is None else plan.money.hindrances
    most = max(len(rule.tasks) for rule in network)

    def member(k: int) -> Callable[[Hindrance], Any]:
        return lambda rule: plain(rule.tasks[k]) if k < len(rule.tasks) else None

    titles: list[tuple[str, Kind, Callable[[Hindrance], Any]]] = [
        (say("work {letter}", context="column", letter=_letters(k, most)), "text", member(k))
        for k in range(most)
    ]
    cost_title = say_marked(COST[unit_of(plan)], context="column")
    titles.append((cost_title, "money", lambda rule: cost_cell(rule.cost)))
    columns = [ExportColumn(title, kind, lambda _: None) for title, kind, _ in titles]
    columns.append(ExportColumn(expected_cost_title(), "money", lambda _: None))
    rows = [
        [*(value(rule) for _, _, value in titles), cost]
        for rule, cost in zip(network, expected, strict=True)
    ]
    _fill(sheet, columns, rows, styles, fixed=0)


def _letters(k: int, most: int) -> str:
    """A, B, C, ...; numbers if there are more members than letters."""
    return chr(ord("A") + k) if most <= 26 else str(k + 1)


def _fill_totals(sheet: Any, plan: ExportedPlan, styles: _Styles) -> None:
    """What the plan is for, what it is expected to cost, and how to read the other sheets."""
    calendar = plan.calendar
    rows: list[tuple[str | None, Any]] = [(say("plan of"), plan.name)]
    rows.append((say("size"), describe_problem(plan.problem)))
    if calendar is not None:
        # Without the calendar's file: a path means nothing to those who get the workbook.
        rows.append((say("time"), describe_calendar(replace(calendar, source=None))))
        rows.append((say("first day of this plan"), calendar.first_day(plan.stage)))
        last = calendar.last_day(plan.problem.horizon - 1)
        rows.append((say("last day of this plan"), last))
    else:
        rows.append((say("time"), say("steps are counted from 0")))
        if plan.stage:
            rows.append((say("first step of this plan"), plan.stage))
    if plan.money is not None:
        money = plan.money
        rows.append((say("expected cost of works"), money.works))
        rows.append((say("expected cost of hindrance"), money.hindrance))
        if money.revenue:
            rows.append((say("expected revenue"), money.revenue))
        in_all = say("expected cost in all") if money.value <= 0 else say("expected gain in all")
        rows.append((in_all, abs(money.value)))
        if plan.stage:
            rows.append((None, say("Money spent before this plan begins is not included.")))
    rows += [(None, line) for line in _explanations(plan)]
    rows.append((None, say("Made by coreplan {version}.", version=__version__)))
    for number, (label, value) in enumerate(rows, 1):
        _write_row(sheet, number, [label, value], ["text", "money"], styles)
        cell = sheet.cell(number, 2)
        if not isinstance(value, str):
            cell.alignment = styles.left
            if isinstance(value, int):
                cell.number_format = "0"
        sheet.cell(number, 1).font = styles.bold
    sheet.column_dimensions["A"].width = 30
    sheet.column_dimensions["B"].width = 90
    _set_up_page(sheet)
    sheet.print_title_rows = None


def _explanations(plan: ExportedPlan) -> list[str]:
    said = [
        say(
            "Planned start and end hold if no work is delayed; the latest start and end cover all "
            "delays that are possible."
        ),
        say("A plan depends on delays: look at the report, or plan again, once a work is delayed."),
    ]
    if plan.covered < 1:
        said.append(
            say(
                "Chances are taken from the likeliest courses only, {share} of all; expected costs "
                "are out of reach, because too many courses are possible.",
                share=percent(plan.covered),
            )
        )
    return said
