"""The format ``mpp/1``: the maintenance planning problem."""

from __future__ import annotations

from typing import Any

from coreplan.formats.document import Node
from coreplan.formats.reading import Document, Place, plain
from coreplan.maintenance.problem import (
    Contractor,
    Delay,
    Hindrance,
    MaintenanceProblem,
    Task,
    check_maintenance,
)

FORMAT = "mpp/1"


def read_mpp(document: Document) -> MaintenanceProblem:
    """Make an MPP of a document, or raise a FormatError with all its problems."""
    top = document.fields(
        document.root,
        (),
        "the problem",
        ("format", "horizon", "agents"),
        ("name", "must_complete", "network"),
    )
    name = plain(top["name"]) if "name" in top else document.stem
    horizon: Any = plain(top["horizon"]) if "horizon" in top else None
    must_complete = plain(top["must_complete"]) if "must_complete" in top else False
    contractors: list[Contractor] = []
    if "agents" in top:
        for i, node in enumerate(document.items(top["agents"], ("agents",), "the agents")):
            contractors.append(_read_contractor(document, node, ("agents", i)))
    network: list[Hindrance] = []
    if "network" in top:
        for k, node in enumerate(document.items(top["network"], ("network",), "the network")):
            network.append(_read_hindrance(document, node, ("network", k)))
    return document.finish(
        lambda: MaintenanceProblem(
            tuple(contractors), horizon, tuple(network), must_complete, name
        ),
        lambda: check_maintenance(name, horizon, contractors, network, must_complete),
    )


def _read_contractor(document: Document, node: Node, path: Place) -> Contractor:
    fields = document.fields(node, path, "an agent", ("name", "tasks"), ())
    tasks = []
    if "tasks" in fields:
        where = (*path, "tasks")
        for j, each in enumerate(document.items(fields["tasks"], where, "the tasks")):
            tasks.append(_read_task(document, each, (*where, j)))
    name: Any = None  # stays so only where a problem is noted
    if "name" in fields:
        name = document.name(fields["name"], (*path, "name"), "the agent")
    return Contractor(name, tuple(tasks))


def _read_task(document: Document, node: Node, path: Place) -> Task:
    fields = document.fields(
        node, path, "a task", ("name", "duration", "cost"), ("delay", "revenue", "window")
    )
    delay = None
    if "delay" in fields:
        parts = document.fields(
            fields["delay"], (*path, "delay"), "a delay", ("probability", "duration"), ()
        )
        delay = Delay(
            plain(parts["probability"]) if "probability" in parts else 0,
            plain(parts["duration"]) if "duration" in parts else 1,
        )
    window: Any = None
    if "window" in fields:
        window = plain(fields["window"])
        if window is None:  # null is not the same as leaving it out
            document.fail((*path, "window"), "found null; expected [first stage, last stage]")
    name: Any = None  # stays so only where a problem is noted
    if "name" in fields:
        name = document.name(fields["name"], (*path, "name"), "the task")
    return Task(
        name=name,
        duration=plain(fields["duration"]) if "duration" in fields else 1,
        cost=plain(fields["cost"]) if "cost" in fields else 0,
        delay=delay,
        revenue=plain(fields["revenue"]) if "revenue" in fields else 0,
        window=window,
    )


def _read_hindrance(document: Document, node: Node, path: Place) -> Hindrance:
    fields = document.fields(node, path, "an entry of the network", ("tasks", "cost"), ())
    tasks: list[Any] = []
    if "tasks" in fields:
        tasks = [
            plain(each) for each in document.items(fields["tasks"], (*path, "tasks"), "the tasks")
        ]
    return Hindrance(tuple(tasks), plain(fields["cost"]) if "cost" in fields else 0)


def mpp_to_dict(problem: MaintenanceProblem) -> dict[str, Any]:
    """An MPP as the keys and values of its format."""
    written: dict[str, Any] = {
        "format": FORMAT,
        "name": problem.name,
        "horizon": problem.horizon,
        "must_complete": problem.must_complete,
        "agents": [
            {"name": contractor.name, "tasks": [_task_to_dict(task) for task in contractor.tasks]}
            for contractor in problem.contractors
        ],
    }
    if problem.network:
        written["network"] = [
            {"tasks": hindrance.tasks, "cost": hindrance.cost} for hindrance in problem.network
        ]
    return written


def _task_to_dict(task: Task) -> dict[str, Any]:
    written: dict[str, Any] = {"name": task.name, "duration": task.duration}
    if task.delay is not None:
        written["delay"] = {
            "probability": task.delay.probability,
            "duration": task.delay.duration,
        }
    if task.revenue != 0:
        written["revenue"] = task.revenue
    written["cost"] = task.cost
    if task.window is not None:
        written["window"] = task.window
    return written
