"""The planned starts of a works list, as a schedule whose mistakes have rows and columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.schedule import check_schedule
from coreplan.domains.maintenance.states import ContractorState
from coreplan.domains.maintenance.works.columns import WORKS
from coreplan.domains.maintenance.works.rows import Group
from coreplan.domains.maintenance.works.sheet import Sheet
from coreplan.domains.maintenance.works.table import ProblemLog, Table
from coreplan.model.calendar import Calendar
from coreplan.support.checks import found

TITLE = next(column.title for column in WORKS if column.key == "planned")


@dataclass(frozen=True)
class StartCells:
    """The cells of the planned starts.

    Attributes
    ----------
    table
        The table that they are in, without its rows.
    header_row
        The row of the titles.
    column, title
        Their column; -1 and an empty title if the list has none.
    rows
        The row of each work: contractor → work → row.
    calendar
        The dates of the steps, for messages.
    """

    table: Table
    header_row: int
    column: int
    title: str
    rows: Mapping[str, Mapping[str, int]]
    calendar: Calendar | None = None

    @classmethod
    def of(
        cls, sheet: Sheet, groups: Iterable[Group], calendar: Calendar | None = None
    ) -> StartCells:
        """The cells of a sheet."""
        there = "planned" in sheet.columns
        return cls(
            Table(sheet.table.file, sheet.table.sheet, (), sheet.table.style),
            sheet.header_row,
            sheet.columns["planned"] if there else -1,
            sheet.title("planned") if there else "",
            {
                group.name: {name: row.number for name, row in group.rows.items()}
                for group in groups
            },
            calendar,
        )

    def schedule(
        self,
        problem: MaintenanceProblem,
        planned: Mapping[str, Mapping[str, int]],
        stage: int,
        state: Mapping[str, ContractorState] | None,
    ) -> dict[str, dict[str, int]]:
        """The planned starts of all works that have not started; a WorksListError if not sound."""
        log = ProblemLog()
        schedule: dict[str, dict[str, int]] = {}
        some = any(planned.values())
        if self.column < 0 or not some:
            what = "is missing; add it, with" if self.column < 0 else "is empty; fill in"
            log.add(
                self.table,
                f"the column {self.title or TITLE!r} {what} the start of every work",
                self.header_row,
                self.column,
                self.title,
            )
            log.raise_any()
        for contractor in problem.contractors:
            at = ContractorState() if state is None else state[contractor.name]
            begun = {*at.done, at.doing, at.starting}
            given = planned.get(contractor.name, {})
            schedule[contractor.name] = {}
            for task in contractor.tasks:
                if task.name in begun:
                    continue
                if task.name in given:
                    schedule[contractor.name][task.name] = given[task.name]
                else:
                    log.add(
                        self.table,
                        f"the cell is empty; give the planned start of {found(task.name)}, which "
                        "has not started",
                        self.rows[contractor.name][task.name],
                        self.column,
                        self.title,
                    )
        if not len(log):
            for problem_found in check_schedule(problem, schedule, stage, state, self.calendar):
                name, work = (*map(str, problem_found.path), "")[:2]
                row = self.rows.get(name, {}).get(work, 0)
                log.add(self.table, problem_found.message, row, self.column, self.title)
        log.raise_any()
        return schedule
