"""Figures (c) and (e): the share of instances that were solved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coreplan.bench.figures.numbers import listing, part, percent
from coreplan.bench.figures.style import colour_of, line_style, shade
from coreplan.bench.store import Row
from coreplan.bench.variants import Solves, Variant, headliners

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Share:
    """Numbers of solved instances and of instances that were run."""

    solved: int
    run: int

    @property
    def value(self) -> float:
        """The share; unknown if no instance was run."""
        return self.solved / self.run if self.run else float("nan")

    def __str__(self) -> str:
        return part(self.solved, self.run)


@dataclass(frozen=True)
class SolvedData:
    """Solved instances of one test set, per variant, number of agents and horizon.

    Attributes
    ----------
    set
        The test set's name.
    variants
        The variants that were run, in the order of legends.
    agents, horizons
        The numbers of agents and of stages.
    shares
        Shares per variant, number of agents and horizon, of the combinations that were run.
    limits
        The time limits of the solves, in seconds.
    """

    set: str
    variants: tuple[Variant, ...]
    agents: tuple[int, ...]
    horizons: tuple[int, ...]
    shares: dict[tuple[Variant, int, int], Share]
    limits: tuple[float, ...]

    def __bool__(self) -> bool:
        return bool(self.shares)

    def share(
        self, variant: Variant | None, agents: int | None = None, horizon: int | None = None
    ) -> Share:
        """The share of all instances, or of those with this number of agents or stages."""
        chosen = [
            share
            for (each, a, h), share in self.shares.items()
            if each == variant and agents in (None, a) and horizon in (None, h)
        ]
        return Share(sum(each.solved for each in chosen), sum(each.run for each in chosen))

    def published(self, algorithm: str) -> Variant | None:
        """The first of an algorithm's variants."""
        return next((each for each in self.variants if each.algorithm == algorithm), None)

    @property
    def within(self) -> str:
        """The time limit in words."""
        return "within " + " or ".join(f"{limit:,g} s" for limit in self.limits)

    @property
    def headline(self) -> str:
        """What is seen, in short."""
        shown = [v for v in headliners(self.variants) if self.share(v, self.agents[-1]).run]
        found = [f"{v.short} {percent(self.share(v, self.agents[-1]).value)}" for v in shown]
        return f"{self.set}, {self.agents[-1]} agents, solved: {', '.join(found)}"

    @property
    def headline_of_reach(self) -> str:
        """What is seen of scaling, in short."""
        found = [f"{v.short} {self.most_agents(v)}" for v in headliners(self.variants)]
        return f"Agents of the largest team of {self.set} solved: {', '.join(found)}"

    def most_agents(self, variant: Variant | None) -> int:
        """The largest team of which any instance was solved; 0 if none was."""
        solved = [key for key, share in self.shares.items() if share.solved]
        return max((agents for each, agents, _ in solved if each == variant), default=0)

    @property
    def sentence(self) -> str:
        """What is seen, with its numbers."""
        lines = []
        for agents in self.agents:
            shares = {v: self.share(v, agents) for v in self.variants}
            shares = {v: share for v, share in shares.items() if share.run}
            runs = {share.run for share in shares.values()}
            if len(runs) == 1:
                found = ", ".join(f"{v} {percent(share.value)}" for v, share in shares.items())
                lines.append(f"{agents} agents (n = {runs.pop():,}): {found}")
            else:
                found = ", ".join(f"{v} {share}" for v, share in shares.items())
                lines.append(f"{agents} agents: {found}")
        what = f"Solved {self.within}, of the instances of {self.set} that were run"
        return f"{what}: {'; '.join(lines)}."

    @property
    def reach(self) -> str:
        """The share that each variant solved, with its largest team."""
        found = []
        for variant in self.variants:
            run = [agents for each, agents, _ in self.shares if each == variant]
            found.append(
                f"{variant} solved {self.share(variant)}, up to {self.most_agents(variant)} agents "
                f"(run up to {max(run)})"
            )
        return f"Solved {self.within} on {self.set}: " + "; ".join(found) + "."


def solved_data(rows: Iterable[Row], name: str, algorithms: Sequence[str] = ()) -> SolvedData:
    """Count solved instances of a test set."""
    solves = Solves(rows, name)
    variants = [v for v in solves.main() if not algorithms or v.algorithm in algorithms]
    counts: dict[tuple[Variant, int, int], list[bool]] = {}
    limits: set[float] = set()
    for variant in variants:
        for row in solves[variant].values():
            key = variant, int(row.parameters["agents"]), int(row.parameters["horizon"])
            counts.setdefault(key, []).append(row.solved)
            limits.add(row.time_limit)
    return SolvedData(
        name,
        tuple(variants),
        tuple(sorted({agents for _, agents, _ in counts})),
        tuple(sorted({horizon for _, _, horizon in counts})),
        {key: Share(sum(each), len(each)) for key, each in counts.items()},
        tuple(sorted(limits)),
    )


def draw_solved_by_agents(data: SolvedData, ax: Axes) -> None:
    """Draw a bar per variant and number of agents, with the percentage and n."""
    height = 0.8 / len(data.variants)
    for k, variant in enumerate(data.variants):
        for row, agents in enumerate(data.agents):
            share = data.share(variant, agents)
            if not share.run:
                continue
            y = row - 0.4 + (k + 0.5) * height
            colour = colour_of(variant)
            open_bar = not variant.is_published
            ax.barh(
                y,
                100 * share.value,
                0.86 * height,
                color="white" if open_bar else colour,
                edgecolor=colour,
                linewidth=0.9,
                label=str(variant),
            )
            ax.text(
                100 * share.value + 1,
                y,
                f"{variant}  {percent(share.value)}, n = {share.run:,}",
                va="center",
                fontsize=7,
                color="0.2",
            )
    ax.set_yticks(range(len(data.agents)), [f"{agents} agents" for agents in data.agents])
    ax.invert_yaxis()
    ax.set_xlim(0, 140)
    ax.set_xticks(range(0, 101, 20))
    ax.grid(axis="y", visible=False)
    ax.spines["bottom"].set_bounds(0, 100)
    ax.set_xlabel(f"instances of {data.set} solved {data.within} (% of those run)")


def draw_solved_by_horizon(data: SolvedData, agents: int, ax: Axes) -> None:
    """Draw a line per variant over the horizon, for one number of agents."""
    for variant in data.variants:
        shares = [(h, data.share(variant, agents, h)) for h in data.horizons]
        shown = [(h, 100 * share.value) for h, share in shares if share.run]
        if shown:
            ax.plot(*zip(*shown, strict=True), **line_style(variant), clip_on=False)
    ax.set_ylim(0, 103)
    ax.set_xticks(data.horizons)
    ax.set_xlabel("horizon (steps)")
    ax.set_title(f"{agents} agents")


def draw_solved_grid(data: SolvedData, variant: Variant, ax: Axes) -> None:
    """Draw a grid of percentages of one variant: agents to the right, horizons down."""
    # One picture for all cells: single shapes would make a large file.
    colours = [[(1.0, 1.0, 1.0)] * len(data.agents) for _ in data.horizons]
    for column, agents in enumerate(data.agents):
        for row, horizon in enumerate(data.horizons):
            share = data.share(variant, agents, horizon)
            if not share.run:
                ax.text(column, row, "·", ha="center", va="center", color="0.6")
                continue
            dark = share.value > 0.55
            colours[row][column] = shade(share.value)
            ax.text(
                column,
                row,
                f"{100 * share.value:.0f}",
                ha="center",
                va="center",
                fontsize=7.5,
                color="white" if dark else "0.15",
            )
    right, bottom = len(data.agents) - 0.5, len(data.horizons) - 0.5
    ax.imshow(colours, aspect="auto", interpolation="nearest")
    gaps = {"color": "white", "linewidth": 2}
    ax.vlines([column + 0.5 for column in range(len(data.agents) - 1)], -0.5, bottom, **gaps)
    ax.hlines([row + 0.5 for row in range(len(data.horizons) - 1)], -0.5, right, **gaps)
    ax.set_xlim(-0.5, right)
    ax.set_ylim(bottom, -0.5)
    ax.set_xticks(range(len(data.agents)), map(str, data.agents))
    ax.set_yticks(range(len(data.horizons)), map(str, data.horizons))
    ax.set_ylabel("horizon")
    ax.grid(visible=False)
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    total = data.share(variant)
    runs = {data.share(variant, a, h).run for v, a, h in data.shares if v == variant}
    each = listing(sorted(runs)) if len(runs) < 3 else f"{min(runs)} to {max(runs)}"
    ax.set_title(f"{variant}: {total} solved, n = {each} per cell")
