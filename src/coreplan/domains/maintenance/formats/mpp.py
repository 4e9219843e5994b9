"""Reading maintenance problems in the format ``mpp/1``."""

from __future__ import annotations

from typing import Any

from coreplan.domains.maintenance.document import FORMAT
from coreplan.domains.maintenance.parts import Contractor, Delay, Hindrance, Task
from coreplan.domains.maintenance.problem import MaintenanceProblem, check_maintenance
from coreplan.files.reading import Document, Place, give_up
from coreplan.formats.problem import register_problem_format


def read_mpp(document: Document) -> MaintenanceProblem:
    """Make a problem from a document, or raise a FormatError with all its mistakes."""
    top = document.fields(
        document.root,
        (),
        "the problem",
        ("format", "horizon", "agents"),
        ("name", "must_complete", "network"),
    )
    name = top.get("name", document.stem)
    horizon: Any = top.get("horizon")
    must_complete = top.get("must_complete", False)
    contractors: list[Contractor] = []
    if "agents" in top:
        listed = document.items(top["agents"], ("agents",), "the contractors")
        for i, each in enumerate(give_up(listed)):
            contractors.append(_read_contractor(document, each, ("agents", i)))
    network: list[Hindrance] = []
    if "network" in top:
        listed = document.items(top["network"], ("network",), "the network")
        for k, each in enumerate(give_up(listed)):
            network.append(_read_hindrance(document, each, ("network", k)))
    return document.finish(
        lambda: MaintenanceProblem(
            tuple(contractors), horizon, tuple(network), must_complete, name
        ),
        lambda: check_maintenance(name, horizon, contractors, network, must_complete),
    )


def _read_contractor(document: Document, value: Any, path: Place) -> Contractor:
    fields = document.fields(value, path, "a contractor", ("name", "tasks"), ())
    tasks = []
    if "tasks" in fields:
        where = (*path, "tasks")
        listed = document.items(fields["tasks"], where, "the works")
        for j, each in enumerate(give_up(listed)):
            tasks.append(_read_task(document, each, (*where, j)))
    name: Any = None  # stays None only if a mistake is reported
    if "name" in fields:
        name = document.name(fields["name"], (*path, "name"), "the contractor")
    return Contractor(name, tuple(tasks))


def _read_task(document: Document, value: Any, path: Place) -> Task:
    fields = document.fields(
        value, path, "a work", ("name", "duration", "cost"), ("delay", "revenue", "window")
    )
    delay = None
    if "delay" in fields:
        parts = document.fields(
            fields["delay"], (*path, "delay"), "a delay", ("probability", "duration"), ()
        )
        delay = Delay(parts.get("probability", 0), parts.get("duration", 1))
    window = fields.get("window")
    if window is None and "window" in fields:  # null is not the same as leaving it out
        document.fail((*path, "window"), "found null; expected [first step, last step]")
    name: Any = None  # stays None only if a mistake is reported
    if "name" in fields:
        name = document.name(fields["name"], (*path, "name"), "the work")
    return Task(
        name=name,
        duration=fields.get("duration", 1),
        cost=fields.get("cost", 0),
        delay=delay,
        revenue=fields.get("revenue", 0),
        window=window,
    )


def _read_hindrance(document: Document, value: Any, path: Place) -> Hindrance:
    fields = document.fields(value, path, "an entry of the network", ("tasks", "cost"), ())
    tasks: list[Any] = []
    if "tasks" in fields:
        tasks = document.items(fields["tasks"], (*path, "tasks"), "the works")
    return Hindrance(tuple(tasks), fields.get("cost", 0))


register_problem_format(FORMAT, read_mpp)
