"""Performance profiles: how often each solver is within a factor of the fastest one.

The profiles are those of Dolan and Moré (2002). The height at factor 1 is the share of instances on
which a solver was the fastest; the height at the right end is the share that it solved.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coreplan.bench.figures.numbers import factor, percent
from coreplan.bench.figures.style import log_axis
from coreplan.bench.sets.catalogue import TEST_SETS
from coreplan.bench.store import Row
from coreplan.bench.variants import Solves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHORTEST = 1e-3
"""Seconds; shorter times count as this: they are mostly noise."""

FACTORS = (1.0, 2.0, 5.0, 10.0, 100.0)
"""The factors of the table."""

COLOURS = ("#4477AA", "#EE6677", "#228833", "#AA3377", "#DD8800", "#222222", "#66CCEE", "#999999")
DASHES = ("-", "--", ":", "-.")


def counted_seconds(row: Row) -> float | None:
    """The time of a solve as comparisons count it; None if it did not prove the optimum."""
    return max(row.seconds, SHORTEST) if row.solved else None


@dataclass(frozen=True)
class ProfileData:
    """The performance profiles of several solvers on the same instances.

    Attributes
    ----------
    title
        What the instances are.
    ratios
        Per solver, by its name: the times by that of the fastest solver, sorted; unsolved instances
        have none.
    instances
        Number of instances, those that no solver solved included.
    """

    title: str
    ratios: Mapping[str, tuple[float, ...]]
    instances: int

    def __bool__(self) -> bool:
        return len(self.ratios) > 1 and any(self.ratios.values())

    def share(self, name: str, most: float = math.inf) -> float:
        """The share of instances that a solver solved within a factor of the fastest one."""
        return sum(each <= most for each in self.ratios[name]) / max(1, self.instances)

    @property
    def headline(self) -> str:
        """What is seen, in short."""
        found = [f"{name} {percent(self.share(name, 1.0))}" for name in self.ratios]
        return f"{self.title}, fastest: {', '.join(found)}"

    @property
    def sentence(self) -> str:
        """What is seen, with its numbers."""
        found = [
            f"{name} was fastest on {percent(self.share(name, 1.0))}, within a factor of 10 on "
            f"{percent(self.share(name, 10.0))}, and solved {percent(self.share(name))}"
            for name in self.ratios
        ]
        return f"Of the {self.instances:,} instances of {self.title}: {'; '.join(found)}."

    def to_dict(self) -> dict[str, Any]:
        """The table: the share of each solver by the factor, and the share that it solved."""
        return {
            name: {
                "factors": {f"{each:g}": self.share(name, each) for each in FACTORS},
                "solved": self.share(name),
            }
            for name in self.ratios
        }


@dataclass(frozen=True)
class StudyProfiles:
    """Performance profiles of sets of one's own, one for each set: figure (j)."""

    sets: tuple[ProfileData, ...]

    def __bool__(self) -> bool:
        return bool(self.sets)

    @property
    def headline(self) -> str:
        """What is seen, in short."""
        if len(self.sets) == 1:
            return self.sets[0].headline
        return "Instances solved within a factor of the fastest solver"

    @property
    def sentence(self) -> str:
        """What is seen, with its numbers."""
        return " ".join(each.sentence for each in self.sets)


def profile_of(title: str, times: Mapping[str, Sequence[float | None]]) -> ProfileData:
    """Profiles from times.

    Parameters
    ----------
    title
        What the instances are.
    times
        Per solver the time on each instance, in the same order; None where it was not solved.

    Examples
    --------
    >>> data = profile_of("two", {"a": [1.0, 3.0], "b": [2.0, None]})
    >>> data.ratios
    {'a': (1.0, 1.0), 'b': (2.0,)}
    """
    best = [
        min((each for each in on if each is not None), default=None)
        for on in zip(*times.values(), strict=True)
    ]
    ratios = {
        name: tuple(
            sorted(
                mine / least
                for mine, least in zip(own, best, strict=True)
                if mine is not None and least is not None
            )
        )
        for name, own in times.items()
    }
    return ProfileData(title, ratios, len(best))


def study_profiles(rows: Iterable[Row]) -> StudyProfiles:
    """The profiles of all sets that are not coreplan's, on the instances that all solvers ran."""
    rows = list(rows)
    found = []
    for name in dict.fromkeys(row.set for row in rows if row.set not in TEST_SETS):
        solves = Solves(rows, name)
        variants = solves.variants()
        shared = [each for each in solves.instances if all(each in solves[v] for v in variants)]
        times = {str(v): [counted_seconds(solves[v][each]) for each in shared] for v in variants}
        data = profile_of(name, times)
        if data:
            found.append(data)
    return StudyProfiles(tuple(found))


def draw_profile(data: ProfileData, ax: Axes, names: Sequence[str] = ()) -> None:
    """Draw a staircase for each solver; the factor to the right, the share of instances up.

    Parameters
    ----------
    data, ax
        The profiles, and where to draw them.
    names
        The solvers of all panels of a figure: each has the same colour in all of them.
    """
    places = {name: k for k, name in enumerate(names or data.ratios)}
    largest = max((each for ratios in data.ratios.values() for each in ratios), default=1.0)
    end = max(2.0, 1.3 * largest)
    for name, ratios in data.ratios.items():
        k = places[name]
        xs, ys = [1.0], [100 * data.share(name, 1.0)]
        for position, ratio in enumerate(ratios, start=1):
            if ratio > 1.0:
                xs.append(ratio)
                ys.append(100 * position / data.instances)
        ax.plot(
            [*xs, end],
            [*ys, ys[-1]],
            drawstyle="steps-post",
            color=COLOURS[k % len(COLOURS)],
            linestyle=DASHES[k // len(COLOURS) % len(DASHES)],
            label=name,
        )
    log_axis(ax, "x")
    # Whole numbers, few of them: powers of ten lie outside a short axis.
    ticks = [each for each in (1, 2, 5, 10, 30, 100, 1e3, 1e4, 1e5, 1e6) if each <= end]
    ticks = [each for each in ticks if end < 40 or each not in (2, 5, 30)]
    ax.set_xticks(ticks, [factor(each) if each > 1 else "1" for each in ticks])
    ax.set_xlim(1.0, end)
    ax.set_ylim(0, 103)
    ax.set_xlabel("time, as a factor of the fastest solver's")
    ax.set_title(f"{data.title} (n = {data.instances:,})")
