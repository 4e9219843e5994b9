"""The test set ``coordint``: contractors who lose much if they cannot see each other's delays."""

from __future__ import annotations

from coreplan.bench.sets.draw import Draw
from coreplan.bench.sets.works import COST, HINDRANCE
from coreplan.domains.maintenance.parts import Contractor, Delay, Hindrance, Task
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.errors import ModelError

LEAST_PROBABILITY = 0.02
"""Least probability of a delay: every instance needs a delay to react to."""


def make_coordint(
    draw: Draw, name: str, *, agents: int, tasks: int, horizon: int, cost: float, probability: float
) -> MaintenanceProblem:
    """Two contractors whose second works hinder each other, and whose first works may be delayed.

    Both have to start their first work at stage 0. It takes one step; if it is delayed, which is
    known at stage 1, it takes until the second work has to start: that then comes late. A second
    work of a contractor that is not delayed can come early or late. Early and late do not overlap.
    If one contractor is delayed, hindrance occurs unless the other one works early. If no
    contractor is delayed, hindrance occurs unless one of them works early and the other late. If
    both are delayed, hindrance occurs in any case. Work costs the same at all stages, so that
    nothing but hindrance tells the plans apart.

    Parameters
    ----------
    draw, name
        Source of random numbers; name of the problem.
    agents, tasks
        Both are 2.
    horizon
        Number of steps, odd: one, the delay, and the second work, as long as the delay.
    cost
        Factor of the cost of a step of work.
    probability
        Largest probability of a delay.
    """
    length = (horizon - 1) // 2
    contractors = []
    for i in range(agents):
        costs = []
        for _ in range(tasks):
            costs.append(round(draw.uniform(*COST, 2) * cost, 3))
        late = Delay(draw.uniform(LEAST_PROBABILITY, probability, 3), length)
        first = Task("w1", 1, costs[0], delay=late, window=(0, 0))
        contractors.append(Contractor(f"C{i + 1}", (first, Task("w2", length, costs[1]))))
    network = (Hindrance(("C1/w2", "C2/w2"), draw.uniform(*HINDRANCE, 2)),)
    return MaintenanceProblem(tuple(contractors), horizon, network, True, name)


def check_coordint(*, horizon: int, **others: object) -> None:
    """Raise a ModelError if early and late would not fill the horizon."""
    if horizon % 2 == 0:
        raise ModelError(
            f"the horizon is {horizon}; expected an odd number: a step, a delay, and a work that "
            "is as long as the delay"
        )
