"""The style of figures: colours, marks, sizes; and reproducible files."""

from __future__ import annotations

import importlib.util
import io
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from coreplan.bench.variants import Variant
from coreplan.errors import SolverError
from coreplan.files.writing import write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase

COLOURS: Mapping[str, str] = {
    "dp": "#228833",
    "spudd": "#222222",
    "crg-ps": "#4477AA",
    "core-2016": "#EE6677",
    "core": "#AA3377",
}
"""A colour per algorithm, the same in all figures; safe for colour-blind readers."""

OTHER_READINGS: Mapping[str, str] = {"spudd": "#999999", "core-2016": "#DD8800"}
"""Colours of the second published reading of an algorithm."""

MARKS: Mapping[str, str] = {"dp": "s", "spudd": "P", "crg-ps": "^", "core-2016": "o", "core": "D"}
OTHER_MARKS: Mapping[str, str] = {"spudd": "X", "core-2016": "h"}
SET_COLOURS: Mapping[str, str] = {
    "rand3": "#66CCEE",
    "rand4": "#4477AA",
    "rand5": "#223366",
    "coordint": "#EE6677",
}
AGENT_MARKS: Mapping[int, str] = {2: "o", 3: "x", 4: "^"}

WIDTH = 7.3
"""Inches; 700 pixels at its own size."""

_LEGEND_COLUMN, _LEGEND_LETTER = 0.5, 0.066
"""Inches that a column of a legend takes, and each letter of its widest label, about."""

MOST_POINTS = 200
"""Most points of one line."""

MOST_SHAPES = 60
"""Most points of one cloud that are drawn as single shapes."""

_STYLE: Mapping[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],  # the first comes with matplotlib
    "font.size": 8.5,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8.5,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "0.4",
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "lines.markersize": 4,
    "xtick.color": "0.3",
    "ytick.color": "0.3",
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "svg.hashsalt": "coreplan",
}
_METADATA: Mapping[str, Mapping[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
FORMATS = tuple(_METADATA)


def check_matplotlib() -> None:
    """Raise a SolverError if figures cannot be drawn."""
    if importlib.util.find_spec("matplotlib") is None:
        raise SolverError(
            "figures need matplotlib, which is not installed; install the extra "
            "`plot`: pip install 'coreplan[plot]'"
        )


@contextmanager
def styled() -> Iterator[None]:
    """Apply the style of the figures while one is made and saved."""
    check_matplotlib()
    import matplotlib

    # Whatever the user's own style is.
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        parameters: Any = matplotlib.rcParams
        parameters.update(_STYLE)
        yield


def new_figure(height: float) -> Figure:
    """An empty figure, as wide as a page; the height is in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH, height), layout="constrained")


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure completely or not at all, in the format of the name's ending."""
    kind = path.suffix.removeprefix(".")
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, metadata=dict(_METADATA[kind]))
    write_bytes(buffer.getvalue(), path)


def colour_of(variant: Variant) -> str:
    """The colour of a variant: that of its algorithm, or of the second reading of it."""
    other = OTHER_READINGS.get(variant.algorithm)
    if other is not None and variant.is_second_reading:
        return other
    return COLOURS.get(variant.algorithm, "#BBBBBB")


def line_style(variant: Variant) -> dict[str, Any]:
    """The style of a variant's lines: solid if as published, otherwise broken."""
    dashes = "-"
    if not variant.is_published:
        dashes = "--" if dict(variant.options).get("memo") else ":"
    return {"linestyle": dashes, **point_style(variant)}


def point_style(variant: Variant) -> dict[str, Any]:
    """The style of a variant's points: filled if as published, otherwise open."""
    colour = colour_of(variant)
    marks = OTHER_MARKS if variant.is_second_reading else MARKS
    return {
        "color": colour,
        "marker": marks.get(variant.algorithm, "."),
        "markerfacecolor": colour if variant.is_published else "white",
        "label": str(variant),
    }


def thinned(
    xs: Sequence[float], ys: Sequence[float], most: int = MOST_POINTS
) -> tuple[list[float], list[float]]:
    """Some of the points of a line, the first and the last among them."""
    if len(xs) <= most:
        return list(xs), list(ys)
    kept = sorted({round(k * (len(xs) - 1) / (most - 1)) for k in range(most)})
    return [xs[k] for k in kept], [ys[k] for k in kept]


def scatter(ax: Axes, xs: Sequence[float], ys: Sequence[float], **style: Any) -> None:
    """Draw points; many of them as one picture, which keeps files small."""
    ax.plot(
        xs,
        ys,
        linestyle="none",
        rasterized=len(xs) > MOST_SHAPES,
        **{"markersize": 3.2, "markeredgewidth": 0.8, **style},
    )


def log_axis(ax: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, with plain numbers."""
    (ax.set_xscale if which == "x" else ax.set_yscale)("log")
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter("")


def share_legend(figure: FigureBase, axes: Iterable[Axes]) -> None:
    """One legend below a figure for all its axes."""
    known: dict[str, Any] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        for handle, label in zip(handles, labels, strict=True):
            known.setdefault(label, handle)
    columns = _columns_that_fit(list(known))
    figure.legend(known.values(), known.keys(), loc="outside lower center", ncols=columns)


def _columns_that_fit(labels: Sequence[str]) -> int:
    """The most columns, up to four, of a legend that is not wider than a figure."""
    for columns in (4, 3, 2):
        # As matplotlib fills them: from top to bottom, the first columns being longer.
        rest, longer = divmod(len(labels), columns)
        heights = [rest + (k < longer) for k in range(columns)]
        ends = list(itertools.accumulate(heights))
        widest = [
            max((len(label) for label in labels[end - height : end]), default=0)
            for end, height in zip(ends, heights, strict=True)
        ]
        if sum(_LEGEND_COLUMN + _LEGEND_LETTER * width for width in widest) <= WIDTH:
            return columns
    return 1


def title_in_lines(text: str, most: int = 24) -> str:
    """The title of a narrow panel, broken at its first comma if it is long."""
    before, comma, after = text.partition(", ")
    return f"{before},\n{after}" if comma and len(text) > most else text


def shade(value: float) -> tuple[float, float, float]:
    """A blue from pale (0) to dark (1)."""
    pale, dark = (0.91, 0.94, 0.97), (0.05, 0.22, 0.45)
    red, green, blue = (p + value * (d - p) for p, d in zip(pale, dark, strict=True))
    return red, green, blue


def say_nothing(ax: Axes, text: str) -> None:
    """Write the reason into empty axes."""
    ax.set_axis_off()
    ax.text(0.5, 0.5, text, ha="center", va="center", color="0.4", transform=ax.transAxes)


def label_ends(
    ax: Axes, ends: Sequence[tuple[float, str, tuple[float, float, float]]], log: bool = False
) -> None:
    """Write labels (y, text, colour) to the right of axes, apart from each other."""
    low, high = map(float, ax.get_ylim())

    def place(y: float) -> float:
        y = min(max(y, low), high)
        if log:
            return math.log(y / low) / math.log(high / low)
        return (y - low) / (high - low)

    spots = sorted((place(y), text, colour) for y, text, colour in ends)
    least = 0.055
    heights = [spot[0] for spot in spots]
    for k in range(1, len(heights)):
        heights[k] = max(heights[k], heights[k - 1] + least)
    over = heights[-1] - 1.02 if heights else 0
    if over > 0:
        heights[-1] -= over
        for k in reversed(range(len(heights) - 1)):
            heights[k] = min(heights[k], heights[k + 1] - least)
    for height, (_, text, colour) in zip(heights, spots, strict=True):
        ax.text(1.01, height, text, color=colour, transform=ax.transAxes, va="center", fontsize=8)
