"""The table of works in exports to CSV and Excel: titles, and a value for each work.

The titles are those of works lists where they mean the same, in each language, so that an exported
list can be read again.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from coreplan.domains.maintenance.exports.content import ExportedPlan, ExportedWork
from coreplan.domains.maintenance.exports.texts import plain
from coreplan.domains.maintenance.parts import Cost, Delay
from coreplan.support.language import LANGUAGES, marked, say, say_marked, speaking

LONGEST_CELL = 32_767
"""The most characters of a cell in Excel."""

DURATION = {
    None: marked("duration", context="column"),
    "day": marked("duration (days)", context="column"),
    "week": marked("duration (weeks)", context="column"),
}
"""The titles of durations by the kind of steps; None without a calendar."""
DELAY_DURATION = {
    None: marked("delay duration", context="column"),
    "day": marked("delay duration (days)", context="column"),
    "week": marked("delay duration (weeks)", context="column"),
}
COST = {
    None: marked("cost per step", context="column"),
    "day": marked("cost per day", context="column"),
    "week": marked("cost per week", context="column"),
}
LEFT = {
    None: marked("steps left", context="column"),
    "day": marked("days left", context="column"),
    "week": marked("weeks left", context="column"),
}
STATUS = {
    "not started": marked("not started", context="status"),
    "running": marked("running", context="status"),
    "done": marked("done", context="status"),
}
"""What people write for the status of a work, by the program's word for it."""

Kind = Literal["text", "when", "count", "chance", "money", "any"]
"""The kind of values in a column, which decides their form in Excel."""


@dataclass(frozen=True)
class ExportColumn:
    """A column of a table of works.

    Attributes
    ----------
    title
        The title of the column.
    kind
        The kind of its values.
    value
        The value for a work: a text, number or date, or None.
    """

    title: str
    kind: Kind
    value: Callable[[ExportedWork], Any]


def list_columns(plan: ExportedPlan) -> list[ExportColumn]:
    """The columns of the list of all works: the plan, then what it was made from."""
    return [*shown_columns(plan), *input_columns(plan)]


def shown_columns(plan: ExportedPlan) -> list[ExportColumn]:
    """The columns with the plan, then the user's own."""
    columns = plan_columns(plan)
    return [*columns, *_own_columns(plan, columns)]


def plan_columns(plan: ExportedPlan) -> list[ExportColumn]:
    """The columns with the plan, for the works of all contractors."""
    return [
        ExportColumn(
            say("contractor", context="column"), "text", lambda work: plain(work.contractor)
        ),
        _work_column(),
        *_progress(plan),
        *_plan_columns(plan),
    ]


def input_columns(plan: ExportedPlan) -> list[ExportColumn]:
    """The columns with what the plan was made from, as in a works list."""
    unit = unit_of(plan)
    return [
        *_duration_columns(unit),
        ExportColumn(
            say("revenue", context="column"), "money", lambda work: work.task.revenue or None
        ),
        ExportColumn(_title(COST[unit]), "money", lambda work: cost_cell(work.task.cost)),
        ExportColumn(
            say("earliest start", context="column"), "when", lambda work: _window(plan, work, 0)
        ),
        ExportColumn(
            say("latest start", context="column"), "when", lambda work: _window(plan, work, 1)
        ),
    ]


def contractor_columns(plan: ExportedPlan) -> list[ExportColumn]:
    """The columns of the list for one contractor: what it does when, and what that costs."""
    columns = [
        _work_column(),
        *_progress(plan),
        *_plan_columns(plan),
        *_duration_columns(unit_of(plan)),
    ]
    return [*columns, *_own_columns(plan, columns)]


def notes_of(plan: ExportedPlan, work: ExportedWork) -> list[str]:
    """What a planner should know about a work, with the values of the user's own columns."""
    own = _own_columns(plan, plan_columns(plan))
    values = [(column.title, column.value(work)) for column in own]
    return [
        *plan.notes(work),
        *(f"{title}: {plain(value)}." for title, value in values if value is not None),
    ]


def cost_cell(cost: Cost) -> Any:
    """A cost per step: a number, or one text with a number for each step."""
    if not isinstance(cost, tuple):
        return cost
    text = " ".join(f"{each:.12g}" for each in cost)
    return text if len(text) <= LONGEST_CELL else say("varies", context="cost")


def when_cell(plan: ExportedPlan, step: int | None, *, end: bool = False) -> Any:
    """The first or last day of a step; without a calendar its number."""
    if step is None or plan.calendar is None:
        return step
    return plan.calendar.last_day(step) if end else plan.calendar.first_day(step)


def unit_of(plan: ExportedPlan) -> str | None:
    """The kind of steps for titles: ``day`` or ``week``; None without a calendar."""
    return None if plan.calendar is None else plan.calendar.step


def _title(marked_title: str) -> str:
    return say_marked(marked_title, context="column")


def _work_column() -> ExportColumn:
    return ExportColumn(say("work", context="column"), "text", lambda work: plain(work.task.name))


def _progress(plan: ExportedPlan) -> Sequence[ExportColumn]:
    """What is done and under way; nothing for a plan from the very beginning."""
    if not plan.in_progress:
        return ()

    def left(work: ExportedWork) -> int | None:
        running = work.times.under_way and work.course is not None
        return work.course.end - plan.stage if running and work.course is not None else None

    return (
        ExportColumn(
            say("status", context="column"),
            "text",
            lambda work: say_marked(STATUS[work.status], context="status"),
        ),
        ExportColumn(_title(LEFT[unit_of(plan)]), "count", left),
    )


def _plan_columns(plan: ExportedPlan) -> Sequence[ExportColumn]:
    def start(work: ExportedWork) -> Any:
        # The start of a work that was under way is known only if the plan records times.
        known = work.start is not None and (not work.times.under_way or work.start < plan.stage)
        return when_cell(plan, work.start) if known else None

    return (
        ExportColumn(say("planned start", context="column"), "when", start),
        ExportColumn(
            say("planned end", context="column"),
            "when",
            lambda work: when_cell(plan, work.end, end=True),
        ),
        ExportColumn(
            say("chance of planned start", context="column"),
            "chance",
            lambda work: _chance(work.start_chance),
        ),
        ExportColumn(
            say("earliest start with delays", context="column"),
            "when",
            lambda work: when_cell(plan, work.times.first_start),
        ),
        ExportColumn(
            say("latest start with delays", context="column"),
            "when",
            lambda work: when_cell(plan, work.times.last_start),
        ),
        ExportColumn(
            say("latest end with delays", context="column"),
            "when",
            lambda work: when_cell(plan, work.times.last_end, end=True),
        ),
        ExportColumn(
            say("chance of completion", context="column"),
            "chance",
            lambda work: None if work.times.done else _chance(work.times.completed),
        ),
        ExportColumn(
            expected_cost_title(),
            "money",
            lambda work: None if work.times.done else work.cost,
        ),
    )


def expected_cost_title() -> str:
    """The title of the column with expected costs."""
    return say("expected cost", context="column")


def _chance(chance: float | None) -> float | None:
    """A chance without the last digits, which come from rounding: 1 stays 1."""
    return None if chance is None else round(chance, 12)


def _duration_columns(unit: str | None) -> Sequence[ExportColumn]:
    def of(delay: Delay | None, part: str) -> Any:
        return None if delay is None else getattr(delay, part)

    return (
        ExportColumn(_title(DURATION[unit]), "count", lambda work: work.task.duration),
        ExportColumn(
            say("delay chance", context="column"),
            "chance",
            lambda work: of(work.task.delay, "probability"),
        ),
        ExportColumn(
            _title(DELAY_DURATION[unit]), "count", lambda work: of(work.task.delay, "duration")
        ),
    )


def _own_columns(plan: ExportedPlan, others: Sequence[ExportColumn]) -> Sequence[ExportColumn]:
    """The user's own columns, for instance places and budget codes.

    Those with a title of the export are left out: they come from a list that was exported before,
    in any language.
    """
    if not plan.columns:
        return []

    def value_of(title: str) -> Callable[[ExportedWork], Any]:
        return lambda work: _own(work.more.get(title))

    titles = {each.title.casefold() for each in (*others, *input_columns(plan))}
    taken = titles | _plan_titles()
    return [
        ExportColumn(plain(title), "any", value_of(title))
        for title in plan.columns
        if plain(title).casefold() not in taken
    ]


@cache
def _plan_titles() -> frozenset[str]:
    """The titles that only exports have, not works lists, in all languages."""
    titles: set[str] = set()
    for language in LANGUAGES:
        with speaking(language):
            titles |= {
                say("planned end", context="column"),
                say("chance of planned start", context="column"),
                say("earliest start with delays", context="column"),
                say("latest start with delays", context="column"),
                say("latest end with delays", context="column"),
                say("chance of completion", context="column"),
                expected_cost_title(),
            }
    return frozenset(title.casefold() for title in titles)


def _own(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return None if value is None else plain(value)
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None)
    return value if isinstance(value, int | float | datetime.date) else plain(value)


def _window(plan: ExportedPlan, work: ExportedWork, side: int) -> Any:
    if work.task.window is None:
        return None
    step = min(work.task.window[side], plan.problem.horizon - 1)  # later steps are not in the plan
    return when_cell(plan, step)
