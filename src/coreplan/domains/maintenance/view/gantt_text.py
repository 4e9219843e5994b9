"""Gantt charts of plans, drawn with characters for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from coreplan.domains.maintenance.parts import Closure
from coreplan.domains.maintenance.timeline import WorkTimeline
from coreplan.model.calendar import Calendar
from coreplan.support.language import say
from coreplan.view.terminal import break_lines, fit, fit_apart
from coreplan.view.words import percent, printable, steps, when, when_range

SURE = 1 - 1e-9
"""A chance of at least this counts as certain: the rest is rounding."""
_LEAST_CHART = 20
_WIDEST_STEP = 4
_LONGEST_NAME = 28
_STANDS_OUT = 6
"""The most characters by which the last date may extend beyond the chart."""


@dataclass(frozen=True)
class Marks:
    """The characters of a chart.

    Attributes
    ----------
    sure
        Certain work.
    chances
        Possible work, from unlikely to likely.
    extra
        Work only if delayed.
    idle, ellipsis
        No work; the end of a name that was cut.
    closed, no_start
        No work in a closed period; no work in a period in which none may start.
    """

    sure: str
    chances: str
    extra: str
    idle: str
    ellipsis: str
    closed: str
    no_start: str


BLOCKS = Marks("█", "▁▂▃▄▅▆▇", "░", "·", "…", "×", "-")
PLAIN = Marks("#", "123456789", "~", ".", "~", "x", "-")


def marks_for(encoding: str | None) -> Marks:
    """Choose blocks if the encoding has them, else plain characters."""
    try:
        "".join(
            (BLOCKS.sure, BLOCKS.chances, BLOCKS.extra, BLOCKS.idle, BLOCKS.closed, "…–")
        ).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return PLAIN
    return BLOCKS


def gantt(
    works: Sequence[WorkTimeline],
    contractors: Sequence[str],
    stage: int,
    horizon: int,
    width: int,
    marks: Marks = BLOCKS,
    calendar: Calendar | None = None,
    closed: Sequence[Closure] = (),
) -> list[Text]:
    """Draw a chart: a block for each contractor, a row for each work, a column for each step.

    Parameters
    ----------
    works
        The chances of each work per step.
    contractors
        The contractors' names, in order.
    stage, horizon
        The first step of the plan, and the number of steps of the problem.
    width
        The widest line. If the steps do not fit, several of them share a column.
    marks
        The characters of the chart.
    calendar
        The dates of the steps, if they are known.
    closed
        The closed steps; a column is closed if all its steps are.
    """
    layout = _Layout(works, stage, horizon, width, calendar)
    lines = [layout.axis()]
    idle = _idle_marks(layout, marks, closed, horizon)
    for name in contractors:
        own = [each for each in works if each.contractor == name]
        lines.append(Text(fit(printable(name), width, marks.ellipsis).rstrip(), "bold"))
        if not own:
            lines.append(Text(f"  {say('no works')}", "dim"))
        names = fit_apart(
            [printable(work.work) for work in own], layout.name_width - 2, marks.ellipsis
        )
        for work, shown in zip(own, names, strict=True):
            line = Text(f"  {shown} ")
            for mark, style in _bar(work, layout, marks, idle):
                line.append(mark, style)
            words = _in_words(work, calendar)
            if layout.with_words:
                line.append("  ")
                line.append(words, "dim")
            lines.append(line)
            if not layout.with_words:
                # Starts never vanish: where no room is left beside the chart, they come below.
                lines += break_lines(Text(f"      {words}", "dim"), width)
    lines += break_lines(Text(_legend(layout, marks, calendar, idle), "dim"), width)
    return lines


def _idle_marks(
    layout: _Layout, marks: Marks, closed: Sequence[Closure], horizon: int
) -> Sequence[str]:
    """The mark of each column for no work: it shows closed periods."""
    kinds = [marks.idle] * horizon
    for no, mark in (("start", marks.no_start), ("work", marks.closed)):
        for each in closed:
            if each.no == no:
                for stage in range(each.first, min(each.last + 1, horizon)):
                    kinds[stage] = mark
    columns = []
    for column in range(layout.columns):
        begin = layout.first + column * layout.steps_each
        several = set(kinds[begin : begin + layout.steps_each])
        columns.append(several.pop() if len(several) == 1 else marks.idle)
    return columns


def _legend(layout: _Layout, marks: Marks, calendar: Calendar | None, idle: Sequence[str]) -> str:
    if marks is PLAIN:
        chances = say("1 to 9 possible work, its chance in tenths")
    else:
        chances = say(
            "{least} to {most} possible work, from unlikely to likely",
            least=marks.chances[0],
            most=marks.chances[-1],
        )
    parts = [
        say("{mark} certain work", mark=marks.sure),
        chances,
        say("{mark} work only if delayed", mark=marks.extra),
    ]
    if marks.closed in idle:
        parts.append(say("{mark} closed", mark=marks.closed))
    if marks.no_start in idle:
        parts.append(say("{mark} no start", mark=marks.no_start))
    if layout.steps_each > 1:
        parts.append(say("one column: {steps}", steps=steps(layout.steps_each, calendar)))
    return "; ".join(parts)


class _Layout:
    """The widths of names, columns and texts."""

    def __init__(
        self,
        works: Sequence[WorkTimeline],
        stage: int,
        horizon: int,
        width: int,
        calendar: Calendar | None,
    ) -> None:
        self._calendar = calendar
        self.first = stage
        steps = horizon - stage
        names = [cell_len(printable(each.work)) for each in works]
        # Room for the titles above.
        self._head = (
            say("step", context="chart") if calendar is None else say("from", context="chart")
        )
        self._starts = say("starts", context="chart")
        self.name_width = 2 + min(max(names, default=2), _LONGEST_NAME, max(8, width // 3))
        self.name_width = max(cell_len(self._head), self.name_width)
        words = max(
            cell_len(self._starts), *(cell_len(_in_words(each, calendar)) for each in works), 0
        )
        room = width - self.name_width - 1
        # Rather let steps share columns than separate a work from its starts.
        least = min(_LEAST_CHART, steps)
        self.with_words = room - words - 2 >= least
        if self.with_words:
            room -= words + 2
        room = self._room = max(room, least if self.with_words else _LEAST_CHART)
        self.steps_each = max(1, math.ceil(steps / room))
        self.columns = math.ceil(steps / self.steps_each)
        self.column_width = max(1, min(_WIDEST_STEP, room // max(1, self.columns)))
        if self.steps_each > 1:
            self.column_width = 1

    def axis(self) -> Text:
        """Write the line with step numbers or dates, as many as fit."""
        label = (lambda t: str(t)) if self._calendar is None else self._calendar.short_label
        wide = self.columns * self.column_width
        end = wide if self.with_words else min(self._room, wide + _STANDS_OUT)
        line = [" "] * max(wide, end)
        free = 0
        for column in range(self.columns):
            text = label(self.first + column * self.steps_each)
            at = column * self.column_width
            if at >= free and at + len(text) <= end:
                line[at : at + len(text)] = text
                free = at + len(text) + 2
        if self.with_words:
            line[wide:] = f"  {self._starts}"
        return Text(f"{self._head:<{self.name_width}} {''.join(line).rstrip()}", "dim")


def _bar(
    work: WorkTimeline, layout: _Layout, marks: Marks, idle: Sequence[str]
) -> Iterable[tuple[str, str]]:
    """The marks of one row, each with its style."""
    for column in range(layout.columns):
        begin = layout.first + column * layout.steps_each
        end = begin + layout.steps_each
        planned = max(work.planned[begin:end])
        working = max(map(sum, zip(work.planned[begin:end], work.extra[begin:end], strict=True)))
        if working <= 0:
            mark, style = idle[column], "dim"
        elif planned <= 0:
            mark, style = marks.extra, "yellow"
        elif working >= SURE:
            mark, style = marks.sure, "green"
        else:
            level = min(len(marks.chances) - 1, int(working * (len(marks.chances) + 1)))
            if marks is PLAIN:
                level = max(1, min(9, round(10 * working))) - 1
            mark, style = marks.chances[level], "cyan"
        yield mark * layout.column_width, style


def _in_words(work: WorkTimeline, calendar: Calendar | None) -> str:
    """The possible starts of a work, its chance to start at all, and its chance of a delay."""
    if work.done:
        return say("done", context="work")
    if work.under_way:
        text = say("under way", context="work")
    elif work.first_start is None or work.last_start is None:
        return say("not planned", context="work")
    elif work.first_start == work.last_start:
        text = when(work.first_start, calendar)
    elif calendar is None:
        text = when_range(work.first_start, work.last_start)
    else:
        text = say(
            "{begin} to {end}",
            context="dates",
            begin=calendar.short_label(work.first_start),
            end=when(work.last_start, calendar),
        )
    parts = [text]
    if work.started < SURE:
        parts.append(say("chance to start {chance}", chance=percent(work.started)))
    if work.delay_chance > 0 and not work.under_way:
        parts.append(say("delay {chance}", chance=percent(work.delay_chance)))
    return ", ".join(parts)
