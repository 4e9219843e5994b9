"""Conditional return graphs as pictures: self-contained SVG in the manner of the paper's figures.

Time runs from left to right. A transition of the agent is a tree of the actions of other agents
between two local states, with dots, and triangles where the actions of all agents are known. If
other agents have no influence, it is one arc.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from coreplan.analysis.sequences import ExecutionSequence
from coreplan.errors import SolverError
from coreplan.solving.crg import ConditionalReturnGraphs, CrgSize
from coreplan.support.checks import found, is_integer
from coreplan.support.late import provides
from coreplan.view.crg_content import Content, Panel, make_moves
from coreplan.view.crg_labels import Label, Labels
from coreplan.view.crg_layout import BOUNDS_HEIGHT, LINE, Placed, PlacedArc, PlacedState, lay_out
from coreplan.view.crg_sequence import taken_arcs
from coreplan.view.svg import FONT_SIZE, FONTS, Drawing, decimal, safe, text_width

MOST_ELEMENTS = 3000
"""The most nodes and arcs of a picture."""

MARGIN = 24.0
HEADING = 58.0
BETWEEN = 46.0
LEGEND_LINE = 22.0

STYLE = f"""
.coreplan-crg text {{ font: {FONT_SIZE:g}px {FONTS}; fill: #1a1a1a; }}
.coreplan-crg .halo {{ stroke: #ffffff; stroke-width: 3px; stroke-linejoin: round;
  paint-order: stroke; }}
.coreplan-crg .heading {{ font-size: 16px; font-weight: bold; }}
.coreplan-crg .stage {{ font-size: 11px; fill: #6b6b6b; }}
.coreplan-crg .who {{ fill: #1f5fa8; }}
.coreplan-crg .reward-label {{ fill: #b3261e; }}
.coreplan-crg .bounds {{ font-size: 11px; fill: #1f5fa8; }}
.coreplan-crg .legend {{ font-size: 11px; fill: #444444; }}
.coreplan-crg .reward-legend {{ fill: #b3261e; }}
.coreplan-crg .bounds-legend {{ fill: #1f5fa8; }}
.coreplan-crg .arc {{ fill: none; stroke: #4a4a4a; stroke-width: 1.2; }}
.coreplan-crg .wildcard, .coreplan-crg .no-influence {{ stroke: #9a9a9a; }}
.coreplan-crg .reward {{ stroke: #7d7d7d; }}
.coreplan-crg .taken {{ stroke: #c62828; stroke-width: 2.6; }}
.coreplan-crg .state {{ fill: #ffffff; stroke: #1a1a1a; stroke-width: 1.4; }}
.coreplan-crg .independent {{ fill: #bfe5b8; stroke: #2f7d32; }}
.coreplan-crg .state.taken {{ stroke: #c62828; stroke-width: 2.6; }}
.coreplan-crg .dot, .coreplan-crg .triangle {{ fill: #000000; }}
"""


@dataclass
class _Part:
    panel: Panel
    placed: Placed


def draw_crgs(
    crgs: ConditionalReturnGraphs,
    agents: Sequence[str] | str | None = None,
    stages: tuple[int, int] | int | None = None,
    rewards: bool = False,
    bounds: bool = False,
    naive: bool = False,
    sequence: ExecutionSequence | None = None,
) -> str:
    """Draw conditional return graphs as SVG text.

    Parameters
    ----------
    crgs
        The graphs.
    agents
        The names of the agents to draw; None for all.
    stages
        (first, last): from the states of the first stage to those of the last; a number t means
        (t, t + 1); None for all.
    rewards
        Whether to show the rewards of arcs into the next state.
    bounds
        Whether to show [L, U] at states, the smallest and largest return from there on.
    naive
        Whether to draw the naive graph, which groups nothing, beside each graph.
    sequence
        An execution sequence to highlight in the graphs.

    Raises
    ------
    ModelError
        If the sequence is impossible.
    SolverError
        If the picture would have too many nodes and arcs.
    """
    names = crgs.indexed.agent_names
    wanted = names if agents is None else (agents,) if isinstance(agents, str) else tuple(agents)
    shown = [crgs[name].position for name in dict.fromkeys(wanted)]
    if not shown:
        raise SolverError("found no agents; name at least one to draw")
    first, last = stage_range(crgs, stages)
    _check_size(crgs, shown, first, last, naive)
    labels = Labels(crgs, make_moves(crgs))
    taken = None if sequence is None else taken_arcs(crgs, labels, sequence)
    rows: list[list[_Part]] = []
    mentioned = set(shown)
    for agent in shown:
        content = Content(crgs, labels, agent, taken)
        mentioned.update(content.scope)
        rows.append([])
        for plain in (True, False) if naive else (False,):
            panel = content.panel(first, last, naive=plain)
            placed = lay_out(panel, rewards=rewards, bounds=bounds and not plain)
            rows[-1].append(_Part(panel, placed))
    who = [labels.agent(agent) for agent in sorted(mentioned)]
    what = "expected return" if crgs.bounds == "expected" else "return"
    meaning = f"[L, U]: least and largest {what} from here on" if bounds else ""
    return _Writer(rewards, meaning).write(crgs.problem.name, rows, who)


def stage_range(
    crgs: ConditionalReturnGraphs, stages: tuple[int, int] | int | None
) -> tuple[int, int]:
    """Check `stages`, and return the first and last stage."""
    least, most = crgs.indexed.stage, crgs.indexed.horizon
    if stages is None:
        return least, most
    pair = stages if isinstance(stages, tuple | list) else (stages, None)
    if len(pair) == 2 and is_integer(pair[0]):
        begin = int(pair[0])
        end = begin + 1 if pair[1] is None else pair[1]
        if is_integer(end) and least <= begin < end <= most:
            return begin, int(end)
    raise SolverError(
        f"stages is {found(stages)}; expected (first, last) with {least} <= first < last <= {most}"
    )


@provides("ConditionalReturnGraphs.draw")
def drawing(*arguments: Any) -> Drawing:
    """Draw graphs as :func:`draw_crgs` does, as a picture that notebooks show."""
    return Drawing(draw_crgs(*arguments))


def sizes_between(sizes: Sequence[CrgSize], start: int, first: int, last: int) -> CrgSize:
    """The size of a graph between two stages, including the states of the last one."""
    total = CrgSize(states=sizes[last - start].states)
    return sum(sizes[first - start : last - start], total)


def _check_size(
    crgs: ConditionalReturnGraphs, shown: Sequence[int], first: int, last: int, naive: bool
) -> None:
    def reach(agent: int, most: float) -> tuple[float, int]:
        """(nodes and arcs, last stage) of the longest range of stages that fits into a picture."""
        crg = crgs.agents[agent]
        every = [crg.sizes, crg.naive_sizes] if naive else [crg.sizes]
        total = 0.0
        for end in range(first, last + 1):
            following = end - crgs.indexed.stage
            states = sum(sizes[following].states for sizes in every)
            if total + states > most:
                return total, end - 1
            if end < last:
                total += sum(sizes[following].nodes + sizes[following].arcs for sizes in every)
            else:
                total += states
        return total, last

    total = sum(reach(agent, math.inf)[0] for agent in shown)
    if total <= MOST_ELEMENTS:
        return
    ends = [(reach(agent, MOST_ELEMENTS)[1], crgs.agents[agent].agent) for agent in shown]
    end, name = max(ends, key=lambda each: each[0])
    hint = "; influence='features' and merge=True make graphs smaller"
    if end > first:
        hint = f", for instance of agent {found(name)} the stages {first}:{end}"
    raise SolverError(
        f"the picture would have {total:,.0f} nodes and arcs, more than {MOST_ELEMENTS:,}; choose "
        f"fewer agents or stages{hint}"
    )


class _Writer:
    """Writes placed graphs as SVG; `bounds` explains [L, U], or is empty."""

    def __init__(self, rewards: bool, bounds: str) -> None:
        self._rewards = rewards
        self._bounds = bounds
        self._out: list[str] = []

    def write(self, name: str, rows: list[list[_Part]], who: list[Label]) -> str:
        places = []
        y = MARGIN
        width = 0.0
        for row in rows:
            x = MARGIN
            height = max(part.placed.height for part in row)
            for part in row:
                # Centre a lower graph beside a higher one.
                drop = (height - part.placed.height) / 2
                places.append((part, x, y, y + HEADING + drop))
                least = text_width(part.panel.heading.lines[0], 18)
                x += max(part.placed.width, least) + 2 * BETWEEN
            width = max(width, x - 2 * BETWEEN + MARGIN)
            y += HEADING + height + BETWEEN
        width = max(width, 420.0)
        legend = self._legend(rows, who, width)
        total = y - BETWEEN / 2 + LEGEND_LINE * len(legend) + MARGIN / 2
        self._out = [
            '<svg xmlns="http://www.w3.org/2000/svg" class="coreplan-crg" '
            f'width="{decimal(width)}" height="{decimal(total)}" '
            f'viewBox="0 0 {decimal(width)} {decimal(total)}" role="img">',
            f"<title>{safe(f'Conditional return graphs of {name}')}</title>",
            f"<style>{STYLE}</style>",
            f"<defs>{self._markers(rows)}</defs>",
            f'<rect width="{decimal(width)}" height="{decimal(total)}" rx="8" fill="#ffffff"/>',
        ]
        for part, x, top, at in places:
            self._panel(part, x, top, at)
        for k, line in enumerate(legend):
            self._legend_line(line, y - BETWEEN / 2 + LEGEND_LINE * (k + 0.5))
        self._out.append("</svg>")
        return "\n".join(self._out) + "\n"

    def _markers(self, rows: list[list[_Part]]) -> str:
        """Define the arrows at the ends of arcs."""
        arcs = [arc for row in rows for part in row for arc in part.placed.arcs]
        heads = [("arrow", "#4a4a4a", 7)]
        if any(arc.taken for arc in arcs):
            heads.append(("taken", "#c62828", 4))  # in widths of the line
        return "".join(
            f'<marker id="coreplan-crg-{name}" viewBox="0 0 8 8" refX="7.5" refY="4" '
            f'markerWidth="{size}" markerHeight="{size}" orient="auto"><path '
            f'd="M0,0.8 L8,4 L0,7.2 z" fill="{colour}"/></marker>'
            for name, colour, size in heads
        )

    def _panel(self, part: _Part, x: float, top: float, at: float) -> None:
        kind = "naive" if part.panel.naive else "compact"
        self._out.append(f'<g class="graph {kind}">')
        self._text(part.panel.heading, x, top + 14, "heading", "start")
        place = f"translate({decimal(x)},{decimal(at)})"
        self._out.append(f'<g transform="{place}">')
        for middle, heading in part.placed.headings:
            self._text(heading, middle, top - at + HEADING - 18, "stage", "middle")
        for arc in sorted(part.placed.arcs, key=lambda arc: arc.taken):  # highlighted ones on top
            self._arc(arc)
        for node in part.placed.nodes:
            if node.node.kind == "leaf":
                self._triangle(node.x, node.y)
            else:
                self._dot(node.x, node.y)
        for label in part.placed.labels:
            text = label.text if isinstance(label.text, Label) else str(label.text)
            kind = "reward-label halo" if label.kind == "reward" else f"{label.kind}-label halo"
            self._text(text, label.x, label.y, kind, "end" if label.end else "start")
        for state in part.placed.states:
            self._state_box(state)
            lines = state.state.label.lines
            first = state.y - LINE * (len(lines) - 1) / 2 + FONT_SIZE * 0.35
            self._lines(state.state.label, state.x, first, "state-label")
            if self._bounds and state.state.bounds:
                below = state.y + state.height / 2 + BOUNDS_HEIGHT - 3
                self._text(state.state.bounds, state.x, below, "bounds halo", "middle")
        self._out.append("</g></g>")

    # -- shapes --------------------------------------------------------------------------------

    def _arc(self, arc: PlacedArc) -> None:
        x, y = arc.points[0]
        path = f"M{decimal(x)},{decimal(y)}"
        for to_x, to_y in arc.points[1:]:
            if abs(to_y - y) < 0.05:
                path += f" L{decimal(to_x)},{decimal(to_y)}"
            else:
                half = decimal((x + to_x) / 2)
                path += (
                    f" C{half},{decimal(y)} {half},{decimal(to_y)} {decimal(to_x)},{decimal(to_y)}"
                )
            x, y = to_x, to_y
        arrow = ""
        if arc.arrow:
            arrow = f' marker-end="url(#coreplan-crg-{"taken" if arc.taken else "arrow"})"'
        kind = f"{arc.kind} taken" if arc.taken else arc.kind
        self._out.append(f'<path class="arc {kind}" d="{path}"{arrow}/>')

    def _dot(self, x: float, y: float, kind: str = "dot") -> None:
        self._out.append(f'<circle class="{kind}" cx="{decimal(x)}" cy="{decimal(y)}" r="3.6"/>')

    def _triangle(self, x: float, y: float, kind: str = "triangle") -> None:
        corners = ((x - 5.5, y - 6), (x + 6.5, y), (x - 5.5, y + 6))
        points = " ".join(f"{decimal(a)},{decimal(b)}" for a, b in corners)
        self._out.append(f'<polygon class="{kind}" points="{points}"/>')

    def _state_box(self, placed: PlacedState) -> None:
        kind = "state"
        if placed.state.independent:
            kind += " independent"
        if placed.state.taken:
            kind += " taken"
        x, y = placed.x - placed.width / 2, placed.y - placed.height / 2
        self._out.append(
            f'<rect class="{kind}" x="{decimal(x)}" y="{decimal(y)}" '
            f'width="{decimal(placed.width)}" height="{decimal(placed.height)}" '
            f'rx="{decimal(min(placed.width, placed.height, 30.0) / 2)}"/>'
        )

    # -- text ----------------------------------------------------------------------------------

    def _text(self, label: Label | str, x: float, y: float, kind: str, anchor: str) -> None:
        made = label if isinstance(label, Label) else Label((label,))
        title = f"<title>{safe(made.full)}</title>" if made.full else ""
        who = f'<tspan class="who">{made.who}</tspan>' if made.who else ""
        text = " ".join(made.lines)
        self._out.append(
            f'<text class="{kind}" x="{decimal(x)}" y="{decimal(y)}" text-anchor="{anchor}">'
            f"{title}{safe(text)}{who}{safe(made.after)}</text>"
        )

    def _lines(self, label: Label, x: float, y: float, kind: str) -> None:
        title = f"<title>{safe(label.full)}</title>" if label.full else ""
        spans = "".join(
            f'<tspan x="{decimal(x)}" y="{decimal(y + LINE * k)}">{safe(line)}</tspan>'
            for k, line in enumerate(label.lines)
        )
        self._out.append(f'<text class="{kind}" text-anchor="middle">{title}{spans}</text>')

    # -- legend --------------------------------------------------------------------------------

    def _legend(
        self, rows: list[list[_Part]], who: list[Label], width: float
    ) -> list[list[tuple[str, Label]]]:
        """Explain the signs of the picture, in lines that fit its width."""
        parts = [part for row in rows for part in row]
        arcs = {arc.kind for part in parts for arc in part.placed.arcs}
        items: list[tuple[str, Label]] = [("", label) for label in who]
        explained = (
            ("leaf", "influence", "actions known, states to come"),
            ("leaf", "no-influence", "actions known, states to come"),
            ("", "wildcard", "∗ other actions"),
            ("", "no-influence", "◇ other state transitions: no influence"),
        )
        for sign, kind, text in explained:
            if kind in arcs and (sign, Label((text,))) not in items:
                items.append((sign, Label((text,))))
        if any(state.state.independent for part in parts for state in part.placed.states):
            items.append(("independent", Label(("locally independent: best action only",))))
        if any(arc.taken for part in parts for arc in part.placed.arcs):
            items.append(("taken", Label(("the followed sequence",))))
        if self._rewards:
            items.append(("reward", Label(("red: reward",))))
        if self._bounds:
            items.append(("bounds", Label((self._bounds,))))
        lines: list[list[tuple[str, Label]]] = [[]]
        used = 0.0
        for item in items:
            needs = _legend_width(item)
            if lines[-1] and used + needs > width - 2 * MARGIN:
                lines.append([])
                used = 0.0
            lines[-1].append(item)
            used += needs
        return lines

    def _legend_line(self, items: list[tuple[str, Label]], y: float) -> None:
        x = MARGIN
        for sign, label in items:
            begin = x
            if sign == "leaf":
                self._triangle(begin + 7, y - 4, "sign")
                begin += 20
            elif sign == "independent":
                self._out.append(
                    f'<rect x="{decimal(begin)}" y="{decimal(y - 10)}" width="20" height="12" '
                    'rx="6" fill="#bfe5b8" stroke="#2f7d32"/>'
                )
                begin += 26
            elif sign == "taken":
                self._out.append(
                    f'<path d="M{decimal(begin)},{decimal(y - 4)} h20" class="sign taken"/>'
                )
                begin += 26
            self._text(label, begin, y, f"legend {sign}-legend" if sign else "legend", "start")
            x += _legend_width((sign, label))


def _legend_width(item: tuple[str, Label]) -> float:
    return (
        item[1].width * 11 / FONT_SIZE
        + (26.0 if item[0] in ("leaf", "independent", "taken") else 0)
        + 24
    )
