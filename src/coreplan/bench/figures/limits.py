"""Figure (i): the share of instances solved, against the time limit."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coreplan.bench.figures.numbers import percent
from coreplan.bench.figures.style import line_style, log_axis
from coreplan.bench.store import Row, unit_of_time
from coreplan.bench.variants import Solves, Variant, headliners

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHORTEST, LONGEST = 0.01, 1800.0
"""The time limits that are shown, in seconds; the longest one is the paper's."""

POINTS = 60
"""Most time limits at which a share is drawn."""

SETS_BY_AGENTS, OTHER_SETS = ("mpp",), ("pyra",)
"""Sets with a panel for each number of agents, and sets with one panel."""


@dataclass(frozen=True)
class LimitCurve:
    """The share of instances that one algorithm solves, by the time limit.

    Attributes
    ----------
    variant
        The variant of the algorithm.
    n
        Number of instances.
    seconds
        The times of the solved instances, in ascending order; none is above `limit`.
    limit
        The longest time limit that is known: the shortest limit of a solve that failed. Without
        failures, the longest limit of all.
    """

    variant: Variant
    n: int
    seconds: tuple[float, ...]
    limit: float

    def share(self, limit: float) -> float:
        """The share that is solved within a time limit."""
        return bisect_right(self.seconds, limit) / self.n

    @property
    def half(self) -> float | None:
        """The shortest time limit within which half of the instances are solved."""
        needed = math.ceil(self.n / 2)
        return self.seconds[needed - 1] if len(self.seconds) >= needed else None

    @property
    def points(self) -> list[tuple[float, float]]:
        """Time limits and shares: where the share changes, and at both ends."""
        last = max(self.limit, SHORTEST)
        steps = [SHORTEST, *(time for time in self.seconds if time > SHORTEST)]
        if len(steps) > POINTS:  # too many for a small file
            ratio = max(last, LONGEST) / SHORTEST
            steps = [SHORTEST * ratio ** (k / (POINTS - 1)) for k in range(POINTS)]
        times = [*(time for time in steps if time < last), last]
        shown = [(time, self.share(time)) for time in times]
        inner = [now for before, now in itertools.pairwise(shown[:-1]) if before[1] != now[1]]
        return [shown[0], *inner, shown[-1]] if len(shown) > 1 else shown


@dataclass(frozen=True)
class LimitPanel:
    """The curves of one test set, or of its instances with one number of agents.

    Attributes
    ----------
    title
        The set and, where it is divided, the number of agents.
    n
        Number of instances: those that all algorithms of the panel were run on.
    curves
        A curve per algorithm, in the order of legends.
    """

    title: str
    n: int
    curves: tuple[LimitCurve, ...]

    @property
    def sentence(self) -> str:
        """The shares of each algorithm as published, with numbers."""
        shown = [each for each in self.curves if each.variant.is_published] or self.curves
        return f"{self.title} (n = {self.n:,}): " + ", ".join(map(_say, shown))


def _say(curve: LimitCurve) -> str:
    shares = {min(limit, curve.limit): 0.0 for limit in (1.0, curve.limit)}
    for limit in shares:
        shares[limit] = curve.share(limit)
        if shares[limit] == 1:
            return f"{curve.variant} all within {limit:,g} s"
    found = [f"{percent(share)} within {limit:,g} s" for limit, share in shares.items()]
    return f"{curve.variant} {' and '.join(found)}"


@dataclass(frozen=True)
class LimitData:
    """The share of instances solved against the time limit, per panel.

    Attributes
    ----------
    panels
        The panels.
    unit
        The unit of the limits.
    """

    panels: tuple[LimitPanel, ...]
    unit: str

    def __bool__(self) -> bool:
        return bool(self.panels)

    @property
    def headline(self) -> str:
        """What is seen, in short."""
        shown = [each for each in self.panels if each.title.startswith(SETS_BY_AGENTS)]
        panel = (shown or self.panels)[-1]
        compared = ("spudd", "core-2016", "core")
        curves = {e.variant: e for e in panel.curves if e.variant.algorithm in compared}
        curves = curves or {each.variant: each for each in panel.curves}
        found = []
        for variant in headliners(curves):
            half = curves[variant].half
            time = f"> {curves[variant].limit:,g} s" if half is None else f"{half:.2g} s"
            found.append(f"{variant.short} {time}")
        return f"Limit for half of {panel.title}: {', '.join(found)}"

    @property
    def sentence(self) -> str:
        """What is seen, with its numbers."""
        return (
            "Share of instances solved within a time limit; a mark shows the limit that a line was "
            "run with. Instances that all lines of a panel were run on. "
            + ". ".join(panel.sentence for panel in self.panels)
            + "."
        )


def limit_data(rows: Iterable[Row]) -> LimitData:
    """Shares of instances of mpp, by team size, and of pyra that are solved, by time limit."""
    rows = [row for row in rows if row.set in (*SETS_BY_AGENTS, *OTHER_SETS)]
    panels = []
    for name in SETS_BY_AGENTS:
        solves = Solves(rows, name)
        for agents in sorted({int(row.parameters["agents"]) for row in solves}):
            chosen = [row for row in solves if int(row.parameters["agents"]) == agents]
            panels.append(_panel(f"{name}, {agents} agents", Solves(chosen)))
    panels += [_panel(name, Solves(rows, name)) for name in OTHER_SETS]
    return LimitData(tuple(each for each in panels if each.curves), unit_of_time(rows))


def _panel(title: str, solves: Solves) -> LimitPanel:
    by_variant = {variant: solves[variant] for variant in solves.main()}
    common = set.intersection(*map(set, by_variant.values())) if by_variant else set()
    curves = [_curve(variant, by_variant[variant], common) for variant in by_variant if common]
    return LimitPanel(title, len(common), tuple(curves))


def _curve(variant: Variant, solves: Mapping[str, Row], common: set[str]) -> LimitCurve:
    chosen = [row for digest, row in solves.items() if digest in common]
    failed = [row.time_limit for row in chosen if not row.solved]
    limit = min(failed) if failed else max(row.time_limit for row in chosen)
    # A solver may end a little after its limit, with a proof.
    seconds = (min(row.seconds, row.time_limit) for row in chosen if row.solved)
    known = sorted(each for each in seconds if each <= limit)
    return LimitCurve(variant, len(chosen), tuple(known), limit)


def draw_limits(panel: LimitPanel, ax: Axes) -> None:
    """Draw a line per algorithm, with a mark at the limit that it was run with."""
    for curve in panel.curves:
        style = line_style(curve.variant)
        times, shares = zip(*curve.points, strict=True)
        ax.plot(
            times,
            [100 * share for share in shares],
            drawstyle="steps-post",
            markevery=[len(times) - 1],
            clip_on=False,
            **style,
        )
    log_axis(ax, "x")
    ax.set_xlim(SHORTEST, max(LONGEST, *(curve.limit for curve in panel.curves)))
    ax.set_xticks([0.01, 0.1, 1, 10, 100, 1000])
    ax.set_ylim(0, 103)
    ax.set_title(f"{panel.title} (n = {panel.n:,})")
