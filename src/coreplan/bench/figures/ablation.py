"""Figure (h): the gain of each idea of `core`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coreplan.bench.figures.numbers import factor, geometric_mean
from coreplan.bench.figures.style import log_axis
from coreplan.bench.figures.work import CELLS
from coreplan.bench.store import Row
from coreplan.bench.variants import Solves, Variant

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHORTEST = 1e-3
"""Seconds; shorter solves count as this long, since smaller differences are chance."""

MEASURES = ("seconds", "table cells", "joint states")
_MARKS = {
    "seconds": ("o", "#222222"),
    "table cells": ("s", "#4477AA"),
    "joint states": ("^", "#EE6677"),
}


@dataclass(frozen=True)
class IdeaWorth:
    """The effect on `core` of leaving out one of its ideas.

    Attributes
    ----------
    idea
        The option that switches it off.
    n
        Number of instances that both solved: with the idea and without.
    ratios
        Geometric means, without it divided by with it, of seconds, table cells and joint states
        expanded. One is added to all counts: then 0 has a ratio.
    only_with, only_without
        Instances that were solved only with it, and only without it.
    """

    idea: str
    n: int
    ratios: dict[str, float]
    only_with: int
    only_without: int

    def __str__(self) -> str:
        found = ", ".join(f"{factor(ratio)} × {name}" for name, ratio in self.ratios.items())
        text = f"`{self.idea}` {found or 'not comparable'} (n = {self.n:,}"
        if self.only_with:
            text += f", {self.only_with:,} not solved without it"
        if self.only_without:
            text += f", {self.only_without:,} solved only without it"
        return text + ")"


@dataclass(frozen=True)
class AblationData:
    """The gains of the ideas, the most valuable first."""

    ideas: tuple[IdeaWorth, ...]
    sets: tuple[str, ...]

    def __bool__(self) -> bool:
        return any(idea.ratios for idea in self.ideas)

    @property
    def headline(self) -> str:
        """What is seen, in short."""
        first = next(idea for idea in self.ideas if idea.ratios)
        return f"Without {first.idea}, core takes {factor(first.ratios['seconds'])} times as long"

    @property
    def sentence(self) -> str:
        """What is seen, with its numbers."""
        return (
            f"`core` without one of its ideas, relative to all of it, on {', '.join(self.sets)} "
            f"(geometric means over instances solved by both; solves under {SHORTEST:g} s count as "
            f"that long): " + "; ".join(map(str, self.ideas)) + "."
        )


def ablation_data(rows: Iterable[Row]) -> AblationData:
    """Compare `core` with itself, one idea switched off at a time."""
    solves = Solves(rows)
    everything = solves[Variant("core")]
    found = []
    sets: dict[str, None] = {}
    for variant in solves.variants("core"):
        if variant.without is None:
            continue
        pairs = [(row, everything[d]) for d, row in solves[variant].items() if d in everything]
        both = [(off, on) for off, on in pairs if off.solved and on.solved]
        sets |= dict.fromkeys(on.set for _, on in pairs)
        ratios = {}
        for measure in MEASURES:
            ratio = geometric_mean(
                _measure(off, measure) / _measure(on, measure) for off, on in both
            )
            if ratio is not None:
                ratios[measure] = ratio
        found.append(
            IdeaWorth(
                variant.without,
                len(both),
                ratios,
                sum(on.solved and not off.solved for off, on in pairs),
                sum(off.solved and not on.solved for off, on in pairs),
            )
        )
    found.sort(key=lambda idea: -idea.ratios.get("seconds", 0))
    return AblationData(tuple(found), tuple(sets))


def _measure(row: Row, measure: str) -> float:
    if measure == "seconds":
        return max(row.seconds, SHORTEST)
    key = CELLS if measure == "table cells" else "joint_states_expanded"
    return 1 + float((row.result or {}).get("statistics", {}).get(key, 0))


def draw_ablation(data: AblationData, ax: Axes) -> None:
    """Draw the ratios of each idea on a log scale; 1 means that it makes no difference."""
    shown = [idea for idea in data.ideas if idea.ratios]
    for measure in MEASURES:
        mark, colour = _MARKS[measure]
        ax.plot(
            [idea.ratios[measure] for idea in shown],
            range(len(shown)),
            linestyle="none",
            marker=mark,
            color=colour,
            markerfacecolor=colour if measure == "seconds" else "white",
            markersize=6,
            label=measure,
        )
    ax.axvline(1, color="0.5", linewidth=0.9)
    log_axis(ax, "x")
    low, high = ax.get_xlim()
    ax.set_xlim(min(low, 0.5), max(high, 4))
    ax.set_ylim(-0.6, len(shown) - 0.4)
    ax.set_yticks(
        range(len(shown)),
        [
            f"no {idea.idea} (n = {idea.n}"
            + (f", {idea.only_with} unsolved)" if idea.only_with else ")")
            for idea in shown
        ],
    )
    ax.invert_yaxis()
    ax.set_xlabel("times as much as with all ideas (geometric mean; to the right: the idea helps)")
    ax.legend(loc="lower right")
