"""Dates in options of commands: days, steps by date, and the order of day and month."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import click

from coreplan.domains.maintenance.formats.calendar import calendar_path
from coreplan.errors import ModelError
from coreplan.files.reading import STANDARD_INPUT
from coreplan.model.calendar import Calendar, ClosedPeriod
from coreplan.model.dated_steps import DatedSteps, is_dated
from coreplan.model.dates import ORDERS, DateStyle, find_order, parse_date, parse_days
from coreplan.support.language import in_english, say
from coreplan.view.terminal import make_console

AnyCallable = TypeVar("AnyCallable", bound=Callable[..., Any])

_ORDER, _STAGE = "coreplan.dates", "coreplan.stage"
"""Where the context of a command keeps the order of dates, and the stage given as a date."""


def _keep_order(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None:
        ctx.meta[_ORDER] = value
    return value


dates_option = click.option(
    "--dates",
    type=click.Choice(list(ORDERS)),
    is_eager=True,  # other options need it
    expose_value=False,
    callback=_keep_order,
    help="What comes first in dates such as 06-04-2026: the day (dmy) or the month (mdy).  "
    "[default: what other dates of the file show]",
)


def with_dates(command: AnyCallable) -> AnyCallable:
    """Give a command the option ``--dates``, unless it has it already."""
    given = getattr(command, "__click_params__", ())
    return command if any(each.name == "dates" for each in given) else dates_option(command)


def asked_order() -> str | None:
    """The order of day and month that the user asked for."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(_ORDER)


def dated_steps(calendar: Calendar | None) -> DatedSteps:
    """A reader of the steps in a file that are given as dates."""
    return DatedSteps(calendar, asked_order())


def tell(notes: Iterable[str], source: str) -> None:
    """Tell the user how dates were read, beside the output of the command."""
    for note in notes:
        text = say("note: {text}", text=f"{source}: {note}")
        make_console(stderr=True).print(text, markup=False, soft_wrap=True)


class DateAsWritten(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A date as people write it: 2026-03-02, or a week with its year."""

    name = "DATE"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime.date:
        """Take a text apart."""
        if isinstance(value, datetime.date):
            return value
        try:
            return parse_date(str(value), DateStyle(asked_order()))
        except ModelError as error:
            self.fail(str(error), param, ctx)


class WrittenPeriod(NamedTuple):
    """A closed period as an option gives it; its weeks may lack the year."""

    first: str
    last: str
    no: str
    name: str

    def closed(self, start: datetime.date) -> ClosedPeriod:
        """The period, for a plan that begins on this day."""
        # One of the two dates may show the order of the other one.
        order = asked_order() or find_order((self.first, self.last)).order
        style = DateStyle(order, start)
        first = parse_days(self.first, style).first
        last = parse_days(self.last, style._replace(start=first)).last
        return ClosedPeriod(self.name, first, last, self.no)


class Period(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A closed period: 2026-07-20..2026-08-09, with a name and what it forbids if needed."""

    name = "PERIOD"
    EXAMPLE = "2026-07-20..2026-08-09, or 'summer holiday: wk 30..wk 32: no start'"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> WrittenPeriod:
        """Take a text apart."""
        if isinstance(value, WrittenPeriod):
            return value
        parts = [part.strip() for part in str(value).split(":")]
        no = "work"
        if len(parts) > 1 and parts[-1].casefold() in ("no work", "no start"):
            no = parts.pop().casefold().removeprefix("no ")
        *names, days = parts
        first, _, last = days.partition("..")
        period = WrittenPeriod(first.strip(), last.strip() or first.strip(), no, ": ".join(names))
        try:
            period.closed(datetime.date(2026, 1, 1))  # any day: it completes weeks without a year
        except ModelError as error:
            hint = "" if is_dated(days) else f"; give a period like {self.EXAMPLE}"
            self.fail(f"{value!r}: {error}{hint}", param, ctx)
        return period


class StageAsWritten(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A stage by its number, or a date or week as text, for :func:`stage_of`."""

    name = "T"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        """Take a text apart."""
        if isinstance(value, int):
            return value
        text = str(value)
        if text.isascii() and text.isdecimal() and len(text) < 10:
            return int(text)
        if not is_dated(text):
            self.fail(f"{text!r} is neither the number of a step, from 0, nor a date", param, ctx)
        try:
            parse_date(text, DateStyle(asked_order(), datetime.date(2026, 1, 1)))
        except ModelError as error:
            self.fail(str(error), param, ctx)
        return text


def stage_of(text: str, file: str, calendar: Calendar | None, *, with_option: bool) -> int:
    """The stage of ``--stage`` that is given as a date.

    Parameters
    ----------
    text
        The date.
    file
        The problem's file, for advice.
    calendar
        The dates of the steps; None if they are not known.
    with_option
        Whether the command has the option ``--start-date``.
    """
    if calendar is None:
        ways = ["add --start-date DATE"] if with_option else []
        if file != STANDARD_INPUT:
            ways.append(
                f"write a calendar beside it, {calendar_path(file).name}, with the lines 'format: "
                "calendar/1' and 'start: 2026-03-02'"
            )
        ways.append("give the number of the step")
        raise click.UsageError(
            f"--stage {text} is a date, but the first day of the plan in {file} is not known; "
            f"{', or '.join(ways)}"
        )
    steps = dated_steps(calendar)
    try:
        stage = steps.read(text)
    except ModelError as error:
        raise click.UsageError(f"--stage: {error}") from None
    tell(steps.notes(), "--stage")
    click.get_current_context().meta[_STAGE] = (stage, text)
    return stage


@in_english
def check_stage(horizon: int, calendar: Calendar | None) -> None:
    """Raise an error if the date of ``--stage`` is after the plan."""
    context = click.get_current_context(silent=True)
    stage, text = (0, "") if context is None else context.meta.get(_STAGE, (0, ""))
    if calendar is not None and stage >= horizon:
        end = calendar.range_label(horizon - 1, horizon - 1)
        raise click.UsageError(
            f"--stage {text} is after the plan; its last {calendar.step} is {end}"
        )
