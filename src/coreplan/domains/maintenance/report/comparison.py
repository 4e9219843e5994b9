"""Two compared plans as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from coreplan.domains.maintenance.plan_comparison import PlanComparison, WorkComparison
from coreplan.domains.maintenance.view.comparison_text import (
    columns_of,
    cost_rows,
    headline,
    move_in_words,
    problem_change_in_words,
    proof_in_words,
    start_in_words,
    works_summary,
)
from coreplan.domains.maintenance.words import spent_before
from coreplan.model.calendar import Calendar
from coreplan.support.language import say
from coreplan.view.report import Report
from coreplan.view.report.general import made_by
from coreplan.view.report.page import assemble
from coreplan.view.svg import one_line, safe
from coreplan.view.terminal import fit, fit_apart

_WIDE, _ROW, _BAR = 900.0, 34.0, 12.0
_NAMES = 230.0
_LONGEST = 26
"""The most characters of a name in the chart."""
_LEAST_TICK = 74.0


def comparison_report(
    comparison: PlanComparison,
    *,
    calendar: Calendar | None = None,
    title: str | None = None,
    names: tuple[str, str] | None = None,
) -> Report:
    """Make one HTML file of two compared plans; the file needs no network.

    Parameters
    ----------
    comparison
        The plans and their differences.
    calendar
        The dates of the steps, shown instead of step numbers.
    title
        Title of the page.
    names
        Names of the old and the new plan, for instance those of their files.
    """
    title = title or say("{name}: two plans compared", name=comparison.new.problem.name)
    data: dict[str, Any] = comparison.to_dict()
    sections = [_summary(comparison, calendar)]
    costs = comparison.cost_lines(in_cents=True)
    if costs:
        sections.append(_section(say("Costs"), _costs(columns_of(costs), cost_rows(costs))))
    if comparison.changes:
        listed = "".join(
            f"<li><bdi>{_text(problem_change_in_words(each, calendar))}</bdi></li>"
            for each in comparison.changes
        )
        sections.append(_section(say("Changed in the problem"), f"<ul>{listed}</ul>"))
    chart = _Chart(comparison, calendar).svg()
    legend = say(
        "Upper bars: the old plan. Lower bars: the new plan. All bars show the works as planned, "
        "without delays."
    )
    works = f'<p class="muted">{escape(legend)}</p>{chart}{_works(comparison, calendar)}'
    sections.append(_section(say("Works"), works))
    given = ""
    if names is not None:
        old, new = (f"<bdi>{_text(name)}</bdi>" for name in names)
        given = f'<p class="muted">{say("Old: {old}. New: {new}.", old=old, new=new)}</p>'
    body = (
        f"<header><h1><bdi>{_text(title)}</bdi></h1>{given}</header>"
        f"<main>{''.join(sections)}</main>"
        f'<footer class="muted">{escape(made_by())} '
        f"{escape(say('All amounts are expected values.'))}</footer>\n"
    )
    return Report(assemble(body, title), data)


def _text(text: str) -> str:
    return safe(one_line(text))


def _section(title: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{content}</section>"


def _summary(comparison: PlanComparison, calendar: Calendar | None) -> str:
    parts = [f'<p class="headline">{_text(headline(comparison))}</p>']
    for which, plan in (("old", comparison.old), ("new", comparison.new)):
        state = "proven" if plan.proven else "open"
        kind = "muted" if plan.proven is None else f"proof {state}"
        parts.append(f'<p class="{kind}">{_text(proof_in_words(plan, which))}</p>')
    parts.append(f"<p>{_text(works_summary(comparison))}</p>")
    later = spent_before(comparison.new.problem, comparison.new.policy, calendar)
    if later:
        parts.append(f'<p class="muted">{_text(later)}</p>')
    return _section(say("In short"), "".join(parts))


def _costs(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = f'<th scope="col">{escape(titles[0])}</th>' + "".join(
        f'<th scope="col" class="number">{escape(each)}</th>' for each in titles[1:]
    )
    body = []
    for number, (name, *amounts) in enumerate(rows):
        kind = ' class="total"' if number == len(rows) - 1 else ""
        cells = "".join(f'<td class="number">{escape(each)}</td>' for each in amounts)
        body.append(f'<tr{kind}><th scope="row"><bdi>{_text(name)}</bdi></th>{cells}</tr>')
    return (
        '<div class="scroll" tabindex="0"><table class="compared">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _works(comparison: PlanComparison, calendar: Calendar | None) -> str:
    if calendar is None:
        starts = (say("old start (step)"), say("new start (step)"))
    else:
        starts = (say("old start (date)"), say("new start (date)"))
    titles = (say("work"), *starts, say("difference"))
    head = "".join(f'<th scope="col">{escape(each)}</th>' for each in titles)
    body = []
    for contractor, works in _by_contractor(comparison.works):
        within = f'<th scope="rowgroup" colspan="4" class="within"><bdi>{_text(contractor)}</bdi>'
        body.append(f"<tr>{within}</th></tr>")
        for work in works:
            cells = (
                start_in_words(work.old_start, calendar),
                start_in_words(work.new_start, calendar),
                move_in_words(work, calendar),
            )
            row = "".join(f"<td>{escape(each)}</td>" for each in cells)
            body.append(f'<tr><th scope="row"><bdi>{_text(work.work)}</bdi></th>{row}</tr>')
    return (
        '<div class="scroll" tabindex="0"><table class="compared">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _by_contractor(
    works: Sequence[WorkComparison],
) -> list[tuple[str, list[WorkComparison]]]:
    found: dict[str, list[WorkComparison]] = {}
    for each in works:
        found.setdefault(each.contractor, []).append(each)
    return list(found.items())


class _Chart:
    """The works of both plans as bars, in SVG with the colours of the page."""

    def __init__(self, comparison: PlanComparison, calendar: Calendar | None) -> None:
        self._works = _by_contractor(comparison.works)
        self._calendar = calendar
        plans = (comparison.old, comparison.new)
        starts = [
            at
            for each in comparison.works
            for at in (each.old_start, each.new_start)
            if at is not None
        ]
        self._first = min([*starts, *(plan.policy.stage for plan in plans)])
        self._last = max(plan.policy.horizon for plan in plans)
        self._step = (_WIDE - _NAMES) / max(1, self._last - self._first)

    def svg(self) -> str:
        """Draw the chart."""
        parts: list[str] = []
        top = 24.0
        for contractor, works in self._works:
            parts.append(self._name(contractor, 0.0, top + 18, bold=True))
            top += 26
            names = fit_apart([each.work for each in works], _LONGEST)
            for work, name in zip(works, names, strict=True):
                parts.append(self._row(work, name.rstrip(), top))
                top += _ROW
        ticks = self._ticks(top)
        label = say("The works of both plans as bars; the table below has the same starts.")
        return (
            f'<div class="scroll" tabindex="0"><svg viewBox="0 0 {_WIDE:g} {top + 4:g}" '
            f'width="{_WIDE:g}" height="{top + 4:g}" role="img" font-size="13" '
            f'aria-label="{escape(label)}">'
            f"{ticks}{''.join(parts)}</svg></div>"
        )

    def _x(self, stage: float) -> float:
        return _NAMES + (min(max(stage, self._first), self._last) - self._first) * self._step

    def _ticks(self, bottom: float) -> str:
        parts = []
        free = 0.0
        for stage in range(self._first, self._last):
            x = self._x(stage)
            if x < free or x + _LEAST_TICK > _WIDE:
                continue
            free = x + _LEAST_TICK
            label = str(stage) if self._calendar is None else self._calendar.short_label(stage)
            parts.append(
                f'<line x1="{x:.1f}" x2="{x:.1f}" y1="4" y2="{bottom:g}" stroke="var(--line)"/>'
                f'<text x="{x + 4:.1f}" y="14" fill="var(--muted)">{escape(label)}</text>'
            )
        return "".join(parts)

    def _name(self, name: str, x: float, y: float, *, bold: bool = False) -> str:
        shown = fit(name, _LONGEST).rstrip()
        weight = ' font-weight="600"' if bold else ""
        return f'<text x="{x:g}" y="{y:g}" fill="var(--ink)"{weight}>{_text(shown)}</text>'

    def _row(self, work: WorkComparison, name: str, top: float) -> str:
        plans = (
            (work.old_start, work.old_end, "var(--faint)", "var(--muted)", ' stroke-dasharray="3"'),
            (work.new_start, work.new_end, "var(--bar)", "var(--bar-edge)", ""),
        )
        parts = [self._name(name, 10.0, top + 17)]
        for k, (start, end, fill, edge, dashes) in enumerate(plans):
            if start is None or end is None:
                continue
            x = self._x(start)
            wide = max(2.0, self._x(end) - x)
            parts.append(
                f'<rect x="{x:.1f}" y="{top + 3 + k * (_BAR + 2):g}" width="{wide:.1f}" '
                f'height="{_BAR:g}" rx="3" fill="{fill}" stroke="{edge}"{dashes}/>'
            )
        return "".join(parts)
