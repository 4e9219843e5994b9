"""One course of a plan as text."""

from __future__ import annotations

from coreplan.domains.maintenance.planned import PlannedSchedule, PlannedWork
from coreplan.support.language import say
from coreplan.support.late import provides
from coreplan.view.plan_text import percent, steps_in_words
from coreplan.view.words import when_range


@provides("PlannedSchedule.text")
def schedule_in_words(schedule: PlannedSchedule) -> list[str]:
    """Lines with the works of one course, or with the actions of each step."""
    head = say(
        "one course of the plan, with a probability of {chance}",
        chance=percent(schedule.probability),
    )
    if not schedule.works and not schedule.unstarted:
        return [head, *steps_in_words(schedule.stage, schedule.actions)]
    lines = [head]
    for name in schedule.agents:
        works = schedule.of(name)
        lines.append(f"{name}:" if works else say("{name}: no works", name=name))
        lines += [f"  {_work(work)}" for work in works]
    if schedule.unstarted:
        lines.append(say("not started: {works}", works=", ".join(schedule.unstarted)))
    return lines


def _work(work: PlannedWork) -> str:
    notes = []
    if work.under_way:
        notes.append(say("already under way"))
    if work.delayed is not None and work.given:
        notes.append(say("delayed") if work.delayed else say("not delayed"))
    elif work.delayed is not None:
        notes.append(say("delayed, as assumed") if work.delayed else say("not delayed, as assumed"))
    if not work.completed:
        notes.append(say("not completed in time"))
    steps = when_range(work.start, work.end - 1)
    return f"{work.task}: {steps}" + (f" ({'; '.join(notes)})" if notes else "")
