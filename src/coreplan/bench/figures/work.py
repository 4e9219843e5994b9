"""Figure (b): the number of joint actions that the algorithms evaluate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coreplan.bench.figures.numbers import factor, geometric_mean, listing
from coreplan.bench.figures.style import point_style, scatter
from coreplan.bench.store import Row
from coreplan.bench.variants import MEMO, Solves, Variant, with_expected_bounds
from coreplan.view.words import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACTIONS = "joint_actions_evaluated"
CELLS = "kernel_cells"
PLAIN = (("merge", False),)


@dataclass(frozen=True)
class WorkSeries:
    """The counts of one algorithm on the instances that it solved.

    Attributes
    ----------
    variant
        The variant of the algorithm.
    measure
        The unit: ``joint actions``, or ``kernel cells`` of `core`.
    places
        Per solve: the instance's place in the order of all.
    counts
        Per solve: its count.
    """

    variant: Variant
    measure: str
    places: tuple[int, ...]
    counts: tuple[float, ...]

    @property
    def label(self) -> str:
        """The text in a legend."""
        own = self.variant.algorithm == "core"
        return f"{self.variant}: {self.measure}" if own else str(self.variant)


@dataclass(frozen=True)
class Reduction:
    """The reduction of one algorithm's count against another's, on instances both solved.

    Attributes
    ----------
    fewer, more
        The algorithms.
    ratio
        Geometric mean of the count of `more` divided by that of `fewer`.
    share
        The share of the instances on which `fewer` has the smaller count.
    n
        Number of instances that both solved.
    """

    fewer: Variant
    more: Variant
    ratio: float
    share: float
    n: int

    @property
    def amount(self) -> str:
        """The reduction, or the increase, as text."""
        if self.ratio < 1:
            return f"{factor(1 / self.ratio)} times more"
        return f"{factor(self.ratio)} times fewer"

    def __str__(self) -> str:
        return f"{self.fewer} {self.amount} than {self.more} (n = {self.n:,})"


@dataclass(frozen=True)
class WorkData:
    """Counts of work on one test set, without and with memory.

    Attributes
    ----------
    set
        The test set's name.
    instances
        Number of instances that have a place.
    by_dp
        Number of instances that DP solved: these come first, ordered by DP's joint actions; the
        others are ordered by CRG-PS's or, if it also failed, by CoRe's.
    plain, memo
        The two panels: searches as published, and those that remember joint states.
    reductions
        The reductions.
    """

    set: str
    instances: int
    by_dp: int
    plain: tuple[WorkSeries, ...]
    memo: tuple[WorkSeries, ...]
    reductions: tuple[Reduction, ...]

    def __bool__(self) -> bool:
        return any(series.variant.algorithm != "core" for series in self.plain + self.memo)

    def reduction(self, fewer: Variant, more: Variant) -> Reduction | None:
        """The reduction of one variant against another."""
        pairs = {(each.fewer, each.more): each for each in self.reductions}
        return pairs.get((fewer, more))

    @property
    def order(self) -> str:
        """The order of the instances, as text."""
        text = "instances ordered by DP's joint actions"
        if self.by_dp < self.instances:
            text += "; behind the line those that DP did not solve, by CRG-PS's or CoRe's"
        return text

    @property
    def headline(self) -> str:
        """What is seen, in short."""
        dp, *searches = (Variant(name, PLAIN) for name in ("dp", "crg-ps", "core-2016"))
        saved = [(each, self.reduction(each, dp)) for each in searches]
        found = [f"{v} {r.amount}" for v, r in saved if r is not None]
        if not found:
            return "Joint actions evaluated"
        return f"Joint actions, against DP: {listing(found)}"

    @property
    def sentence(self) -> str:
        """What is seen, with its numbers."""
        text = f"Joint actions evaluated on {count(self.instances, 'instance')} of {self.set}"
        if self.reductions:
            text += f": {'; '.join(map(str, self.reductions))} (geometric means)"
        text += f". Solved instances only; {self.order}."
        cells = [each for each in self.plain if each.measure == "kernel cells"]
        if cells:
            text += (
                " `core` counts cells of dense tables, which are neither states nor actions, and "
                "the joint actions of its search, which is often not needed at all: solves with a "
                "count of 0 are not drawn."
            )
        return text


def work_data(rows: Iterable[Row], name: str = "mpp") -> WorkData:
    """Joint actions evaluated by DP, CRG-PS and CoRe on unmerged states, and what `core` counts."""
    solves = Solves(rows, name)
    dp, core = Variant("dp", PLAIN), Variant("core")
    plain, memo = (
        [
            dp,
            Variant("crg-ps", options),
            Variant("core-2016", options),
            Variant("core-2016", with_expected_bounds(options)),
        ]
        for options in (PLAIN, MEMO)
    )
    counts = {each: _counts(solves, each, ACTIONS) for each in {*plain, *memo}}
    places = _order([counts[each] for each in (*plain, *memo[1:])])
    own = [
        _series(core, measure, _counts(solves, core, key), places)
        for measure, key in (("kernel cells", CELLS), ("joint actions", ACTIONS))
    ]

    def panel(variants: Sequence[Variant]) -> tuple[WorkSeries, ...]:
        series = [_series(each, "joint actions", counts[each], places) for each in variants]
        return tuple(each for each in series + own if each.places)

    pairs = [
        (fewer, more)
        for group in (plain, memo)
        for more, fewer in (
            (group[0], group[1]),
            *((before, own) for own in group[2:] for before in (group[1], group[0])),
        )
    ]
    found = [_reduce(fewer, more, counts[fewer], counts[more]) for fewer, more in pairs]
    return WorkData(
        name,
        len(places),
        len(counts[dp]),
        panel(plain),
        panel(memo),
        tuple(each for each in found if each is not None),
    )


def _counts(solves: Solves, variant: Variant, key: str) -> dict[str, float]:
    """The counts of a variant on each instance that it solved; counts of 0 are not drawn."""
    found = {
        digest: float((row.result or {}).get("statistics", {}).get(key, 0))
        for digest, row in solves.solved(variant).items()
    }
    return {digest: number for digest, number in found.items() if number > 0}


def _order(counts: Sequence[Mapping[str, float]]) -> dict[str, int]:
    """Instances by the first list, then those that it lacks by the second, and so on."""
    places: dict[str, int] = {}
    for numbers in counts:
        for digest in sorted(set(numbers) - set(places), key=lambda each: (numbers[each], each)):
            places[digest] = len(places)
    return places


def _series(
    variant: Variant, measure: str, counts: Mapping[str, float], places: Mapping[str, int]
) -> WorkSeries:
    shown = sorted((places[digest], counts[digest]) for digest in counts if digest in places)
    return WorkSeries(
        variant, measure, tuple(place for place, _ in shown), tuple(number for _, number in shown)
    )


def _reduce(
    fewer: Variant, more: Variant, few: Mapping[str, float], many: Mapping[str, float]
) -> Reduction | None:
    both = [digest for digest in many if digest in few]
    ratio = geometric_mean(many[digest] / few[digest] for digest in both)
    if ratio is None:
        return None
    share = sum(few[digest] < many[digest] for digest in both) / len(both)
    return Reduction(fewer, more, ratio, share, len(both))


def draw_work(data: WorkData, series: Sequence[WorkSeries], ax: Axes) -> None:
    """Draw one panel: `data.plain` or `data.memo`."""
    for each in series:
        style = point_style(each.variant) | {"label": each.label}
        if each.variant.algorithm == "core" and each.measure == "joint actions":
            style |= {"marker": "+", "markersize": 5}
        elif each.variant.algorithm == "core":
            style |= {"markerfacecolor": "none", "markersize": 2.6}
        scatter(ax, each.places, each.counts, **style)
    if 0 < data.by_dp < data.instances:
        ax.axvline(data.by_dp - 0.5, color="0.6", linewidth=0.8, linestyle="--")
    ax.set_yscale("log")
    ax.set_xlim(-1, data.instances)
    ax.set_xlabel(f"{data.set} instances, by DP's joint actions")
    ax.set_ylabel("joint actions evaluated\n(core: its own counts)")
