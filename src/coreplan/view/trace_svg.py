"""Pictures of a search: joint states as boxes by stage, joint actions as arcs with bounds.

Every part of the tree has its own horizontal band. Therefore nothing overlaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coreplan.analysis.followed import in_brackets
from coreplan.analysis.trace import (
    SearchTrace,
    TracedAction,
    TracedLocal,
    TracedOutcome,
    TracedState,
)
from coreplan.support.late import provides
from coreplan.view.crg_svg import draw_crgs
from coreplan.view.svg import FONT_SIZE, FONTS, attribute, fit, isolated, safe, stacked
from coreplan.view.svg import text_width as _width
from coreplan.view.trace_part import TracePart, part_of
from coreplan.view.trace_text import (
    counts_in_words,
    hidden_in_words,
    interval,
    joint_action,
    local_name,
    narrowed,
    number,
    one_line,
    reason,
)

_INK, _GREY, _BLUE, _RED = "#222222", "#6e6e6e", "#1a56c4", "#c62828"
_GREEN, _PALE_GREEN, _GREEN_EDGE = "#bfe6c0", "#eef8ee", "#3f8f46"
_YELLOW = "#fff3c4"

_LINE = 16.0  # between lines of text
_ROW = 46.0  # of a joint action
_GAP = 8.0  # between boxes
_PAD = 8.0  # inside boxes and frames
_CURVE = 44.0  # for an arc to get to its row
_FAN = 62.0  # from a joint action to its outcomes
_MARGIN = 20.0
_BOLD = 1.1  # how much wider bold letters are
_MOST_NAME, _MOST_ACTION = 230.0, 260.0  # width of texts


@provides("SearchTrace.to_svg")
def trace_svg(trace: SearchTrace, branches: Sequence[str] = (), graphs: bool = False) -> str:
    """Draw the picture as SVG text."""
    picture = _Picture(trace, part_of(trace, branches)).draw()
    if not graphs:
        return picture
    sequence = None if trace.followed is None else trace.followed.sequence
    return stacked(picture, draw_crgs(trace.crgs, rewards=True, bounds=True, sequence=sequence))


@dataclass
class _Column:
    """The horizontal positions of a stage."""

    box: float = 0.0
    box_width: float = 0.0
    label_width: float = 0.0

    @property
    def row(self) -> float:
        """The beginning of the horizontal part of arcs."""
        return self.box + self.box_width + _CURVE

    @property
    def end(self) -> float:
        """The end of arcs."""
        return self.row + self.label_width


class _Picture:
    def __init__(self, trace: SearchTrace, part: TracePart) -> None:
        self._trace = trace
        self._part = part
        self._states = part.states
        self._out: list[str] = []
        self._chances: list[tuple[float, float, str]] = []
        self._right = 0.0
        self._columns: dict[int, _Column] = {}
        # The band of each joint state: its top and its height.
        self._height = [0.0] * len(self._states)
        self._top = [0.0] * len(self._states)
        # What is red: visits; (visit, action); (visit, action, outcome).
        self._red_visits, self._red_actions = part.visits, part.actions
        self._red_outcomes = part.outcomes

    def draw(self) -> str:
        if self._trace.followed is None:
            self._find_plan()
        self._measure()
        self._place_columns()
        top = self._head()
        bottom = self._place_outcome(self._part.start, top)
        for position, state in enumerate(self._states):  # parents come before children
            self._place_actions(position, state)
        self._draw_outcome(self._part.start, None, False)
        for position, state in enumerate(self._states):
            self._draw_actions(position, state)
        for position, state in enumerate(self._states):
            self._draw_box(position, state)
        width, height = self._right + _MARGIN, bottom + _MARGIN
        title = safe(one_line(self._trace.problem))
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" '
                f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
                f"font-family={attribute(FONTS)} "
                f'font-size="{FONT_SIZE:g}" fill="{_INK}">',
                f"<title>{title}: the search</title>",
                f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>',
                *self._out,
                "</svg>\n",
            ]
        )

    # -- places --------------------------------------------------------------------------------

    def _find_plan(self) -> None:
        """Mark the best joint actions, and the joint states that they lead to."""
        waiting = list(self._part.start.states)
        while waiting:
            position = waiting.pop()
            self._red_visits.add(position)
            state = self._states[position]
            if state.best is not None:
                self._red_actions.add((position, state.best))
                for k, outcome in enumerate(state.actions[state.best].outcomes):
                    self._red_outcomes.add((position, state.best, k))
                    waiting.extend(outcome.states)

    def _box_height(self, state: TracedState) -> float:
        return _LINE * len(self._box_lines(state)) + _PAD

    def _box_lines(self, state: TracedState) -> list[str]:
        lines = [_local_line(local) for local in state.locals]
        if state.stage == self._trace.horizon:
            return [*lines, f"earns {number(state.value)}"]
        remark = " (remembered)" if state.remembered else ""
        return [*lines, f"worth {number(state.value)}{remark}"]

    def _measure(self) -> None:
        for position in reversed(range(len(self._states))):  # children before parents
            state = self._states[position]
            self._height[position] = max(self._box_height(state), self._rows(state)) + _GAP

    def _rows(self, state: TracedState) -> float:
        """The height of the joint actions of a visit."""
        more = _LINE + _GAP if self._has_hidden(state) else 0.0
        return sum(map(self._action_height, state.actions)) + more

    def _has_hidden(self, state: TracedState) -> bool:
        return bool(self._part.hidden) and self._part.is_first(state)

    def _action_height(self, action: TracedAction) -> float:
        return max(_ROW, sum(map(self._outcome_height, action.outcomes)))

    def _outcome_height(self, outcome: TracedOutcome) -> float:
        inside = sum(self._height[k] for k in outcome.states)
        return inside + (2 * _PAD + _GAP if outcome.decoupled else 0.0)

    def _place_columns(self) -> None:
        for state in self._states:
            column = self._columns.setdefault(state.stage, _Column())
            *names, worth = self._box_lines(state)
            widest = max(_BOLD * _width(worth), *map(_width, names))
            column.box_width = max(column.box_width, widest + 2 * _PAD, 90.0)
            for action in state.actions:
                name = _short(action)
                widest = max(_BOLD * _width(name), _width(" · ".join(_bounds(action))))
                column.label_width = max(column.label_width, widest + 2 * _PAD)
        x = _MARGIN + _PAD
        for stage in sorted(self._columns):
            column = self._columns[stage]
            column.box = x
            x = column.end + _FAN + _PAD
            searched = column.label_width > 0
            self._right = max(
                self._right, column.end if searched else column.box + column.box_width
            )
        for state in self._states:
            column = self._columns[state.stage]
            for action in state.actions:
                if action.pruned:
                    note = _width(reason(action)) + 3 * _PAD
                    self._right = max(self._right, column.end + note)
            if self._has_hidden(state):
                note = _width(hidden_in_words(self._part)) + 2 * _PAD
                self._right = max(self._right, column.row + note)

    def _place_outcome(self, outcome: TracedOutcome, top: float) -> float:
        """Place the groups of an outcome; return its lower end."""
        inner = top + (_PAD + _GAP / 2 if outcome.decoupled else 0.0)
        for k in outcome.states:
            self._top[k] = inner
            inner += self._height[k]
        return top + self._outcome_height(outcome)

    def _place_actions(self, position: int, state: TracedState) -> None:
        top = self._actions_top(position)
        for action in state.actions:
            needed = sum(map(self._outcome_height, action.outcomes))
            inner = top + (self._action_height(action) - needed) / 2
            for outcome in action.outcomes:
                inner = self._place_outcome(outcome, inner)
            top += self._action_height(action)

    def _actions_top(self, position: int) -> float:
        rows = self._rows(self._states[position])
        return self._top[position] + (self._height[position] - rows) / 2

    def _middle(self, position: int) -> float:
        return self._top[position] + self._height[position] / 2

    # -- drawing -------------------------------------------------------------------------------

    def _head(self) -> float:
        """Draw title, legend and stages; return the top of the tree."""
        trace = self._trace
        y = _MARGIN + 10
        name = fit(one_line(trace.problem), 500)
        title = f"{name} by {trace.algorithm}: worth {number(trace.value)}"
        self._text(_MARGIN, y, title, size=16, weight="bold")
        lines = [counts_in_words(trace)]
        if sum(trace.constants):
            lines.append(f"{number(sum(trace.constants))} of this does not depend on any action")
        for line in lines:
            y += 20
            self._text(_MARGIN, y, line, fill="#555555")
        y = self._legend(y + 24)
        for stage, column in sorted(self._columns.items()):
            x = column.box + column.box_width / 2
            self._text(x, y, f"stage {stage}", fill="#555555", anchor="middle", weight="bold")
        return y + 12

    def _legend(self, y: float) -> float:
        actions = [action for state in self._states for action in state.actions]
        outcomes = [outcome for action in actions for outcome in action.outcomes]
        what = "the best plan" if self._trace.followed is None else "the followed sequence"
        items = [(bool(actions), f'stroke="{_RED}" stroke-width="2.5"', "", what)]
        items += [
            (bool(actions), "", "[L, U]", "bounds of a joint action"),
            (
                any(map(narrowed, actions)),
                "",
                "[l, u] → [L, U]",
                "by the CRGs alone → with chances",
            ),
            (
                any(action.pruned for action in actions),
                f'stroke="{_GREY}" stroke-width="1.5" stroke-dasharray="5 4"',
                "",
                "pruned",
            ),
        ]
        boxes = [
            (
                self._part.start.decoupled or any(outcome.decoupled for outcome in outcomes),
                f'fill="{_PALE_GREEN}" stroke="{_GREEN_EDGE}" stroke-dasharray="3 3"',
                "decoupled: groups solved apart",
            ),
            (
                any(state.independent for state in self._states),
                f'fill="{_GREEN}" stroke="{_GREEN_EDGE}"',
                "alone: own best policy",
            ),
            (
                any(state.remembered for state in self._states),
                f'fill="{_YELLOW}" stroke="{_INK}" stroke-dasharray="3 3"',
                "remembered",
            ),
        ]
        x = _MARGIN
        most = max(self._right, 640.0)

        def room(width: float) -> None:
            nonlocal x, y
            if x > _MARGIN and x + width > most:
                x, y = _MARGIN, y + 22
            self._right = max(self._right, x + width)

        for present, style, sample, words in items:
            if not present:
                continue
            wide = _width(sample) if sample else 30.0
            room(wide + 8 + _width(words))
            if sample:
                self._text(x, y, sample, fill=_BLUE)
            else:
                self._out.append(f'<path d="M{x:.1f} {y - 4:.1f}h30" {style}/>')
            self._text(x + wide + 8, y, words, fill="#555555")
            x += wide + 8 + _width(words) + 18
        for present, style, words in boxes:
            if not present:
                continue
            room(34 + _width(words))
            self._out.append(
                f'<rect x="{x:.1f}" y="{y - 11:.1f}" width="26" height="14" rx="4" {style}/>'
            )
            self._text(x + 34, y, words, fill="#555555")
            x += 34 + _width(words) + 18
        return y + 32

    def _draw_outcome(
        self, outcome: TracedOutcome, source: tuple[float, float] | None, red: bool
    ) -> None:
        """Draw the frame around groups, and the line that leads to it."""
        column = self._columns[self._states[outcome.states[0]].stage]
        x = column.box
        y = (self._middle(outcome.states[0]) + self._middle(outcome.states[-1])) / 2
        if outcome.decoupled:
            first, last = outcome.states[0], outcome.states[-1]
            top = self._middle(first) - self._box_height(self._states[first]) / 2 - _PAD
            bottom = self._middle(last) + self._box_height(self._states[last]) / 2 + _PAD
            x -= _PAD
            y = (top + bottom) / 2
            self._out.append(
                f'<rect x="{x:.1f}" y="{top:.1f}" width="{column.box_width + 2 * _PAD:.1f}" '
                f'height="{bottom - top:.1f}" rx="12" fill="{_PALE_GREEN}" '
                f'stroke="{_GREEN_EDGE}" stroke-dasharray="3 3"/>'
            )
        if source is None:
            return
        self._curve(
            source,
            (x, y),
            f'stroke="{_RED if red else _INK}" stroke-width="{2.5 if red else 1.2}"',
        )
        if outcome.probability != 1:
            beside = y + 11 if y > source[1] else y - 4  # on the side without the line
            self._chances.append((x - 4, beside, number(outcome.probability, 3)))

    def _draw_actions(self, position: int, state: TracedState) -> None:
        column = self._columns[state.stage]
        start = (column.box + column.box_width, self._middle(position))
        top = self._actions_top(position)
        for k, action in enumerate(state.actions):
            y = top + self._action_height(action) / 2
            top += self._action_height(action)
            red = (position, k) in self._red_actions
            if action.pruned:
                style = f'stroke="{_GREY}" stroke-width="1.2" stroke-dasharray="5 4"'
            elif red:
                style = f'stroke="{_RED}" stroke-width="2.5"'
            else:
                style = f'stroke="{_INK}" stroke-width="1.2"'
            self._curve(start, (column.row, y), style, column.label_width)
            self._label(column.row + _PAD, y, action, bold=k == state.best)
            if action.pruned:
                self._cross(column.end, y)
                self._text(column.end + 2 * _PAD, y + 4, reason(action), fill=_GREY)
                continue
            colour = _RED if red else _INK
            self._out.append(
                f'<circle cx="{column.end:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>'
            )
            for which, outcome in enumerate(action.outcomes):
                followed = (position, k, which) in self._red_outcomes
                self._draw_outcome(outcome, (column.end, y), followed)
        for x, y, chance in self._chances:  # above all lines
            self._text(x, y, chance, size=10, anchor="end", halo=True)
        self._chances.clear()
        if self._has_hidden(state):
            self._text(column.row + _PAD, top + _LINE, hidden_in_words(self._part), fill=_GREY)

    def _label(self, x: float, y: float, action: TracedAction, *, bold: bool) -> None:
        name = joint_action(action)
        self._text(
            x,
            y - 5,
            _short(action),
            whole=name,
            fill=_GREY if action.pruned else _INK,
            weight="bold" if bold else "",
        )
        bounds, worth = _bounds(action)
        opacity = 0.8 if action.pruned else 1
        self._out.append(
            f'<text x="{x:.1f}" y="{y + 14:.1f}"><tspan fill="{_BLUE}" fill-opacity="{opacity}">'
            f'{bounds}</tspan><tspan dx="8">{worth}</tspan></text>'
        )

    def _draw_box(self, position: int, state: TracedState) -> None:
        column = self._columns[state.stage]
        height = self._box_height(state)
        top = self._middle(position) - height / 2
        fill, edge = "white", _INK
        if state.independent:
            fill, edge = _GREEN, _GREEN_EDGE
        elif state.remembered:
            fill = _YELLOW
        red = position in self._red_visits
        if red:
            edge = _RED
        whole = "\n".join(
            [
                *(
                    f"{one_line(local.agent)}: "
                    + " or ".join(map(one_line, (local.label, *local.alike)))
                    for local in state.locals
                ),
                self._box_lines(state)[-1],
                *(["alone: its own best policy"] if state.independent else []),
            ]
        )
        dashes = ' stroke-dasharray="3 3"' if state.remembered else ""
        self._out.append(
            f'<g><title>{safe(whole)}</title><rect x="{column.box:.1f}" y="{top:.1f}" '
            f'width="{column.box_width:.1f}" height="{height:.1f}" rx="9" fill="{fill}" '
            f'stroke="{edge}" stroke-width="{2 if red else 1.2}"{dashes}/>'
        )
        middle = column.box + column.box_width / 2
        lines = self._box_lines(state)
        for k, line in enumerate(lines):
            last = k == len(lines) - 1
            y = top + _PAD / 2 + _LINE * (k + 0.75)
            self._text(middle, y, line, anchor="middle", weight="bold" if last else "")
        self._out.append("</g>")

    def _curve(
        self, start: tuple[float, float], end: tuple[float, float], style: str, on: float = 0.0
    ) -> None:
        """A curve that is horizontal at both ends, with an optional horizontal tail."""
        (x, y), (to_x, to_y) = start, end
        bend = (x + to_x) / 2
        tail = f"H{to_x + on:.1f}" if on else ""
        self._out.append(
            f'<path d="M{x:.1f} {y:.1f}C{bend:.1f} {y:.1f} {bend:.1f} {to_y:.1f} '
            f'{to_x:.1f} {to_y:.1f}{tail}" fill="none" {style}/>'
        )

    def _cross(self, x: float, y: float) -> None:
        self._out.append(
            f'<path d="M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8" fill="none" stroke="{_GREY}" '
            'stroke-width="1.8"/>'
        )

    def _text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        fill: str = "",
        size: float = 0,
        anchor: str = "",
        weight: str = "",
        whole: str = "",
        halo: bool = False,
    ) -> None:
        style = "".join(
            f' {name}="{value}"'
            for name, value in (
                ("fill", fill),
                ("font-size", f"{size:g}" if size else ""),
                ("text-anchor", anchor),
                ("font-weight", weight),
                ("stroke", "white" if halo else ""),
                ("stroke-width", "3" if halo else ""),
                ("paint-order", "stroke" if halo else ""),
            )
            if value
        )
        title = f"<title>{safe(whole)}</title>" if whole and whole != text else ""
        self._out.append(f'<text x="{x:.1f}" y="{y:.1f}"{style}>{title}{safe(text)}</text>')


def _local_line(local: TracedLocal) -> str:
    """An agent and its state, both shortened so that a part of each remains visible."""
    agent = fit(one_line(local.agent), _MOST_NAME / 2)
    state = fit(local_name(local), _MOST_NAME - _width(agent))
    return f"{isolated(agent)}: {isolated(state)}"


def _short(action: TracedAction) -> str:
    """A joint action, with the part of every agent shortened equally."""
    most = max(_MOST_ACTION / len(action.actions), _width("start w…"))
    return in_brackets([isolated(fit(one_line(name), most)) for name in action.actions])


def _bounds(action: TracedAction) -> tuple[str, str]:
    """The label below an arc: the bounds and the final value of the action."""
    bounds = interval(action.lower, action.upper)
    if narrowed(action):
        bounds = f"{interval(action.graph_lower, action.graph_upper)} → {bounds}"
    if action.given_up is not None:
        return bounds, f"given up: {reason(action)}"
    return bounds, "" if action.value is None else f"worth {number(action.value)}"
