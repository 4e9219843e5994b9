"""The paper's figures, and some of our own, from stored solves.

Each figure has a function that turns rows into data and one that draws data on given axes; the
latter needs the extra ``plot``. :func:`draw_figures` writes all figures that have data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coreplan.bench.figures.ablation import AblationData, ablation_data, draw_ablation
from coreplan.bench.figures.convergence import (
    ConvergenceData,
    convergence_data,
    draw_convergence,
)
from coreplan.bench.figures.decentralised import (
    DecentralisedData,
    decentralised_data,
    draw_decentralised,
)
from coreplan.bench.figures.limits import LimitData, draw_limits, limit_data
from coreplan.bench.figures.profile import (
    ProfileData,
    StudyProfiles,
    draw_profile,
    study_profiles,
)
from coreplan.bench.figures.runtime import RuntimeData, draw_runtime, runtime_data
from coreplan.bench.figures.scaling import SETS as SCALING_SETS
from coreplan.bench.figures.scaling import ScalingData, draw_scaling, scaling_data
from coreplan.bench.figures.solved import (
    SolvedData,
    draw_solved_by_agents,
    draw_solved_by_horizon,
    draw_solved_grid,
    solved_data,
)
from coreplan.bench.figures.style import (
    FORMATS,
    check_matplotlib,
    new_figure,
    save_figure,
    share_legend,
    styled,
    title_in_lines,
)
from coreplan.bench.figures.work import WorkData, draw_work, work_data
from coreplan.bench.store import Row
from coreplan.errors import Diagnostic, FormatError, ModelError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "FIGURES",
    "FORMATS",
    "AblationData",
    "ConvergenceData",
    "DecentralisedData",
    "DrawnFigure",
    "FigureKind",
    "LimitData",
    "ProfileData",
    "RuntimeData",
    "ScalingData",
    "SolvedData",
    "WorkData",
    "ablation_data",
    "convergence_data",
    "decentralised_data",
    "describe_figures",
    "draw_ablation",
    "draw_convergence",
    "draw_decentralised",
    "draw_figures",
    "draw_limits",
    "draw_profile",
    "draw_profile_file",
    "draw_runtime",
    "draw_scaling",
    "draw_solved_by_agents",
    "draw_solved_by_horizon",
    "draw_solved_grid",
    "draw_work",
    "limit_data",
    "runtime_data",
    "scaling_data",
    "solved_data",
    "work_data",
]


@dataclass(frozen=True)
class Scalings:
    """Times against the number of agents, on several test sets."""

    sets: tuple[ScalingData, ...]

    def __bool__(self) -> bool:
        return bool(self.sets)

    @property
    def headline(self) -> str:
        """What is seen, in short."""
        return "Time against the number of agents, and where the limit ends it"

    @property
    def sentence(self) -> str:
        """What is seen, with its numbers."""
        return (
            "Medians as lines, fastest to slowest as thin bars; a triangle at the limit where not "
            "more than half were solved. " + " ".join(each.sentence for each in self.sets)
        )


@dataclass(frozen=True)
class Reach:
    """The largest pyramids that each algorithm solves: figure (e)."""

    solved: SolvedData

    def __bool__(self) -> bool:
        return bool(self.solved)

    @property
    def headline(self) -> str:
        """What is seen, in short."""
        return self.solved.headline_of_reach

    @property
    def sentence(self) -> str:
        """What is seen, with its numbers."""
        return self.solved.reach


@dataclass(frozen=True)
class FigureKind:
    """A figure that can be drawn.

    Attributes
    ----------
    name
        Name of its file.
    letter
        Its letter in the paper; our own figures come after those.
    title
        Its title.
    prepare
        Turns rows into data. The data is false if it has nothing to draw; otherwise it has a
        `headline` and a `sentence`.
    compose
        Turns the data into a figure.
    expected
        Whether pages about the paper's evaluation say so if the figure has no data.
    """

    name: str
    letter: str
    title: str
    prepare: Callable[[Sequence[Row]], Any]
    compose: Callable[[Any], Figure]
    expected: bool = True


@dataclass(frozen=True)
class DrawnFigure:
    """A figure with its file and its texts.

    Attributes
    ----------
    kind
        The kind of figure.
    path
        Its file; None without data.
    headline, sentence
        The finding: in short, and with all its numbers.
    """

    kind: FigureKind
    path: Path | None
    headline: str = ""
    sentence: str = ""

    def to_dict(self) -> dict[str, object]:
        """All attributes by name."""
        return {
            "name": self.kind.name,
            "letter": self.kind.letter,
            "title": self.kind.title,
            "path": None if self.path is None else str(self.path),
            "headline": self.headline,
            "sentence": self.sentence,
        }


def draw_figures(
    rows: Iterable[Row],
    folder: str | Path,
    *,
    format: str = "svg",
    started: Callable[[str], object] | None = None,
) -> list[DrawnFigure]:
    """Draw all figures that have data into a folder, which is created if it does not exist.

    The same rows give the same files, byte for byte, with one version of matplotlib.

    Parameters
    ----------
    rows
        Solves from :func:`coreplan.bench.results.read_rows`.
    folder
        Folder for the files.
    format
        ``svg``, ``png`` or ``pdf``.
    started
        Called with the name of each figure before it is drawn.

    Raises
    ------
    SolverError
        If matplotlib is not installed.
    """
    check_matplotlib()
    if format not in FORMATS:
        raise ModelError(f"the format is {format!r}; expected one of {', '.join(FORMATS)}")
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FormatError(str(folder), [Diagnostic((), f"cannot be made: {reason}")]) from None
    drawn = []
    for each, data in _prepared(rows, target, format):
        if each.path is not None:
            if started is not None:
                started(each.kind.name)
            _draw(each.kind.compose, data, each.path)
        drawn.append(each)
    return drawn


def draw_profile_file(data: ProfileData, path: str | Path) -> None:
    """Draw one performance profile into a file; its ending says the format.

    Raises
    ------
    SolverError
        If matplotlib is not installed.
    """
    check_matplotlib()
    _draw(_compose_profiles, StudyProfiles((data,)), Path(path))


def _draw(compose: Callable[[Any], Figure], data: Any, path: Path) -> None:
    with styled():
        figure = compose(data)
        figure.suptitle(data.headline, x=0.012, ha="left", fontsize=9.5, fontweight="bold")
        save_figure(figure, path)


def describe_figures(
    rows: Iterable[Row], folder: str | Path, *, format: str = "svg"
) -> list[DrawnFigure]:
    """What :func:`draw_figures` returns, without drawing anything; needs no matplotlib."""
    return [each for each, _ in _prepared(rows, Path(folder), format)]


def _prepared(rows: Iterable[Row], folder: Path, format: str) -> Iterator[tuple[DrawnFigure, Any]]:
    """Each figure with its texts and its data, in order."""
    rows = list(rows)
    for kind in FIGURES:
        data = kind.prepare(rows)
        if not data:
            yield DrawnFigure(kind, None), data
            continue
        path = folder / f"{kind.name}.{format}"
        yield DrawnFigure(kind, path, data.headline, data.sentence), data


def _compose_decentralised(data: DecentralisedData) -> Figure:
    # Losses of the two kinds are too different for one scale.
    apart = [
        ("random instances", [each for each in data.sets if each.set != "coordint"]),
        ("coordination-intensive instances", [e for e in data.sets if e.set == "coordint"]),
    ]
    shown = [(title, sets) for title, sets in apart if sets]
    figure = new_figure(3.4)
    panels = figure.subplots(1, len(shown), squeeze=False)[0]
    for ax, (title, sets) in zip(panels, shown, strict=True):
        draw_decentralised(DecentralisedData(tuple(sets)), ax)
        ax.set_title(title)
    panels[0].set_ylabel(data.quotient)
    return figure


def _compose_work(data: WorkData) -> Figure:
    figure = new_figure(4.0)
    left, right = figure.subplots(1, 2, sharey=True)
    for ax, series, title in (
        (left, data.plain, "as published: nothing remembered"),
        (right, data.memo, "solved joint states remembered"),
    ):
        draw_work(data, series, ax)
        ax.set_title(title)
    right.set_ylabel("")
    share_legend(figure, [left, right])
    return figure


def _compose_solved(data: SolvedData) -> Figure:
    bars = len(data.agents) * len(data.variants)
    figure = new_figure(3.0 + 0.16 * bars)
    above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=[0.6 + 0.16 * bars, 2.4])[
        :, 0
    ]
    draw_solved_by_agents(data, above.subplots())
    panels = below.subplots(1, len(data.agents), sharey=True, squeeze=False)[0]
    for ax, agents in zip(panels, data.agents, strict=True):
        draw_solved_by_horizon(data, agents, ax)
    panels[0].set_ylabel("solved (%)")
    share_legend(below, panels)
    return figure


def _compose_runtime(data: RuntimeData) -> Figure:
    columns = min(len(data.rivals), 3)
    lines = math.ceil(len(data.rivals) / columns)
    figure = new_figure(1.2 + 2.6 * lines)
    grid = figure.subplots(lines, columns, sharey=True, squeeze=False)
    panels = list(grid.flat)
    for ax, rival in zip(panels, data.rivals, strict=False):
        draw_runtime(data, rival, ax)
        ax.set_title(title_in_lines(str(rival.variant)))
        ax.set_ylabel("")
    for ax in panels[len(data.rivals) :]:
        ax.set_visible(False)
    for ax in grid[:, 0]:
        ax.set_ylabel(f"runtime ({data.unit})")
    share_legend(figure, panels[: len(data.rivals)])
    return figure


def _compose_reach(data: Reach) -> Figure:
    solved = data.solved
    figure = new_figure(0.6 + len(solved.variants) * (0.45 + 0.26 * len(solved.horizons)))
    panels = figure.subplots(len(solved.variants), 1, squeeze=False)[:, 0]
    for ax, variant in zip(panels, solved.variants, strict=True):
        draw_solved_grid(solved, variant, ax)
    panels[-1].set_xlabel(f"agents (cells: % of instances solved {solved.within})")
    return figure


def _compose_scaling(data: Scalings) -> Figure:
    figure = new_figure(3.6)
    panels = figure.subplots(1, len(data.sets), sharey=True, squeeze=False)[0]
    for ax, each in zip(panels, data.sets, strict=True):
        draw_scaling(each, ax)
    panels[0].set_ylabel(f"time ({data.sets[0].unit})")
    share_legend(figure, panels)
    return figure


def _compose_convergence(data: ConvergenceData) -> Figure:
    figure = new_figure(3.4)
    contentions = data.contentions
    panels = figure.subplots(1, len(contentions), sharey=True, squeeze=False)[0]
    for ax, contention in zip(panels, contentions, strict=True):
        draw_convergence(data, contention, ax)
    panels[0].set_ylabel("gap, of the value (%)")
    return figure


def _compose_ablation(data: AblationData) -> Figure:
    figure = new_figure(1.3 + 0.26 * len(data.ideas))
    draw_ablation(data, figure.add_subplot())
    return figure


def _compose_limits(data: LimitData) -> Figure:
    columns = min(len(data.panels), 2)
    lines = math.ceil(len(data.panels) / columns)
    figure = new_figure(1.4 + 2.3 * lines)
    grid = figure.subplots(lines, columns, sharey=True, squeeze=False)
    panels = list(grid.flat)
    for ax, panel in zip(panels, data.panels, strict=False):
        draw_limits(panel, ax)
    for ax in panels[len(data.panels) :]:
        ax.set_visible(False)
    for ax in grid[:, 0]:
        ax.set_ylabel("solved (%)")
    for ax in panels[max(0, len(data.panels) - columns) : len(data.panels)]:
        ax.set_xlabel(f"time limit ({data.unit})")
    share_legend(figure, panels[: len(data.panels)])
    return figure


def _compose_profiles(data: StudyProfiles) -> Figure:
    columns = min(len(data.sets), 2)
    lines = math.ceil(len(data.sets) / columns)
    names = list(dict.fromkeys(name for each in data.sets for name in each.ratios))
    figure = new_figure(1.0 + 2.4 * lines + 0.1 * len(names))
    grid = figure.subplots(lines, columns, sharey=True, squeeze=False)
    panels = list(grid.flat)
    for ax, each in zip(panels, data.sets, strict=False):
        draw_profile(each, ax, names)
    for ax in panels[len(data.sets) :]:
        ax.set_visible(False)
    for ax in grid[:, 0]:
        ax.set_ylabel("instances (%)")
    share_legend(figure, panels[: len(data.sets)])
    return figure


def _prepare_scaling(rows: Sequence[Row]) -> Scalings:
    found = [scaling_data(rows, name) for name in SCALING_SETS]
    return Scalings(tuple(each for each in found if each))


FIGURES: tuple[FigureKind, ...] = (
    FigureKind(
        "decentralised",
        "a",
        "Decentralised against centralised value",
        decentralised_data,
        _compose_decentralised,
    ),
    FigureKind("joint-actions", "b", "Joint actions evaluated", work_data, _compose_work),
    FigureKind(
        "solved", "c", "Instances solved", lambda rows: solved_data(rows, "mpp"), _compose_solved
    ),
    FigureKind("runtime", "d", "Runtimes beside SPUDD's", runtime_data, _compose_runtime),
    FigureKind(
        "pyramids",
        "e",
        "Pyramids solved",
        lambda rows: Reach(solved_data(rows, "pyra")),
        _compose_reach,
    ),
    FigureKind(
        "agents", "f", "Time against the number of agents", _prepare_scaling, _compose_scaling
    ),
    FigureKind(
        "gap",
        "g",
        "Gap against time on large teams",
        convergence_data,
        _compose_convergence,
    ),
    FigureKind("ablation", "h", "What the ideas are worth", ablation_data, _compose_ablation),
    FigureKind("limits", "i", "Solved against the time limit", limit_data, _compose_limits),
    FigureKind(
        "profile",
        "j",
        "Performance profiles of sets of your own",
        study_profiles,
        _compose_profiles,
        expected=False,
    ),
)
"""All figures: the paper's five, then ours."""
