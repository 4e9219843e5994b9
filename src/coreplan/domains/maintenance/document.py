"""Writing maintenance problems in the format ``mpp/1``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coreplan.domains.maintenance.parts import Task

if TYPE_CHECKING:
    from coreplan.domains.maintenance.problem import MaintenanceProblem

FORMAT = "mpp/1"


def mpp_to_dict(problem: MaintenanceProblem) -> dict[str, Any]:
    """The keys and values of a problem in its format."""
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
