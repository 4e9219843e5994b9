"""Figure (f): time against the number of agents."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coreplan.bench.figures.runtime import SHORTEST
from coreplan.bench.figures.solved import Share
from coreplan.bench.figures.style import line_style, log_axis, scatter
from coreplan.bench.store import Row, unit_of_time
from coreplan.bench.variants import Solves, Variant

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SETS = ("mpp", "pyra", "large")
"""The sets whose instances differ in the number of agents."""


@dataclass(frozen=True)
class TimesOfTeams:
    """The times that one algorithm took for teams of one size.

    Attributes
    ----------
    agents
        Number of agents.
    seconds
        Per instance, in ascending order; at the time limit for those that were not solved.
    solved
        Number of solved instances, and of all.
    """

    agents: int
    seconds: tuple[float, ...]
    solved: Share

    @property
    def median(self) -> float | None:
        """The median time; None if it is that of a solve that failed."""
        return statistics.median(self.seconds) if self.solved.value > 0.5 else None


@dataclass(frozen=True)
class ScalingSeries:
    """Times of one algorithm on one test set, by the number of agents."""

    variant: Variant
    teams: tuple[TimesOfTeams, ...]

    @property
    def reach(self) -> int:
        """The largest team of which more than half were solved; 0 for none."""
        return max((team.agents for team in self.teams if team.median is not None), default=0)


@dataclass(frozen=True)
class ScalingData:
    """Times on one test set.

    Attributes
    ----------
    set
        The test set's name.
    series
        Per algorithm, in the order of legends.
    limits
        The time limits, in seconds.
    unit
        The unit of all times.
    """

    set: str
    series: tuple[ScalingSeries, ...]
    limits: tuple[float, ...]
    unit: str

    def __bool__(self) -> bool:
        sizes = {team.agents for each in self.series for team in each.teams}
        return len(sizes) > 1 and any(each.reach for each in self.series)

    @property
    def sentence(self) -> str:
        """What is seen, with its numbers."""
        found = []
        for each in self.series:
            if not each.reach:
                found.append(f"{each.variant} none")
                continue
            team = next(team for team in each.teams if team.agents == each.reach)
            found.append(f"{each.variant} {each.reach} (median {team.median:.2g} s)")
        return (
            f"The largest teams of {self.set} of which more than half were solved: "
            + ", ".join(found)
            + "."
        )


def scaling_data(rows: Iterable[Row], name: str) -> ScalingData:
    """Times by the number of agents, on one test set."""
    solves = Solves(rows, name)
    series = []
    for variant in solves.main():
        teams: dict[int, list[Row]] = {}
        for row in solves[variant].values():
            teams.setdefault(int(row.parameters["agents"]), []).append(row)
        series.append(
            ScalingSeries(variant, tuple(_times(each, teams[each]) for each in sorted(teams)))
        )
    chosen = [row for variant in solves.main() for row in solves[variant].values()]
    limits = {row.time_limit for row in chosen}
    return ScalingData(name, tuple(series), tuple(sorted(limits)), unit_of_time(chosen))


def _times(agents: int, rows: list[Row]) -> TimesOfTeams:
    seconds = [max(row.seconds, SHORTEST) if row.solved else row.time_limit for row in rows]
    solved = Share(sum(row.solved for row in rows), len(rows))
    return TimesOfTeams(agents, tuple(sorted(seconds)), solved)


def draw_scaling(data: ScalingData, ax: Axes) -> None:
    """Draw medians as lines, and the range from the fastest to the slowest as thin bars.

    The line ends if not more than half were solved; a mark at the limit shows this.
    """
    sizes = sorted({team.agents for each in data.series for team in each.teams})
    count = len(data.series)
    for k, each in enumerate(data.series):
        style = line_style(each.variant)
        shift = 1 + 0.025 * (k - (count - 1) / 2)  # side by side, on a log scale
        shown = [team for team in each.teams if team.median is not None]
        ax.plot(
            [team.agents * shift for team in shown], [team.median or 0 for team in shown], **style
        )
        for team in each.teams:
            ax.plot(
                [team.agents * shift] * 2,
                [team.seconds[0], team.seconds[-1]],
                color=style["color"],
                linewidth=0.7,
                alpha=0.6,
            )
        failed = [team for team in each.teams if team.median is None]
        scatter(
            ax,
            [team.agents * shift for team in failed],
            [team.seconds[-1] for team in failed],
            color=style["color"],
            marker="v",
            markersize=4.5,
        )
    ax.set_xscale("log")
    log_axis(ax, "y")
    ax.set_xticks(_apart(sizes), map(str, _apart(sizes)))
    ax.set_xticks([], minor=True)
    ax.set_xlabel("agents")
    ax.set_title(data.set)


def _apart(sizes: list[int]) -> list[int]:
    """Numbers that fit next to each other on a log scale."""
    shown: list[int] = []
    least = (sizes[-1] / sizes[0]) ** (1 / 11)
    for size in sizes:
        if not shown or size >= shown[-1] * least:
            shown.append(size)
    return shown
