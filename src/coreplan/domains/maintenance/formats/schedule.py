"""The format ``schedule/1``: the planned step of each work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.schedule import Schedule, check_schedule, refuse_schedule
from coreplan.errors import ModelError
from coreplan.files.reading import Document, read_document
from coreplan.files.writing import write_document
from coreplan.formats.plan import PlanNotation, plan_notation
from coreplan.model.calendar import Calendar
from coreplan.model.dated_steps import DatedSteps, is_dated
from coreplan.model.indexed import JointState

FORMAT = "schedule/1"


def read_schedule(
    path: str | Path,
    problem: MaintenanceProblem,
    *,
    stage: int = 0,
    state: JointState | None = None,
    calendar: Calendar | None = None,
) -> dict[str, dict[str, int]]:
    """Read a schedule of a maintenance problem from a JSON or YAML file.

    ::

        format: schedule/1    # may be left out
        Alpha: {a1: 0, a2: 4}
        Beta: {b1: 3}

    With a calendar, a start may be a date or a week number: it stands for the step that contains
    this day.

    Parameters
    ----------
    path
        The file; ``-`` for the standard input.
    problem
        The problem of the schedule.
    stage, state
        The stage and joint state to start from; see
        :func:`coreplan.domains.maintenance.schedule_policy`.
    calendar
        The dates of the steps; without it dates are errors.

    Raises
    ------
    FormatError
        If the file has mistakes: all of them (at most 20), with line and column.
    """
    return read_document(
        path,
        lambda document: _schedule_of(document, problem, stage, state, DatedSteps(calendar)),
    )


def write_schedule(schedule: Schedule, path: str | Path) -> None:
    """Write a schedule to a file: in YAML if its name ends in .yaml or .yml, else in JSON."""
    # A contractor called `format` owns this key.
    written: dict[str, Any] = {} if "format" in schedule else {"format": FORMAT}
    written |= {name: dict(planned) for name, planned in schedule.items()}
    write_document(written, path)


@plan_notation.register
def _schedules(problem: MaintenanceProblem) -> PlanNotation:
    """Schedules are the plans that planners write."""
    return PlanNotation(
        FORMAT,
        lambda document, stage, state, steps: _schedule_of(document, problem, stage, state, steps),
    )


def _schedule_of(
    document: Document,
    problem: MaintenanceProblem,
    stage: int,
    state: JointState | None,
    steps: DatedSteps,
) -> dict[str, dict[str, int]]:
    members = document.members(document.root, (), "the planned starts of each contractor")
    if "format" in members and not isinstance(members["format"], dict):
        document.check_format(FORMAT)
        members = {name: each for name, each in members.items() if name != "format"}
    schedule: dict[str, Any] = {}
    for name, each in members.items():
        what = f"the planned starts of contractor {name!r:.60}"
        schedule[name] = dict(document.members(each, (name,), what))
    steps.decide(start for planned in schedule.values() for start in planned.values())
    for name, planned in schedule.items():
        for work, start in planned.items():
            if is_dated(start):
                try:
                    planned[work] = steps.read(start)
                except ModelError as error:
                    document.fail((name, work), str(error))

    def make() -> dict[str, dict[str, int]]:
        refuse_schedule(problem, schedule, stage, state, steps.calendar)
        return {
            name: {work: int(step) for work, step in planned.items()}
            for name, planned in schedule.items()
        }

    return document.finish(
        make, lambda: check_schedule(problem, schedule, stage, state, steps.calendar)
    )
