"""Pictures for papers, drawn with matplotlib (extra ``plot``).

Each function draws on the given axes, or makes a figure of the width of a paper's column (8 cm),
and returns the axes. Shapes are opaque, so that vector formats stay vectors. Colours differ also
for colour-blind readers, and by their brightness in print.
"""

from __future__ import annotations

import importlib.util
import io
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from coreplan.analysis.distribution import ReturnDistribution, return_distribution
from coreplan.domains.maintenance.exports.texts import plain, readable
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.timeline import WorkTimeline, timeline
from coreplan.errors import ModelError, SolverError, shorten
from coreplan.model.calendar import Calendar
from coreplan.policies.policy import Policy
from coreplan.solving.limits import Callback, Progress
from coreplan.solving.result import Result
from coreplan.support.cents import amount_text
from coreplan.support.language import (
    DEFAULT_LANGUAGE,
    current_speech,
    local_number,
    number_text,
    say,
    speaking,
)
from coreplan.support.late import provides
from coreplan.view.terminal import fit_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 8 / 2.54
"""The width of a new figure in inches: a column of a paper."""
FONT = 7
"""The size of letters in a new figure, in points."""
LONGEST_NAME = 24
"""The most letters of a name that are shown."""
MOST_STEMS = 40
"""The most different values of a distribution that are drawn one by one."""
MOST_BINS = 30
MOST_LABELS = 12
"""The most step numbers below a Gantt chart."""
PAGE_WIDTH, PAGE_HEIGHT = 11.69, 8.27
"""The size of a chart to print: A4, landscape, in inches."""
ROW_HEIGHT, CHART_MARGIN = 0.22, 1.1
"""The height of a row of a chart to print, and that of title, legend and dates."""
ROWS_OF_PAGE = int((PAGE_HEIGHT - CHART_MARGIN) / ROW_HEIGHT)
PIXELS_PER_INCH, MOST_PIXELS = 150, 60_000

BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#aa4499",
    "#e69f00",
    "#56b4e9",
)
GREY = "#666666"
PALE = "#dddddd"
HATCH = "//////"


class ProgressLog:
    """Records the progress of a solver: use it as ``solve(..., callback=log)``.

    Parameters
    ----------
    callback
        Another callback to call with each report; if it returns ``True``, the solver stops.

    Examples
    --------
    >>> from coreplan import Contractor, MaintenanceProblem, Task, solve
    >>> log = ProgressLog()
    >>> alpha = Contractor("Alpha", (Task("a1", duration=2, cost=3, revenue=20),))
    >>> result = solve(MaintenanceProblem((alpha,), horizon=4), callback=log)
    >>> log.records[-1].lower_bound
    14.0
    """

    def __init__(self, callback: Callback | None = None) -> None:
        self.records: list[Progress] = []
        self._callback = callback

    def __call__(self, progress: Progress) -> object:
        """Record one report."""
        self.records.append(progress)
        return None if self._callback is None else self._callback(progress)

    def __iter__(self) -> Iterator[Progress]:
        return iter(self.records)


def gantt(
    plan: Result | Policy,
    ax: Axes | None = None,
    *,
    outcomes: Mapping[str, bool | str] | None = None,
    calendar: Calendar | None = None,
) -> Axes:
    """Draw a Gantt chart: the chances of works in each step, or one course with given delays.

    The chart has a row for each work. The height of a bar is the chance that the work runs in a
    step. A solid bar is within the normal duration, a hatched bar is work only because of a delay.
    A bar below full height depends on earlier delays of other works.

    Parameters
    ----------
    plan
        A plan for a maintenance problem: a policy, or a result that has one.
    ax
        The axes to draw on; by default those of a new figure.
    outcomes
        Draw one course instead, in which all bars are full. For works ``contractor/work``, whether
        they are delayed (True or ``"delayed"``); other works are not delayed if possible. ``{}``
        draws the course without delays. See :meth:`coreplan.Policy.schedule`.
    calendar
        The dates of the steps; without it, steps have numbers.

    Raises
    ------
    ModelError
        If the plan is not for a maintenance problem, or the outcomes are impossible.
    SolverError
        If matplotlib is not installed, or the exact chances are out of reach.
    """
    policy = _policy_of(plan)
    if not isinstance(policy.problem, MaintenanceProblem):
        raise ModelError("a Gantt chart needs a plan of a maintenance problem (mpp/1)")
    if outcomes is None:
        bars = _likely_bars(policy)
    else:
        bars = _bars_of_course(policy, policy.problem, outcomes)
    return _draw_gantt(policy, policy.problem, bars, ax, calendar)


@dataclass(frozen=True)
class _Bar:
    """A part of a work, in steps first to last - 1; a full row has height 1."""

    first: int
    last: int
    bottom: float
    height: float
    delayed: bool


_Bars = dict[tuple[str, str], list[_Bar]]
"""The bars of each row, by contractor and work."""


def _likely_bars(policy: Policy) -> _Bars:
    """The bars of the chances in each step; work because of a delay is on top."""
    return _bars_of_chances(timeline(policy).works)


def _bars_of_chances(works: Iterable[WorkTimeline]) -> _Bars:
    bars: _Bars = {}
    for work in works:
        mine = bars[work.contractor, work.work] = []
        for first, last, (planned, extra) in _runs(zip(work.planned, work.extra, strict=True)):
            mine.append(_Bar(first, last, 0.0, planned, False))
            mine.append(_Bar(first, last, planned, extra, True))
    return bars


def _bars_of_course(
    policy: Policy, problem: MaintenanceProblem, outcomes: Mapping[str, bool | str]
) -> _Bars:
    """The bars of one course with these delays."""
    bars: _Bars = {(who.name, task.name): [] for who in problem.contractors for task in who.tasks}
    durations = {
        (who.name, task.name): task.duration for who in problem.contractors for task in who.tasks
    }
    for work in policy.schedule(outcomes).works:
        name = work.contractor, work.task
        end = min(work.end, policy.horizon)
        normal = min(work.start + durations[name], end) if work.delayed else end
        bars[name].append(_Bar(work.start, normal, 0.0, 1.0, False))
        if normal < end:
            bars[name].append(_Bar(normal, end, 0.0, 1.0, True))
    return bars


def _runs(values: Iterable[Any]) -> Iterator[tuple[int, int, Any]]:
    """Runs of equal values: their begin, their end, the value."""
    at = 0
    for value, group in itertools.groupby(values):
        begin, at = at, at + sum(1 for _ in group)
        yield begin, at, value


def _draw_gantt(
    policy: Policy,
    problem: MaintenanceProblem,
    bars: _Bars,
    ax: Axes | None,
    calendar: Calendar | None,
) -> Axes:
    """Draw bars in rows, the rows of a contractor below its name."""
    rows = sum(1 + len(contractor.tasks) for contractor in problem.contractors)
    axes, size = _axes(ax, 0.55 + 0.17 * rows)
    from matplotlib.patches import Patch, Rectangle

    ticks: list[float] = []
    labels: list[tuple[str, bool]] = []
    row = 0
    colours = itertools.cycle((BLUE, ORANGE, GREEN, PURPLE, VERMILLION, SKY))
    for contractor, colour in zip(problem.contractors, colours, strict=False):
        ticks.append(row + 0.5)
        labels.append((contractor.name, True))
        row += 1
        for task in contractor.tasks:
            ticks.append(row + 0.5)
            labels.append((task.name, False))
            # A thin line guides the eye along the row.
            axes.axhline(row + 0.9, color=PALE, linewidth=0.5, zorder=0)
            for bar in bars[contractor.name, task.name]:
                if bar.height <= 0:
                    continue
                axes.add_patch(
                    Rectangle(
                        (bar.first, row + 0.9 - 0.8 * (bar.bottom + bar.height)),
                        bar.last - bar.first,
                        0.8 * bar.height,
                        facecolor="white" if bar.delayed else colour,
                        edgecolor=colour,
                        hatch=HATCH if bar.delayed else None,
                        linewidth=0.5,
                        gid=f"{'delayed' if bar.delayed else 'planned'} "
                        f"{readable(contractor.name)}/{readable(task.name)}",
                    )
                )
            row += 1
    axes.set_xlim(policy.stage, policy.horizon)
    axes.set_ylim(max(row, 1), 0)  # the first row at the top
    names = fit_apart([plain(name) for name, _ in labels], LONGEST_NAME)
    axes.set_yticks(ticks, [name.rstrip() for name in names])
    for label, (_, bold) in zip(axes.get_yticklabels(), labels, strict=True):
        label.set_parse_math(False)  # a name with dollar signs is not a formula
        label.set_fontweight("bold" if bold else "normal")
    axes.tick_params(axis="y", length=0)
    _time_axis(axes, calendar)
    _plain(axes, size, "left")
    shown = [bar for each in bars.values() for bar in each if bar.height > 0]
    if any(bar.delayed for bar in shown):
        uncertain = any(bar.height < 1 for bar in shown)
        delayed = say("only if delayed") if uncertain else say("delayed", context="work")
        keys = [
            Patch(facecolor=GREY, edgecolor=GREY, label=say("planned", context="work")),
            Patch(facecolor="white", edgecolor=GREY, hatch=HATCH, label=delayed),
        ]
        title = say("height of a bar: its chance") if uncertain else None
        _legend(axes, size, title, handles=keys)
    return axes


@provides("exports.chart")
def chart_file(
    policy: Policy,
    works: Sequence[WorkTimeline],
    kind: str,
    calendar: Calendar | None,
    title: str,
) -> bytes:
    """The Gantt chart of a plan as the content of a file: a page of A4 or, in a PDF, several.

    Parameters
    ----------
    policy, works
        The plan, and the chances of its works.
    kind
        The format: ``png``, ``svg`` or ``pdf``.
    calendar
        The dates of the steps, if they are known.
    title
        The title of the chart.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    problem = policy.problem
    assert isinstance(problem, MaintenanceProblem)
    rows = sum(1 + len(contractor.tasks) for contractor in problem.contractors)
    # The same plan gives the same file.
    settings = {"svg.hashsalt": "coreplan", "axes.formatter.use_locale": False}
    with mpl.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # of letters that the font lacks
        figure = Figure(
            figsize=(PAGE_WIDTH, CHART_MARGIN + ROW_HEIGHT * rows), layout="constrained"
        )
        axes = _draw_gantt(policy, problem, _bars_of_chances(works), figure.add_subplot(), calendar)
        axes.grid(axis="x", color=PALE, linewidth=0.5, zorder=0)
        axes.set_axisbelow(True)
        axes.tick_params(labelsize=9)
        if calendar is not None:
            axes.xaxis.set_major_locator(MaxNLocator(MOST_LABELS, integer=True))
        figure.suptitle(shorten(plain(title), 100), parse_math=False, x=0.01, ha="left")
        if kind == "pdf" and rows > ROWS_OF_PAGE:
            return _pages(figure, axes, problem)
        made = io.BytesIO()
        height = figure.get_size_inches()[1]
        figure.savefig(
            made,
            format=kind,
            dpi=min(PIXELS_PER_INCH, MOST_PIXELS / height),
            metadata=_UNDATED.get(kind, {}),
        )
        return made.getvalue()


_UNDATED = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
"""Metadata without the moment of writing."""


def _pages(figure: Figure, axes: Axes, problem: MaintenanceProblem) -> bytes:
    """Cut a long chart into pages, between contractors if they fit on a page."""
    from matplotlib.backends.backend_pdf import PdfPages

    made = io.BytesIO()
    with PdfPages(made, metadata=_UNDATED["pdf"]) as pages:
        for begin, end in _page_rows([1 + len(each.tasks) for each in problem.contractors]):
            axes.set_ylim(end, begin)
            figure.set_size_inches(PAGE_WIDTH, CHART_MARGIN + ROW_HEIGHT * (end - begin))
            pages.savefig(figure)
    return made.getvalue()


def _page_rows(blocks: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first row of each page and the row after its last one, for blocks of rows."""
    begin = row = 0
    for block in blocks:
        if row > begin and row + block - begin > ROWS_OF_PAGE:
            yield begin, row
            begin = row
        row += block
        while row - begin > ROWS_OF_PAGE:
            yield begin, begin + ROWS_OF_PAGE
            begin += ROWS_OF_PAGE
    yield begin, row


def _time_axis(axes: Axes, calendar: Calendar | None) -> None:
    """Label the time axis: step numbers in the middle of steps, dates at their beginning."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator

    first, last = axes.get_xlim()
    if calendar is not None:
        language = current_speech().language  # pictures are drawn later

        def label(at: float, _: object) -> str:
            with speaking(language):
                return calendar.short_label(round(at)) if at >= first else ""

        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.xaxis.set_major_formatter(FuncFormatter(label))
        axes.set_xlabel(
            say("day that begins on") if calendar.step == "day" else say("week that begins on")
        )
    else:
        every = next(n for n in _round_numbers() if (last - first) / n <= MOST_LABELS)
        steps = range(math.ceil(first / every) * every, math.ceil(last), every)
        axes.set_xticks([step + 0.5 for step in steps], [f"{step}" for step in steps])
        axes.set_xlabel(say("step"))
    if last - first <= 60:
        axes.xaxis.set_minor_locator(MultipleLocator(1))
        axes.tick_params(axis="x", which="minor", length=2)
    if calendar is None:
        axes.tick_params(axis="x", which="major", length=0)


def _round_numbers() -> Iterator[int]:
    """1, 2, 5, 10, 20, 50, ..."""
    for power in itertools.count():
        yield from (10**power, 2 * 10**power, 5 * 10**power)


def convergence(
    progress: ProgressLog | Iterable[Progress],
    ax: Axes | None = None,
    *,
    result: Result | None = None,
) -> Axes:
    """Draw the lower and upper bound of the optimum over time.

    Parameters
    ----------
    progress
        The reports of a solver: a :class:`ProgressLog`, or any reports in order.
    ax
        The axes to draw on; by default those of a new figure.
    result
        The result, for algorithms that report no bounds while they run.

    Raises
    ------
    ModelError
        If the reports have no bound.
    SolverError
        If matplotlib is not installed.
    """
    points = [(each.seconds, each.lower_bound, each.upper_bound) for each in progress]
    if result is not None:
        points.append((result.seconds, result.lower_bound, result.upper_bound))
    lower = _changes([(seconds, low) for seconds, low, _ in points if math.isfinite(low)])
    upper = _changes([(seconds, high) for seconds, _, high in points if math.isfinite(high)])
    if not lower and not upper:
        raise ModelError(
            "found no bound to draw; give a ProgressLog that was the callback of a solver, or "
            "result=..."
        )
    axes, size = _axes(ax, 2.0)
    for line, name, colour, style in (
        (upper, "upper bound", VERMILLION, "--"),
        (lower, "value of the plan", BLUE, "-"),
    ):
        if line:
            axes.step(
                *zip(*line, strict=True),
                where="post",
                color=colour,
                linestyle=style,
                linewidth=1.2,
                marker="o" if len(line) == 1 else None,
                markersize=3,
                label=name,
            )
    axes.set_xlim(left=0)
    axes.set_xlabel("seconds")
    axes.set_ylabel("value")
    _plain(axes, size, "left", "bottom")
    _legend(axes, size)
    return axes


def _changes(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points at which a value changes, and the last point."""
    kept = [point for k, point in enumerate(points) if k == 0 or point[1] != points[k - 1][1]]
    return kept if not points or kept[-1] == points[-1] else [*kept, points[-1]]


def cost_distribution(
    plan: Result | Policy | ReturnDistribution,
    ax: Axes | None = None,
    *,
    runs: int | None = None,
    seed: int = 1,
) -> Axes:
    """Draw the possible costs or earnings of a plan with their chances.

    The chances are exact if the plan has few enough courses, else simulated; the label names the
    source. A maintenance plan that costs more than it earns is drawn with costs, any other plan
    with earnings. The dashed line is the mean.

    Parameters
    ----------
    plan
        A policy, a result with a policy, or a distribution.
    ax
        The axes to draw on; by default those of a new figure.
    runs, seed
        The number of simulated runs if the exact distribution is out of reach, and the seed of the
        random numbers.

    Raises
    ------
    SolverError
        If matplotlib is not installed.
    """
    money = False
    if isinstance(plan, ReturnDistribution):
        known = plan
    else:
        policy = _policy_of(plan)
        money = policy.problem.words.money
        options = {} if runs is None else {"runs": runs}
        known = return_distribution(policy, seed=seed, **options)
    costs = money and known.mean < 0
    values = -known.values[::-1] if costs else known.values
    chances = known.probabilities[::-1] if costs else known.probabilities
    axes, size = _axes(ax, 2.0)
    colour = VERMILLION if costs else BLUE
    if len(values) <= MOST_STEMS:
        axes.vlines(values, 0, chances, color=colour, linewidth=1.5)
        axes.plot(values, chances, "o", color=colour, markersize=3)
    else:
        edges = np.linspace(values[0], values[-1], MOST_BINS + 1)
        heights, _ = np.histogram(values, edges, weights=chances)
        axes.stairs(heights, edges, fill=True, facecolor=colour, edgecolor=colour, linewidth=0.5)
    mean = -known.mean if costs else known.mean
    shown = amount_text(mean) if money else number_text(mean, ",.2f")
    axes.axvline(
        mean, color=GREY, linestyle="--", linewidth=1, label=say("mean {value}", value=shown)
    )
    axes.set_ylim(bottom=0)
    _local_numbers(axes)
    axes.set_xlabel(_amount_label(costs, current_speech().currency if money else None))
    axes.set_ylabel(
        say("probability") if known.exact else say("share of {runs:,} runs", runs=known.runs)
    )
    _plain(axes, size, "left", "bottom")
    _legend(axes, size)
    return axes


# -- shared by the pictures ------------------------------------------------------------------------


def _policy_of(plan: Result | Policy) -> Policy:
    policy = plan.policy if isinstance(plan, Result) else plan
    if not isinstance(policy, Policy):
        raise ModelError(
            "found no policy to draw; give a Policy, or a Result of `solve` (a result that "
            "was read from a file has none)"
        )
    return policy


def _axes(ax: Axes | None, height: float) -> tuple[Axes, float | None]:
    """The axes to draw on, and the size of letters; None for given axes, which have their own."""
    if importlib.util.find_spec("matplotlib") is None:
        raise SolverError(
            "matplotlib is not installed; install it with pip install 'coreplan[plot]'"
        )
    if ax is not None:
        return ax, None
    from matplotlib import pyplot

    _, made = pyplot.subplots(figsize=(WIDTH, height), layout="constrained")
    return made, FONT


def _amount_label(costs: bool, currency: str | None) -> str:
    """The label of an axis with costs or values, which names the currency if there is one."""
    if currency is None:
        return say("cost", context="axis") if costs else say("value", context="axis")
    if costs:
        return say("cost in {currency}", currency=currency)
    return say("value in {currency}", currency=currency)


def _local_numbers(axes: Axes) -> None:
    """Write the numbers at both axes in the present language, also when they are drawn later."""
    language = current_speech().language
    if language == DEFAULT_LANGUAGE:
        return
    from matplotlib.ticker import ScalarFormatter

    class LocalNumbers(ScalarFormatter):  # type: ignore[misc, unused-ignore]
        def __call__(self, x: float, pos: int | None = None) -> str:
            with speaking(language):
                return local_number(super().__call__(x, pos))

    axes.xaxis.set_major_formatter(LocalNumbers())
    axes.yaxis.set_major_formatter(LocalNumbers())


def _plain(axes: Axes, size: float | None, *kept: str) -> None:
    """Remove unneeded lines, and set the size of letters."""
    for side in ("left", "right", "top", "bottom"):
        axes.spines[side].set_visible(side in (*kept, "bottom"))
        axes.spines[side].set_linewidth(0.6)
    if size is not None:
        axes.tick_params(labelsize=size, width=0.6, which="both")
        axes.xaxis.label.set_fontsize(size)
        axes.yaxis.label.set_fontsize(size)


def _legend(axes: Axes, size: float | None, title: str | None = None, **options: Any) -> None:
    """Put the legend above the picture, where it covers nothing."""
    axes.legend(
        fontsize=size,
        title=title,
        title_fontsize=size,
        alignment="left",
        frameon=False,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        borderaxespad=0.1,
        ncols=2,
        **options,
    )
