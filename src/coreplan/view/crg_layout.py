"""The layout of a conditional return graph: stages from left to right, a row for each leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from coreplan.view.crg_content import Panel, StateNode, Transition, TreeNode
from coreplan.view.svg import text_width

ROW = 25.0
LINE = 15.0
STATE_PAD = 11.0
BOUNDS_HEIGHT = 17.0
TREE_GAP = 7.0
STATE_GAP = 20.0
NODE = 9.0
"""The width of a dot or triangle with its margin."""


@dataclass
class PlacedState:
    """A state with its box."""

    state: StateNode
    x: float
    y: float
    width: float
    height: float


@dataclass
class PlacedNode:
    """A dot or a triangle with its position."""

    node: TreeNode
    x: float
    y: float


@dataclass
class PlacedArc:
    """An arc through points; it bends between points of different height."""

    kind: str
    points: list[tuple[float, float]]
    arrow: bool = False
    taken: bool = False


@dataclass
class PlacedLabel:
    """A label of an arc; with `end`, it ends at x instead of starting there."""

    kind: str
    text: object
    x: float
    y: float
    end: bool = False


@dataclass
class Placed:
    """A graph with the positions of all its parts; the top left corner is (0, 0)."""

    width: float = 0.0
    height: float = 0.0
    states: list[PlacedState] = field(default_factory=list)
    nodes: list[PlacedNode] = field(default_factory=list)
    arcs: list[PlacedArc] = field(default_factory=list)
    labels: list[PlacedLabel] = field(default_factory=list)
    headings: list[tuple[float, str]] = field(default_factory=list)


def lay_out(panel: Panel, *, rewards: bool, bounds: bool) -> Placed:
    """Compute the positions of all parts of a graph."""
    return _Layout(panel, rewards, bounds).run()


class _Layout:
    def __init__(self, panel: Panel, rewards: bool, bounds: bool) -> None:
        self._panel = panel
        self._rewards = rewards
        self._bounds = bounds
        self._placed = Placed()

    def run(self) -> Placed:
        panel, placed = self._panel, self._placed
        self._by_source = [
            _by_source(stage, len(column))
            for stage, column in zip(panel.stages, panel.columns, strict=False)
        ]
        self._middles = self._stack()
        self._rows = [self._leaf_rows(s) for s in range(len(panel.stages))]
        x = 0.0
        for s, column in enumerate(panel.columns):
            x = self._place_states(s, column, x)
            if s < len(panel.stages):
                x = self._place_stage(s, x)
        placed.width = x
        bottoms = [state.y + state.height / 2 for state in placed.states]
        rows = [y + ROW / 2 for stage in self._rows for tree in stage for y in tree]
        extra = BOUNDS_HEIGHT if self._bounds else 0.0
        placed.height = max([*(bottom + extra for bottom in bottoms), *rows])
        return placed

    # -- from top to bottom --------------------------------------------------------------------

    def _state_height(self, state: StateNode) -> float:
        return LINE * max(1, len(state.label.lines)) + STATE_PAD

    def _room(self, s: int, k: int) -> float:
        """The height of a state with its trees."""
        state = self._panel.columns[s][k]
        own = self._state_height(state)
        if self._bounds and state.bounds:
            own += 2 * BOUNDS_HEIGHT  # on both sides: the state stays in the middle
        trees = self._by_source[s][k] if s < len(self._by_source) else []
        rows = sum(max(1, len(tree.leaves)) for tree in trees)
        return max(own, rows * ROW + max(0, len(trees) - 1) * TREE_GAP) + STATE_GAP

    def _stack(self) -> list[list[float]]:
        """The vertical middle of each state, by column; all states fit below the top."""
        middles: list[list[float]] = []
        for s, column in enumerate(self._panel.columns):
            rooms = [self._room(s, k) for k in range(len(column))]
            wanted = [0.0] * len(column)
            if s > 0:
                arriving: list[list[float]] = [[] for _ in column]
                for tree, rows in zip(
                    self._panel.stages[s - 1], self._rows_of(s - 1, middles[-1]), strict=True
                ):
                    arriving[tree.target] += rows
                wanted = [sum(rows) / len(rows) if rows else 0.0 for rows in arriving]
            order = sorted(range(len(column)), key=lambda k: (wanted[k], k))
            places = _spread([wanted[k] for k in order], [rooms[k] for k in order])
            row = [0.0] * len(column)
            for k, y in zip(order, places, strict=True):
                row[k] = y
            middles.append(row)
        top = min(
            (
                row[k] - (self._room(s, k) - STATE_GAP) / 2
                for s, row in enumerate(middles)
                for k in range(len(row))
            ),
            default=0.0,
        )
        return [[y - top for y in row] for row in middles]

    def _rows_of(self, s: int, middles: list[float]) -> list[list[float]]:
        """The vertical positions of the leaves of each transition of a stage, in order."""
        rows: dict[int, list[float]] = {}
        for k, trees in enumerate(self._by_source[s]):
            count = sum(max(1, len(tree.leaves)) for tree in trees)
            y = middles[k] - (count * ROW + max(0, len(trees) - 1) * TREE_GAP) / 2 + ROW / 2
            for tree in trees:
                rows[id(tree)] = []
                for _ in range(max(1, len(tree.leaves))):
                    rows[id(tree)].append(y)
                    y += ROW
                y += TREE_GAP
        return [rows[id(tree)] for tree in self._panel.stages[s]]

    def _leaf_rows(self, s: int) -> list[list[float]]:
        return self._rows_of(s, self._middles[s])

    # -- from left to right --------------------------------------------------------------------

    def _place_states(self, s: int, column: Sequence[StateNode], x: float) -> float:
        width = max(
            [
                max(LINE + STATE_PAD, state.label.width + 20, self._state_height(state))
                for state in column
            ],
            default=0.0,
        )
        reach = width
        if self._bounds:
            reach = max([width, *(text_width(state.bounds, 11) for state in column)])
        x += (reach - width) / 2
        for k, state in enumerate(column):
            own = max(self._state_height(state), state.label.width + 20)
            own = width if width - own < 40 else own
            self._placed.states.append(
                PlacedState(
                    state, x + width / 2, self._middles[s][k], own, self._state_height(state)
                )
            )
        self._placed.headings.append((x + width / 2, f"stage {self._panel.first_stage + s}"))
        return x + width + (reach - width) / 2

    def _place_stage(self, s: int, x: float) -> float:
        """Place the trees of a stage right of its states; return the position of the next."""
        stage = self._panel.stages[s]
        if not stage:
            return x + ROW
        heights = [
            _node_heights(tree, rows) for tree, rows in zip(stage, self._rows[s], strict=True)
        ]
        columns = self._columns(s, x, heights)
        last = columns[-1][1]
        room = 0.0
        if self._rewards:
            texts = [leaf.reward for tree in stage for leaf in tree.leaves]
            texts += [tree.reward for tree in stage if not tree.nodes]
            room = max(map(text_width, texts)) + NODE
        drop = max(
            abs(y - self._middles[s + 1][tree.target])
            for tree, rows in zip(stage, self._rows[s], strict=True)
            for y in rows
        )
        turn = last + NODE + room
        arrival = turn + min(170.0, max(44.0, 24 + 0.3 * drop))
        lefts = self._lefts(s + 1, arrival)
        for tree, rows, ys in zip(stage, self._rows[s], heights, strict=True):
            source = (self._right(s, tree.source), self._middles[s][tree.source])
            target = (lefts[tree.target], self._middles[s + 1][tree.target])
            self._place_tree(tree, ys, columns, source)
            leaves = tree.leaves
            for k, y in enumerate(rows):
                reward = leaves[k].reward if leaves else tree.reward
                points = [(turn, y), target]
                if leaves:
                    start = (columns[leaves[0].depth][1], y)
                    taken = leaves[k].taken
                    self._placed.arcs.append(PlacedArc("reward", [start, *points], True, taken))
                else:
                    fan = columns[0][0]
                    way = [source, (fan, y), *points]
                    self._placed.arcs.append(PlacedArc("plain", way, True, tree.taken))
                    self._add_label("own", tree.label, columns[0][1] - NODE, y, end=True)
                if self._rewards:
                    self._add_label("reward", reward, last + NODE, y)
        return arrival

    def _columns(self, s: int, x: float, heights: list[list[float]]) -> list[tuple[float, float]]:
        """The end of the bend and the position of nodes, for each depth of the trees."""
        stage = self._panel.stages[s]
        deepest = max((tree.nodes[-1].depth if tree.nodes else 0) for tree in stage)
        widest = [0.0] * (deepest + 1)
        drops = [0.0] * (deepest + 1)
        for tree, ys, rows in zip(stage, heights, self._rows[s], strict=True):
            start = self._middles[s][tree.source]
            if not tree.nodes:
                widest[0] = max(widest[0], tree.label.width)
                drops[0] = max(drops[0], abs(rows[0] - start))
            for node, y in zip(tree.nodes, ys, strict=True):
                widest[node.depth] = max(widest[node.depth], node.label.width)
                above = start if node.parent < 0 else ys[node.parent]
                drops[node.depth] = max(drops[node.depth], abs(y - above))
        columns = []
        for width, drop in zip(widest, drops, strict=True):
            turned = x + min(120.0, max(24.0, 16 + 0.25 * drop))
            x = turned + width + 2 * NODE
            columns.append((turned, x))
        return columns

    def _place_tree(
        self,
        tree: Transition,
        ys: list[float],
        columns: list[tuple[float, float]],
        source: tuple[float, float],
    ) -> None:
        for node, y in zip(tree.nodes, ys, strict=True):
            turned, x = columns[node.depth]
            start = source
            if node.parent >= 0:
                start = (columns[tree.nodes[node.parent].depth][1], ys[node.parent])
            way = [start, (turned, y), (x, y)]
            self._placed.arcs.append(PlacedArc(node.arc, way, taken=node.taken))
            self._placed.nodes.append(PlacedNode(node, x, y))
            kind = "own" if node.arc == "own" else "other"
            self._add_label(kind, node.label, x - NODE, y, end=True)

    def _add_label(self, kind: str, text: object, x: float, y: float, end: bool = False) -> None:
        self._placed.labels.append(PlacedLabel(kind, text, x, y - 4.5, end))

    def _right(self, s: int, k: int) -> float:
        """The right end of a placed state."""
        before = sum(len(column) for column in self._panel.columns[:s])
        state = self._placed.states[before + k]
        return state.x + state.width / 2

    def _lefts(self, s: int, x: float) -> list[float]:
        """The left ends of the states of a column, before they are placed."""
        states, headings = self._placed.states, self._placed.headings
        self._placed.states, self._placed.headings = [], []
        self._place_states(s, self._panel.columns[s], x)
        lefts = [state.x - state.width / 2 for state in self._placed.states]
        self._placed.states, self._placed.headings = states, headings
        return lefts


def _by_source(stage: Sequence[Transition], states: int) -> list[list[Transition]]:
    found: list[list[Transition]] = [[] for _ in range(states)]
    for tree in stage:
        found[tree.source].append(tree)
    return found


def _node_heights(tree: Transition, rows: list[float]) -> list[float]:
    """Place leaves in their rows, and every other node in the middle of its children."""
    ys = [0.0] * len(tree.nodes)
    first = len(tree.nodes) - len(rows)
    ends: list[tuple[float, float] | None] = [None] * len(tree.nodes)
    for k in range(len(tree.nodes) - 1, -1, -1):
        below = ends[k]
        ys[k] = rows[k - first] if below is None else (below[0] + below[1]) / 2
        parent = tree.nodes[k].parent
        if parent >= 0:
            known = ends[parent]
            ends[parent] = (ys[k], ys[k]) if known is None else (ys[k], known[1])
    return ys


def _spread(wanted: Sequence[float], rooms: Sequence[float]) -> list[float]:
    """Positions in order, as close to the wanted ones as their sizes allow (least squares).

    Examples
    --------
    >>> _spread([0, 0, 50], [10, 10, 10])
    [-5.0, 5.0, 50.0]
    """
    # Relative to a tight packing, positions must not decrease: pool those that would.
    offsets = []
    total = 0.0
    for room in rooms:
        offsets.append(total + room / 2)
        total += room
    pools: list[tuple[float, int]] = []
    for want, offset in zip(wanted, offsets, strict=True):
        mean, count = want - offset, 1
        while pools and pools[-1][0] > mean:
            other, more = pools.pop()
            mean = (mean * count + other * more) / (count + more)
            count += more
        pools.append((mean, count))
    starts = [mean for mean, count in pools for _ in range(count)]
    return [start + offset for start, offset in zip(starts, offsets, strict=True)]
