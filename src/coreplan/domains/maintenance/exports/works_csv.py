"""A plan as CSV: the list of works with their planned starts."""

from __future__ import annotations

import datetime
import re
from typing import Any

from coreplan.domains.maintenance.exports.content import ExportedPlan
from coreplan.domains.maintenance.exports.table import list_columns
from coreplan.files.writing import to_csv
from coreplan.support.language import DEFAULT_LANGUAGE, speaking

# Programs that take semicolons for separators would begin a new cell after them.
_NEW_CELL = re.compile(r"(;[\s\"']*)(?=[=+@-])")


def plan_csv(plan: ExportedPlan) -> bytes:
    """The list of works as CSV in UTF-8, with a mark by which Excel recognises the encoding.

    Titles are English in every language: the file is for other programs.
    """
    with speaking(DEFAULT_LANGUAGE):
        columns = list_columns(plan)
        rows: list[list[Any]] = [[_cell(column.title) for column in columns]]
        rows += [[_cell(column.value(work)) for column in columns] for work in plan.works]
    return to_csv(rows).encode("utf-8-sig")


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, float):
        return f"{value:.12g}"
    return _NEW_CELL.sub(r"\1'", value) if isinstance(value, str) else value
