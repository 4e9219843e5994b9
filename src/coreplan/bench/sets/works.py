"""Maintenance problems of the test sets ``rand``, ``mpp``, ``pyra`` and ``large``.

Durations, delays, costs and hindrance follow the distributions of the generator that the paper's
authors published; docs/test-sets.md names the source of each.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Sequence

from coreplan.bench.sets.draw import Draw, season
from coreplan.domains.maintenance.parts import Contractor, Delay, Hindrance, Task
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.errors import ModelError

COST = (10.0, 50.0)
"""Cost of a step of work, before the season."""
HINDRANCE = (50.0, 100.0)
"""Hindrance of a step in which two works coincide."""
REVENUE = (3.0, 4.0)
"""Revenue of a work, as a factor of its cost before the season."""
_TRIES = 1000
"""Draws of a split, before it is made in another way."""

LONGEST = 3
"""In `large`: the most steps of a work, and of a delay."""
MILD_HINDRANCE = (10.0, 40.0)
"""Hindrance of a step in which two works coincide, in `large`."""

NETWORKS = ("pairs", "tree", "pyramid")
"""The choice of works that hinder each other: see :func:`make_works`."""
DURATIONS = ("drawn", "shortest")
"""The choice of the steps that works take: see :func:`make_works`."""
REVENUES = ("none", "drawn")
"""The choice of the works' revenue: see :func:`make_works`."""


def make_works(
    draw: Draw,
    name: str,
    *,
    agents: int,
    tasks: int,
    horizon: int,
    durations: str,
    idle: int,
    revenue: str,
    network: str,
    density: float,
    links: int,
) -> MaintenanceProblem:
    """A random MPP in which works and their delays may fill nearly all the time.

    Parameters
    ----------
    draw, name
        Source of random numbers; name of the problem.
    agents, tasks, horizon
        Number of contractors, of works of each, and of steps.
    durations
        ``drawn``: works without their delays take a random part of a contractor's time, and
        their delays the rest. ``shortest``: each work takes one step, and delays the rest.
    idle
        Steps that a contractor has left even if all its works are delayed. It has fewer if the
        horizon is short: at least one step is for delays.
    revenue
        ``none``: all works must be completed, and none has a revenue. ``drawn``: works have random
        revenues, and need not be done.
    network
        ``pairs``: any two works of different contractors hinder each other with the chance
        `density`. ``tree``: contractors form a random tree; `links` pairs of works of two that are
        joined hinder each other. ``pyramid``: the first work of contractor k hinders the first
        works of contractors 2k and 2k + 1.
    density, links
        See `network`.
    """
    room = horizon - tasks
    time = horizon - min(idle, max(room - 1, 0))
    contractors = []
    for i in range(agents):
        late = draw.some(range(tasks), min(tasks, time - tasks))
        regular = draw.integer(tasks, time - len(late)) if durations == "drawn" else tasks
        steps = _split(draw, regular, tasks)
        delays = dict(zip(late, _split(draw, time - regular, len(late)), strict=True))
        works = []
        for k in range(tasks):
            shape = season(horizon, draw.uniform(0, 1, 3))
            works.append(
                _make_task(draw, k, steps[k], delays.get(k, 0), shape, earns=revenue == "drawn")
            )
        contractors.append(Contractor(f"C{i + 1}", tuple(works)))
    hindrances = []
    if network == "pyramid":
        for one, other in pyramid_pairs(agents):
            hindrances.append(_make_hindrance(draw, one, 0, other, 0))
    elif network == "tree":
        for one, other in tree_pairs(draw, agents):
            every = list(itertools.product(range(tasks), repeat=2))
            for k, m in draw.some(every, links):
                hindrances.append(_make_hindrance(draw, one, k, other, m))
    else:
        for one, other in itertools.combinations(range(agents), 2):
            for k, m in itertools.product(range(tasks), repeat=2):
                drawn = draw.chance(density)
                hindrance = _make_hindrance(draw, one, k, other, m)
                if drawn:  # draws the numbers in any case: a higher density only adds
                    hindrances.append(hindrance)
    return MaintenanceProblem(
        tuple(contractors), horizon, tuple(hindrances), revenue == "none", name
    )


def check_works(*, tasks: int, horizon: int, **others: object) -> None:
    """Raise a ModelError if works do not fit into the horizon."""
    if tasks > horizon:
        raise ModelError(
            f"{tasks} tasks do not fit into a horizon of {horizon}; allow a longer horizon or "
            "fewer tasks"
        )


def _split(draw: Draw, total: int, parts: int) -> list[int]:
    """A total in so many parts of at least 1, by random fractions of it.

    If no split is found soon, every part gets 1 and the rest is given out one by one.
    """
    if total == parts:
        return [1] * parts
    for _ in range(_TRIES):
        fractions = [draw.uniform(0, 1, 9) for _ in range(parts)]
        whole = sum(fractions) or 1.0
        split = [int(fraction / whole * total) for fraction in fractions]
        _give_out(draw, split, total - sum(split))
        if min(split) > 0:
            return split
    split = [1] * parts
    _give_out(draw, split, total - parts)
    return split


def _give_out(draw: Draw, split: list[int], rest: int) -> None:
    for _ in range(rest):
        split[draw.integer(0, len(split) - 1)] += 1


def _make_task(
    draw: Draw,
    position: int,
    duration: int,
    delay: int,
    shape: Sequence[float],
    *,
    earns: bool = False,
) -> Task:
    base = draw.uniform(*COST, 2)
    probability = draw.uniform(0, 1, 3)
    return Task(
        f"w{position + 1}",
        duration,
        tuple(round(base * factor, 2) for factor in shape),
        revenue=round(base * duration * draw.uniform(*REVENUE, 3), 2) if earns else 0.0,
        delay=Delay(probability, delay) if delay else None,
    )


def _make_hindrance(
    draw: Draw,
    one: int,
    k: int,
    other: int,
    m: int,
    cost: tuple[float, float] = HINDRANCE,
) -> Hindrance:
    return Hindrance((f"C{one + 1}/w{k + 1}", f"C{other + 1}/w{m + 1}"), draw.uniform(*cost, 2))


def pyramid_pairs(agents: int) -> Iterator[tuple[int, int]]:
    """Agent k with agents 2k and 2k + 1, counted from 1; what is given counts from 0.

    Examples
    --------
    >>> list(pyramid_pairs(6))
    [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5)]
    """
    for k in range(1, agents + 1):
        for child in (2 * k, 2 * k + 1):
            if child <= agents:
                yield k - 1, child - 1


def tree_pairs(draw: Draw, agents: int) -> list[tuple[int, int]]:
    """A random tree: every node is joined to an earlier one."""
    return [(draw.integer(0, i - 1), i) for i in range(1, agents)]


def make_large(
    draw: Draw, name: str, *, agents: int, tasks: int, horizon: int, contention: str
) -> MaintenanceProblem:
    """Many contractors; about as many pairs of them hinder each other.

    Parameters
    ----------
    draw, name
        Source of random numbers; name of the problem.
    agents, tasks, horizon
        Number of contractors, of works of each, and of steps.
    contention
        ``high``: all contractors have the same cheap season, and half of the pairs of works of
        linked contractors hinder each other. ``low``: seasons differ, and three in ten pairs do.
    """
    # The tree makes it one team; one more pair makes it as many pairs as contractors.
    return make_linked(
        draw,
        name,
        lambda: {*tree_pairs(draw, agents), (0, agents - 1)},
        agents=agents,
        tasks=tasks,
        horizon=horizon,
        high=contention == "high",
    )


def make_linked(
    draw: Draw,
    name: str,
    draw_pairs: Callable[[], Collection[tuple[int, int]]],
    *,
    agents: int,
    tasks: int,
    horizon: int,
    high: bool,
) -> MaintenanceProblem:
    """Contractors as in :func:`make_large`; pairs of them are linked as a function draws them."""
    contractors = []
    for i in range(agents):
        shift = 0.0 if high else draw.uniform(0, 1, 3)
        shape = season(horizon, 0.5 if high else 0.3, shift)
        works = [
            _make_task(draw, k, draw.integer(1, LONGEST), draw.integer(1, LONGEST), shape)
            for k in range(tasks)
        ]
        contractors.append(Contractor(f"C{i + 1}", tuple(works)))
    network = [
        _make_hindrance(draw, one, k, other, m, MILD_HINDRANCE)
        for one, other in sorted(draw_pairs())
        for k, m in itertools.product(range(tasks), repeat=2)
        if draw.chance(0.5 if high else 0.3)
    ]
    return MaintenanceProblem(tuple(contractors), horizon, tuple(network), True, name)


def check_large(*, tasks: int, horizon: int, **others: object) -> None:
    """Raise a ModelError if works do not fit into the horizon."""
    if 2 * LONGEST * tasks > horizon:
        raise ModelError(
            f"{tasks} tasks of up to {2 * LONGEST} steps do not fit into a horizon of {horizon}; "
            "allow a longer horizon or fewer tasks"
        )
