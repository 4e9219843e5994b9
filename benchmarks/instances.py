"""Seeded random maintenance problems for benchmarks, other than the test sets.

The tables in the docs are about these problems. Published comparisons use the test sets of
``coreplan.bench.sets``, which are the same on every machine and version of Python.
"""

from __future__ import annotations

import itertools
import math
import random

from coreplan import Contractor, Delay, Hindrance, MaintenanceProblem, Task
from coreplan.bench.sets.draw import Draw
from coreplan.bench.sets.works import make_linked, pyramid_pairs


def random_mpp(
    agents: int,
    tasks: int,
    horizon: int,
    seed: int,
    *,
    density: float = 0.3,
    must_complete: bool = False,
    longest: int = 2,
    longest_delay: int = 2,
    hindrance: tuple[float, float] = (50, 100),
) -> MaintenanceProblem:
    """A random MPP: seasonal costs, random delays, hindrance between random pairs of tasks.

    Parameters
    ----------
    agents, tasks, horizon
        Number of contractors, of tasks of each, and of steps.
    seed
        The same seed gives the same problem.
    density
        Probability that two tasks of different contractors hinder each other.
    must_complete
        Whether every task must be completed; durations are then short enough to fit.
    longest, longest_delay
        Most steps of work, and of delay, of a task.
    hindrance
        The least and the most that hindrance costs per step.
    """
    draw = random.Random(f"{agents}/{tasks}/{horizon}/{seed}/{density}/{must_complete}")
    amplitude = draw.random()
    season = [1 + amplitude * math.cos(2 * math.pi * t / horizon) for t in range(horizon)]
    contractors = []
    for i in range(agents):
        spare = horizon - tasks if must_complete else tasks * (longest + longest_delay)
        works = []
        for k in range(tasks):
            duration = 1 + draw.randint(0, min(longest - 1, spare))
            spare -= duration - 1
            delay = min(draw.randint(1, longest_delay), spare)
            spare -= delay
            base = draw.uniform(10, 50)
            works.append(
                Task(
                    f"w{k + 1}",
                    duration,
                    tuple(round(base * each, 2) for each in season),
                    delay=Delay(round(draw.random(), 3), delay) if delay else None,
                    revenue=0 if must_complete else round(draw.uniform(100, 300), 2),
                )
            )
        contractors.append(Contractor(f"C{i + 1}", tuple(works)))
    names = [[f"{c.name}/{task.name}" for task in c.tasks] for c in contractors]
    network = [
        Hindrance((left, right), round(draw.uniform(*hindrance), 2))
        for one, other in itertools.combinations(names, 2)
        for left in one
        for right in other
        if draw.random() < density
    ]
    return MaintenanceProblem(
        tuple(contractors),
        horizon,
        tuple(network),
        must_complete,
        f"mpp {agents}x{tasks}x{horizon} seed {seed}",
    )


def pyramid(agents: int, tasks: int, horizon: int, seed: int) -> MaintenanceProblem:
    """The first task of agent k hinders the first tasks of agents 2k and 2k + 1 (from 1)."""
    plain = random_mpp(agents, tasks, horizon, seed, density=0, must_complete=True)
    draw = random.Random(f"pyramid/{agents}/{tasks}/{horizon}/{seed}")
    network = [
        Hindrance((f"C{one + 1}/w1", f"C{other + 1}/w1"), round(draw.uniform(50, 100), 2))
        for one, other in pyramid_pairs(agents)
    ]
    return MaintenanceProblem(
        plain.contractors, horizon, tuple(network), True, f"pyra {agents}x{tasks}x{horizon} {seed}"
    )


def realistic(agents: int, horizon: int, seed: int) -> MaintenanceProblem:
    """Contractors of a road network: all works must be completed, and few hinder each other.

    Each contractor has three to five works of one to six weeks, most of which may take one or two
    weeks longer; if they could fill more than four fifths of the weeks, the longest are made
    shorter. Week 0 is in the middle of winter, when work costs most and traffic, and with it
    hindrance, is densest. Every contractor shares roads with two or three others, two of them its
    neighbours on a ring: all contractors are one team. A fourth of the pairs of works of two
    contractors that share roads hinder each other, and at least one pair does.

    Parameters
    ----------
    agents
        Number of contractors, at least three.
    horizon
        Number of weeks, at least 15: 26 for half a year, 52 for a year.
    seed
        The same seed gives the same problem.
    """
    draw = random.Random(f"realistic/{agents}/{horizon}/{seed}")
    winter = [math.cos(2 * math.pi * week / 52) for week in range(horizon)]
    contractors = []
    for i in range(agents):
        count = draw.randint(3, 5)
        durations = [draw.randint(1, 6) for _ in range(count)]
        delays = [draw.choice((0, 1, 1, 2)) for _ in range(count)]
        while sum(durations) + sum(delays) > 0.8 * horizon:
            longest = max(durations)
            if longest == 1:
                delays[delays.index(max(delays))] -= 1
            else:
                durations[durations.index(longest)] -= 1
        works = []
        for k, (duration, delay) in enumerate(zip(durations, delays, strict=True)):
            base, swing = draw.uniform(10, 60), draw.uniform(0.05, 0.25)
            works.append(
                Task(
                    f"w{k + 1}",
                    duration,
                    tuple(round(base * (1 + swing * each), 2) for each in winter),
                    delay=Delay(round(draw.uniform(0.1, 0.4), 3), delay) if delay else None,
                )
            )
        contractors.append(Contractor(f"C{i + 1}", tuple(works)))
    ring = draw.sample(range(agents), agents)
    pairs = {tuple(sorted((ring[k - 1], ring[k]))) for k in range(agents)}
    # A third neighbour for some contractors; none gets more than one.
    free = draw.sample(range(agents), agents)
    for one, other in zip(free[::2], free[1::2], strict=False):
        if draw.random() < 0.6:
            pairs.add((min(one, other), max(one, other)))
    network = []
    for one, other in sorted(pairs):
        works_of = [(a, b) for a in contractors[one].tasks for b in contractors[other].tasks]
        hindering = [each for each in works_of if draw.random() < 0.25] or [draw.choice(works_of)]
        for a, b in hindering:
            base = draw.uniform(5, 30)
            network.append(
                Hindrance(
                    (f"C{one + 1}/{a.name}", f"C{other + 1}/{b.name}"),
                    tuple(round(base * (1 + 0.3 * each), 2) for each in winter),
                )
            )
    return MaintenanceProblem(
        tuple(contractors), horizon, tuple(network), True, f"realistic {agents}x{horizon} {seed}"
    )


def scattered(agents: int, horizon: int, seed: int) -> MaintenanceProblem:
    """Contractors with high contention whose links are random: teams of all sizes.

    They are those of the test set ``large``, but 72 pairs for every 100 of them are linked at
    random, instead of all in one tree.
    """
    draw = Draw(f"scattered/{agents}/{horizon}/{seed}/high")

    def draw_pairs() -> set[tuple[int, int]]:
        pairs: set[tuple[int, int]] = set()
        while len(pairs) < round(0.72 * agents):
            one, other = draw.integer(0, agents - 1), draw.integer(0, agents - 1)
            if one != other:
                pairs.add((min(one, other), max(one, other)))
        return pairs

    name = f"scattered {agents}x{horizon} {seed}"
    return make_linked(draw, name, draw_pairs, agents=agents, tasks=3, horizon=horizon, high=True)
