"""The table of works: a column is one line of :data:`COLUMNS`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coreplan.domains.maintenance.parts import Contractor, Task
from coreplan.domains.maintenance.report.findings import Findings, Place
from coreplan.domains.maintenance.report.words import Words
from coreplan.domains.maintenance.timeline import WorkTimeline, expected_cost
from coreplan.support.cents import rounded, shared_out
from coreplan.support.language import marked, say, say_marked

Cell = dict[str, Any]
"""A cell: one of ``name``, ``text``, ``money`` and ``percent``, and optionally a ``note`` below."""


@dataclass(frozen=True)
class Row:
    """One work with everything that its cells need.

    Attributes
    ----------
    contractor, task
        The work and its contractor.
    when
        The chances of its starts and ends; None if they are out of reach.
    start
        Its first step in the course without delays; None if it does not start then.
    left
        Its remaining steps if it is under way at first, 0 if it is done; else None.
    completed
        The chance that it is completed in the planned time.
    expected
        Its expected cost; None if it is out of reach.
    horizon
        The number of steps of the problem.
    words
        The words for steps.
    details
        What the works list says of it in columns for people, by title.
    """

    contractor: Contractor
    task: Task
    when: WorkTimeline | None
    start: int | None
    left: int | None
    completed: float
    expected: float | None
    first: int
    horizon: int
    words: Words
    details: Mapping[str, str]

    @property
    def end(self) -> int | None:
        """The step after the last one in the course without delays; it can be beyond the plan."""
        if self.left:
            return self.first + self.left
        return None if self.start is None else self.start + self.task.durations[0][1]


@dataclass(frozen=True)
class Column:
    """A column: its title in English, its cells, and whether they are numbers."""

    title: str
    cell: Callable[[Row], Cell]
    number: bool = False
    optional: bool = False
    """Whether the column is left out if all its cells are empty."""
    given: bool = False
    """Whether a works list has the column: its title is then a name, which is not translated."""

    @property
    def heading(self) -> str:
        """The title as the page shows it."""
        return self.title if self.given else say_marked(self.title, context="title")


def _delay(row: Row) -> Cell:
    ways = row.task.durations
    if len(ways) > 1:
        more = row.words.steps(ways[1][1] - ways[0][1])
        return {"percent": ways[1][0], "note": say("{steps} more", steps=more)}
    if ways[0][1] > row.task.duration:
        return {"text": say("always (included)")}
    return {"text": say("never")}


def _start(row: Row) -> Cell:
    if row.left is not None:
        return {"text": say("under way") if row.left else say("done")}
    possible = ""
    when = row.when
    if when is not None and when.first_start is not None and when.last_start is not None:
        if when.first_start < when.last_start:
            possible = row.words.between(when.first_start, when.last_start)
        elif when.first_start != row.start:
            possible = row.words.at(when.first_start)
    cell: Cell = {"text": say("not started") if row.start is None else row.words.at(row.start)}
    return cell | ({"note": say("possible: {when}", when=possible)} if possible else {})


def _end(row: Row) -> Cell:
    if row.left == 0:
        return {"text": say("done")}
    cell: Cell = {"text": "–"}
    last = row.words.end(row.horizon - 1)
    if row.end is not None:
        late = row.end > row.horizon
        cell = {"text": say("after {when}", when=last) if late else row.words.end(row.end - 1)}
        if late:
            return cell
    when = row.when
    if when is None or when.last_end is None:
        return cell
    # Ends are cut at the horizon: a work that may go on is completed less often than started.
    if when.last_end == row.horizon - 1 and when.started - when.completed > 1e-9:
        return cell | {"note": say("latest: after {when}", when=last)}
    if row.end is None or when.last_end > row.end - 1:
        return cell | {"note": say("latest: {when}", when=row.words.end(when.last_end))}
    return cell


def _expected(row: Row) -> Cell:
    return {"text": ""} if row.expected is None else {"money": row.expected}


def _revenue(row: Row) -> Cell:
    return {"money": row.task.revenue} if row.task.revenue else {}


CONTRACTOR = Column(
    marked("contractor", context="title"), lambda row: {"name": row.contractor.name}
)
COLUMNS: tuple[Column, ...] = (
    Column(marked("work", context="title"), lambda row: {"name": row.task.name}),
    Column(marked("start", context="title"), _start),
    Column(marked("end", context="title"), _end),
    Column(
        marked("takes", context="title"),
        lambda row: {"text": row.words.steps(row.task.durations[0][1])},
    ),
    Column(marked("delay", context="title"), _delay),
    Column(
        marked("completed", context="title"), lambda row: {"percent": row.completed}, number=True
    ),
    Column(marked("expected cost", context="title"), _expected, number=True),
    Column(marked("revenue if completed", context="title"), _revenue, number=True, optional=True),
)
"""The columns, from left to right; the page begins with the contractor if it shows several."""


def _detail_columns(rows: Sequence[Row]) -> list[Column]:
    """The columns for people of a works list, which no plan depends on."""

    def column(title: str) -> Column:
        return Column(title, lambda row: {"name": row.details.get(title, "")}, given=True)

    return [column(title) for title in dict.fromkeys(t for row in rows for t in row.details)]


def works_table(findings: Findings, places: Sequence[Place], words: Words) -> dict[str, Any]:
    """Make the table of some works, with titles, rows, and the sum of the expected costs."""
    rows = _rows(findings, places, words)
    columns = [*COLUMNS, *_detail_columns(rows)]
    if len({i for i, _ in places}) > 1:
        columns.insert(0, CONTRACTOR)
    cells = [[column.cell(row) for column in columns] for row in rows]
    kept = [
        k
        for k, column in enumerate(columns)
        if not column.optional or any(line[k] for line in cells)
    ]
    known = [row.expected for row in rows if row.expected is not None]
    total = rounded(math.fsum(known)) if rows and len(known) == len(rows) else None
    return {
        "columns": [
            {
                "title": columns[k].heading,
                "number": columns[k].number,
                "header": columns[k] is COLUMNS[0],
                "total": total if columns[k].cell is _expected else None,
            }
            for k in kept
        ],
        "rows": [[line[k] for k in kept] for line in cells],
    }


def _rows(findings: Findings, places: Sequence[Place], words: Words) -> list[Row]:
    expected = expected_costs(findings)
    policy = findings.plan.policy
    rows = []
    for i, k in places:
        contractor = findings.problem.contractors[i]
        times = findings.times
        rows.append(
            Row(
                contractor,
                contractor.tasks[k],
                None if times is None else times.of(contractor.name)[k],
                findings.planned.get((i, k)),
                findings.beginning.get((i, k)),
                findings.completed((i, k)),
                None if expected is None else expected[i][k],
                policy.stage,
                policy.horizon,
                words,
                findings.problem.details.get(f"{contractor.name}/{contractor.tasks[k].name}", {}),
            )
        )
    return rows


def expected_costs(findings: Findings) -> list[list[float]] | None:
    """The expected cost of each work, by contractor, in cents that add up; None if out of reach."""
    if findings.times is None:
        return None
    sums = findings.worth.money.in_cents().works_of
    return [
        shared_out(
            total,
            [
                expected_cost(task, when)
                for task, when in zip(
                    contractor.tasks, findings.times.of(contractor.name), strict=True
                )
            ],
        )
        for contractor, total in zip(findings.problem.contractors, sums, strict=True)
    ]
