"""Figure (d): runtimes compared with SPUDD's, on the instances that SPUDD solved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coreplan.bench.figures.numbers import factor, geometric_mean, listing, part, percent
from coreplan.bench.figures.solved import Share
from coreplan.bench.figures.style import AGENT_MARKS, colour_of, log_axis, scatter
from coreplan.bench.store import Row, unit_of_time
from coreplan.bench.variants import Solves, Variant, headliners
from coreplan.view.words import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHORTEST = 1e-4
"""Seconds; shorter times are drawn and compared as this."""


@dataclass(frozen=True)
class RuntimePoint:
    """One solve of an instance that SPUDD solved.

    Attributes
    ----------
    place
        The instance's place in the order of SPUDD's time.
    agents
        Number of agents.
    seconds
        Its time; the time limit if it failed.
    solved
        Whether it ended with a proof.
    """

    place: int
    agents: int
    seconds: float
    solved: bool


@dataclass(frozen=True)
class Rival:
    """An algorithm in comparison with SPUDD.

    Attributes
    ----------
    variant
        The variant of the algorithm.
    points
        Its solves of instances that SPUDD solved.
    failed
        Of the instances that SPUDD solved and it was run on: those it did not solve.
    spudd_failed
        Of the instances that it solved and SPUDD was run on: those SPUDD did not solve.
    faster
        Of the instances that both solved: those it solved faster.
    speed
        Geometric mean of SPUDD's time divided by its own, if both solved; None without such.
    """

    variant: Variant
    points: tuple[RuntimePoint, ...]
    failed: Share
    spudd_failed: Share
    faster: Share
    speed: float | None

    def __str__(self) -> str:
        text = (
            f"{self.variant} failed on {part(self.failed.solved, self.failed.run)} of the "
            f"instances that SPUDD solved, SPUDD on "
            f"{part(self.spudd_failed.solved, self.spudd_failed.run)} of those that "
            f"{self.variant} solved"
        )
        if self.speed is None:
            return text
        ratio = (
            f"{factor(self.speed)} times as fast"
            if self.speed >= 1
            else f"{factor(1 / self.speed)} times as slow"
        )
        return f"{text}; it was faster on {self.faster} of what both solved, {ratio} in the mean"


@dataclass(frozen=True)
class RuntimeData:
    """Runtimes on the instances that SPUDD solved.

    Attributes
    ----------
    set
        The test set's name.
    spudd
        The variant of SPUDD; None if it was not run.
    points
        SPUDD's solves, the fastest first.
    rivals
        The others.
    limits
        The time limits, in seconds.
    unit
        The unit of all times.
    """

    set: str
    spudd: Variant | None
    points: tuple[RuntimePoint, ...]
    rivals: tuple[Rival, ...]
    limits: tuple[float, ...]
    unit: str

    def __bool__(self) -> bool:
        return bool(self.points and self.rivals)

    def rival(self, variant: Variant | None) -> Rival | None:
        """The comparison of one algorithm."""
        return next((each for each in self.rivals if each.variant == variant), None)

    @property
    def headline(self) -> str:
        """What is seen, in short."""
        compared = {
            each.variant: each.faster
            for each in self.rivals
            if each.faster.run and each.variant.algorithm != "spudd"
        }
        found = [f"{v.short} on {percent(compared[v].value)}" for v in headliners(compared)]
        return f"Faster than SPUDD, of what both solved: {listing(found)}"

    @property
    def sentence(self) -> str:
        """What is seen, with its numbers."""
        text = f"{self.spudd} solved {count(len(self.points), 'instance')} of {self.set}. "
        return text + " ".join(f"{each}." for each in self.rivals)


def runtime_data(rows: Iterable[Row], name: str = "mpp") -> RuntimeData:
    """Runtimes of CoRe and `core` on instances that SPUDD solved, and the failures of each.

    SPUDD is the variant that counts as the paper's; its other reading is compared with it, too.
    """
    solves = Solves(rows, name)
    spudd = solves.published("spudd")
    known = solves.solved(spudd)
    ordered = sorted(known, key=lambda digest: (known[digest].seconds, digest))
    places = {digest: place for place, digest in enumerate(ordered)}
    others = [
        each
        for each in solves.main()
        if each.algorithm in ("core-2016", "core")
        or (each.algorithm == "spudd" and each.is_published and each != spudd)
    ]
    run = [row for each in solves.main() for row in solves[each].values()]
    return RuntimeData(
        name,
        spudd,
        tuple(_point(known[digest], places[digest]) for digest in ordered),
        tuple(_rival(solves, spudd, each, places) for each in others if spudd is not None),
        tuple(sorted({row.time_limit for row in run})),
        unit_of_time(run),
    )


def _point(row: Row, place: int) -> RuntimePoint:
    seconds = row.seconds if row.solved else row.time_limit
    return RuntimePoint(place, int(row.parameters["agents"]), max(seconds, SHORTEST), row.solved)


def _rival(solves: Solves, spudd: Variant, variant: Variant, places: dict[str, int]) -> Rival:
    own, theirs = solves[variant], solves[spudd]
    solved, known = solves.solved(variant), solves.solved(spudd)
    tried = [digest for digest in places if digest in own]
    asked = [digest for digest in solved if digest in theirs]
    both = [digest for digest in places if digest in solved]
    ratios = [max(known[d].seconds, SHORTEST) / max(own[d].seconds, SHORTEST) for d in both]
    return Rival(
        variant,
        tuple(_point(own[digest], places[digest]) for digest in tried),
        Share(sum(digest not in solved for digest in tried), len(tried)),
        Share(sum(digest not in known for digest in asked), len(asked)),
        Share(sum(ratio > 1 for ratio in ratios), len(ratios)),
        geometric_mean(ratios),
    )


def draw_runtime(data: RuntimeData, rival: Rival, ax: Axes) -> None:
    """Draw SPUDD's times and those of one algorithm; marks show the number of agents."""
    if data.spudd is None:
        return
    pairs = ((data.spudd, data.points), (rival.variant, rival.points))
    for variant, points in pairs:
        colour = colour_of(variant)
        ax.plot([], [], "s", color=colour, label=str(variant))
        for agents in sorted({point.agents for point in points}):
            chosen = [point for point in points if point.agents == agents and point.solved]
            mark = AGENT_MARKS.get(agents, "s")
            scatter(
                ax,
                [point.place for point in chosen],
                [point.seconds for point in chosen],
                color=colour,
                marker=mark,
                markerfacecolor="none",
            )
        failed = [point for point in points if not point.solved]
        scatter(
            ax,
            [point.place for point in failed],
            [point.seconds for point in failed],
            color=colour,
            marker="v",
            markersize=4.5,
        )
    for agents in sorted({point.agents for point in data.points}):
        mark = AGENT_MARKS.get(agents, "s")
        scatter(
            ax, [], [], color="0.4", marker=mark, markerfacecolor="none", label=f"{agents} agents"
        )
    if not all(point.solved for point in rival.points):
        ax.plot([], [], "v", color="0.4", label="not solved, at the limit")
    log_axis(ax, "y")
    ax.set_xlim(-1, len(data.points))
    ax.set_xlabel("solved by SPUDD, by its time")
    ax.set_ylabel(f"runtime ({data.unit})")
