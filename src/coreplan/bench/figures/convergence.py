"""Figure (g): the gap of `core` against time, on large teams."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coreplan.bench.figures.numbers import listing, percent
from coreplan.bench.figures.style import label_ends, log_axis
from coreplan.bench.store import Row, unit_of_time
from coreplan.bench.variants import Solves, Variant, variant_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALLEST = 1e-9
"""A smaller relative gap counts as none."""

POINTS = 80
"""Times at which gaps are read."""

SET = "large"
"""The test set that is shown."""


@dataclass(frozen=True)
class GapLine:
    r"""The gap of teams of one size over time.

    Attributes
    ----------
    agents
        Number of agents.
    contention
        Amount of interaction between agents: the test set's word, or an empty text.
    seconds
        Times, in ascending order.
    gaps
        At each of them the median over the instances of (upper bound - value) / \|value\|;
        infinite before half of them have a plan.
    n
        Number of instances.
    solved
        Number of instances solved at the end.
    """

    agents: int
    contention: str
    seconds: tuple[float, ...]
    gaps: tuple[float, ...]
    n: int
    solved: int


@dataclass(frozen=True)
class ConvergenceData:
    """Gaps of `core` over time, on one test set; `unit` is that of the time."""

    set: str
    lines: tuple[GapLine, ...]
    unit: str

    def __bool__(self) -> bool:
        return bool(self.lines)

    @property
    def contentions(self) -> list[str]:
        """The values of contention."""
        return sorted({line.contention for line in self.lines}, reverse=True)

    @property
    def headline(self) -> str:
        """What is seen, in short."""
        most = max(line.agents for line in self.lines)
        ends = [
            f"{_say(line, False)}{f' ({line.contention} contention)' if line.contention else ''}"
            for contention in self.contentions
            for line in self.lines
            if line.agents == most and line.contention == contention
        ]
        return f"Last gap of core at {most} agents: {listing(ends)}"

    @property
    def sentence(self) -> str:
        """What is seen, with its numbers."""
        parts = []
        for contention in self.contentions:
            lines = [line for line in self.lines if line.contention == contention]
            ends = ", ".join(f"{line.agents} agents {_say(line)}" for line in lines)
            parts.append(f"{f'{contention} contention: ' if contention else ''}{ends}")
        return "Median gap when the time was up: " + "; ".join(parts) + "."


def _say(line: GapLine, with_n: bool = True) -> str:
    last = line.gaps[-1]
    n = f" (n = {line.n})" if with_n else ""
    if last <= SMALLEST:
        return f"0, proven{n}"
    return f"{percent(last) if math.isfinite(last) else 'no plan'}{n}"


def draws_progress_of(row: Row) -> bool:
    """Whether the figure shows the progress of a solve."""
    return row.set == SET and variant_of(row) == Variant("core")


def convergence_data(rows: Iterable[Row], name: str = SET) -> ConvergenceData:
    """Median gaps of `core` over time, per number of agents and contention."""
    groups: dict[tuple[str, int], list[Row]] = {}
    chosen = list(Solves(rows, name)[Variant("core")].values())
    for row in chosen:
        key = str(row.parameters.get("contention", "")), int(row.parameters["agents"])
        groups.setdefault(key, []).append(row)
    lines = [
        _line(agents, contention, groups[contention, agents])
        for contention, agents in sorted(groups)
    ]
    shown = tuple(line for line in lines if line is not None)
    return ConvergenceData(name, shown, unit_of_time(chosen))


def _line(agents: int, contention: str, rows: Sequence[Row]) -> GapLine | None:
    first = min((row.progress[0][0] for row in rows if row.progress), default=None)
    if first is None:
        return None
    last = max(row.seconds for row in rows)
    first = min(max(first, 1e-3), last)
    times = [first * (last / first) ** (k / (POINTS - 1)) for k in range(POINTS)]
    times[-1] = last
    gaps = [[_gap_at(row, time) for row in rows] for time in times]
    medians = tuple(statistics.median_high(each) for each in gaps)
    return GapLine(
        agents, contention, tuple(times), medians, len(rows), sum(row.solved for row in rows)
    )


def _gap_at(row: Row, time: float) -> float:
    """The relative gap at a time; infinite before the first one."""
    if row.result is not None and time >= row.seconds:
        lower, upper = float(row.result["value"]), float(row.result["upper_bound"])
    else:
        index = bisect_right(row.progress, (time, math.inf, math.inf)) - 1
        if index < 0:
            return math.inf
        _, lower, upper = row.progress[index]
    gap = upper - lower
    if not math.isfinite(gap):
        return math.inf
    if gap <= SMALLEST * max(1.0, abs(lower)):
        return 0.0
    return gap / abs(lower) if lower else math.inf


def draw_convergence(data: ConvergenceData, contention: str, ax: Axes) -> None:
    """Draw a line per number of agents, for one contention."""
    lines = [line for line in data.lines if line.contention == contention]
    positive = [
        gap for each in data.lines for gap in each.gaps if gap > SMALLEST and math.isfinite(gap)
    ]
    lowest = 10 ** math.floor(math.log10(100 * min(positive, default=1e-4)))
    highest = 10 ** math.ceil(math.log10(100 * max(positive, default=1)))
    lowest = max(lowest, 1e-4)
    ends = []
    for k, line in enumerate(lines):
        colour = _sequence(k / max(len(lines) - 1, 1))
        shown = [
            (second, max(100 * gap, lowest / 2))
            for second, gap in zip(line.seconds, line.gaps, strict=True)
            if math.isfinite(gap)
        ]
        if not shown:
            continue
        ax.plot(*zip(*shown, strict=True), color=colour, drawstyle="steps-post")
        text = f"{line.agents} agents"
        if line.gaps[-1] <= SMALLEST:
            proven = next(
                second
                for second, gap in zip(line.seconds, line.gaps, strict=True)
                if gap <= SMALLEST
            )
            ax.plot([proven], [lowest / 2], "o", color=colour, clip_on=False)
            text += f", proven at {proven:.2g} s"
        ends.append((shown[-1][1], text, colour))
    log_axis(ax, "x")
    log_axis(ax, "y")
    ax.set_ylim(lowest / 2, highest)
    ax.set_xlabel(f"time ({data.unit})")
    ax.set_title(f"{contention} contention" if contention else data.set)
    label_ends(ax, ends, log=True)


def _sequence(value: float) -> tuple[float, float, float]:
    """A colour from light orange (few) to dark purple (many)."""
    stops = ((0.91, 0.55, 0.08), (0.80, 0.28, 0.38), (0.27, 0.07, 0.42))
    place = value * (len(stops) - 1)
    k = min(int(place), len(stops) - 2)
    red, green, blue = (
        a + (place - k) * (b - a) for a, b in zip(stops[k], stops[k + 1], strict=True)
    )
    return red, green, blue
