"""Figure (a): the loss if each agent sees only its own state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coreplan.bench.figures.numbers import listing, percent
from coreplan.bench.figures.style import SET_COLOURS, thinned
from coreplan.bench.store import Row
from coreplan.bench.variants import Solves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SETS = ("rand3", "rand4", "rand5", "coordint")
"""The sets that the paper compares on."""

EQUAL = 1e-9
"""Values count as equal if they differ by at most this part of them."""


@dataclass(frozen=True)
class SetRatios:
    """Ratios of decentralised to centralised value on one test set; 1 means no loss.

    Attributes
    ----------
    set
        The test set's name.
    ratios
        In ascending order: V_dec / V_mmdp where both are positive, C_mmdp / C_dec where both are
        costs.
    costs
        Number of ratios that are of costs.
    unproven
        Instances with one of the two values not proven.
    undefined
        Instances with one positive value and another that is not: they have no ratio.
    """

    set: str
    ratios: tuple[float, ...]
    costs: int
    unproven: int = 0
    undefined: int = 0

    @property
    def equal(self) -> float:
        """The share of instances without a loss."""
        return sum(ratio >= 1 - EQUAL for ratio in self.ratios) / len(self.ratios)

    @property
    def mean_loss(self) -> float:
        """The mean of 1 - ratio."""
        return 1 - sum(self.ratios) / len(self.ratios)

    @property
    def worst_loss(self) -> float:
        """The largest 1 - ratio."""
        return 1 - self.ratios[0]

    @property
    def quotient(self) -> str:
        """The quotient, as text."""
        if self.costs == len(self.ratios):
            return "C_mmdp / C_dec (all are costs)"
        if self.costs == 0:
            return "V_dec / V_mmdp (all are positive)"
        return "V_dec / V_mmdp, of costs C_mmdp / C_dec"

    def __str__(self) -> str:
        return (
            f"{self.set}: {percent(self.equal)} equal, mean loss {percent(self.mean_loss)}, "
            f"worst {percent(self.worst_loss)}, n = {len(self.ratios):,}"
        )


@dataclass(frozen=True)
class DecentralisedData:
    """The ratios of all sets that have any."""

    sets: tuple[SetRatios, ...]

    def __bool__(self) -> bool:
        return bool(self.sets)

    @property
    def quotient(self) -> str:
        """The quotient of all sets, as text."""
        kinds = {each.quotient for each in self.sets}
        return kinds.pop() if len(kinds) == 1 else "V_dec / V_mmdp, of costs C_mmdp / C_dec"

    @property
    def headline(self) -> str:
        """What is seen, in short."""
        random = [r for each in self.sets if each.set.startswith("rand") for r in each.ratios]
        apart = [each for each in self.sets if each.set == "coordint"]
        parts = []
        if random:
            equal = sum(ratio >= 1 - EQUAL for ratio in random) / len(random)
            parts.append(f"no loss on {percent(equal)} of rand")
        if apart:
            parts.append(f"{percent(apart[0].mean_loss)} mean loss on coordint")
        return f"Decentralised plans: {listing(parts)}"

    @property
    def sentence(self) -> str:
        """What is seen, with its numbers."""
        text = f"The ratio is {self.quotient}; 1 means that nothing is lost. "
        text += "; ".join(map(str, self.sets)) + "."
        unproven = sum(each.unproven for each in self.sets)
        undefined = sum(each.undefined for each in self.sets)
        if unproven:
            text += f" Left out, since one of the two values is not proven: {unproven:,}."
        if undefined:
            text += f" Left out, since the two values have no ratio: {undefined:,}."
        return text


def decentralised_data(rows: Iterable[Row]) -> DecentralisedData:
    """Ratios of decentralised to centralised value, of instances with both values proven."""
    found = []
    rows = list(rows)
    for name in SETS:
        solves = Solves(rows, name)
        apart: dict[str, Row] = {}
        central: dict[str, float] = {}
        tried: set[str] = set()
        for variant in solves.variants():
            if variant.algorithm == "dec-mdp":
                apart |= solves[variant]
            else:
                tried |= set(solves[variant])
                for digest, row in solves.solved(variant).items():
                    if row.value is not None:
                        central[digest] = row.value
        ratios = []
        costs = unproven = undefined = 0
        for digest, row in apart.items():
            if digest not in tried:
                continue  # the run did not ask for it
            if digest not in central or not row.solved or row.value is None:
                unproven += 1
                continue
            low, high = row.value, central[digest]
            if low < 0 and high < 0:
                ratios.append(high / low)
                costs += 1
            elif low > 0 and high > 0:
                ratios.append(low / high)
            elif low == high:
                ratios.append(1.0)
            else:
                undefined += 1
        if ratios:
            found.append(SetRatios(name, tuple(sorted(ratios)), costs, unproven, undefined))
    return DecentralisedData(tuple(found))


def draw_decentralised(data: DecentralisedData, ax: Axes) -> None:
    """Draw the sorted ratios of each set as a line."""
    for each in data.sets:
        count = len(each.ratios)
        places = [100 * (k + 0.5) / count for k in range(count)]
        xs, ys = thinned(places, each.ratios)
        label = (
            f"{each.set} (n = {count:,}): {percent(each.equal)} equal,\n"
            f"loss {percent(each.mean_loss)} mean, {percent(each.worst_loss)} worst"
        )
        ax.plot(xs, ys, color=SET_COLOURS.get(each.set, "0.4"), label=label, linewidth=1.8)
    worst = max(each.worst_loss for each in data.sets)
    # Room for the legend below small losses.
    depth = next(d for d in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if d >= min(1.6 * worst, 1))
    ax.axhline(1, color="0.6", linewidth=0.8, zorder=0)
    ax.set_xlim(0, 100)
    ax.set_ylim(1 - depth, 1 + 0.04 * depth)
    ax.set_xlabel("instances, worst first (%)")
    ax.legend(loc="lower right")
