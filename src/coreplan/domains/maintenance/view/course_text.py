"""One course of a plan as text."""

from __future__ import annotations

from coreplan.domains.maintenance.planned import PlannedSchedule, PlannedWork
from coreplan.support.late import provides
from coreplan.view.plan_text import percent, steps_in_words


@provides("PlannedSchedule.text")
def schedule_in_words(schedule: PlannedSchedule) -> list[str]:
    """Lines with the works of one course, or with the actions of each step."""
    head = f"one course of the plan, with a probability of {percent(schedule.probability)}"
    if not schedule.works and not schedule.unstarted:
        return [head, *steps_in_words(schedule.stage, schedule.actions)]
    lines = [head]
    for name in schedule.agents:
        works = schedule.of(name)
        lines.append(f"{name}: {'no works' if not works else ''}".rstrip())
        lines += [f"  {_work(work)}" for work in works]
    if schedule.unstarted:
        lines.append(f"not started: {', '.join(schedule.unstarted)}")
    return lines


def _work(work: PlannedWork) -> str:
    steps = f"steps {work.start} to {work.end - 1}"
    if work.end == work.start + 1:
        steps = f"step {work.start}"
    notes = []
    if work.under_way:
        notes.append("already under way")
    if work.delayed is not None:
        notes.append(f"{'delayed' if work.delayed else 'not delayed'}")
        if not work.given:
            notes[-1] += ", as assumed"
    if not work.completed:
        notes.append("not completed in time")
    return f"{work.task}: {steps}" + (f" ({'; '.join(notes)})" if notes else "")
