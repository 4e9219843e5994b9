"""Sets of transitions of an agent as few conditions: each allows some states, actions and nexts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Move = tuple[str, str, str]
"""A transition by names: state, action, next state."""


class Box(NamedTuple):
    """The transitions whose state, action and next state are among those given; None means any."""

    state: tuple[str, ...] | None = None
    action: tuple[str, ...] | None = None
    next: tuple[str, ...] | None = None


class MoveTable:
    """All transitions of an agent, for finding boxes that cover some of them.

    Parameters
    ----------
    moves
        The transitions; they are referred to by their positions in this list.

    Examples
    --------
    >>> table = MoveTable([("off", "wait", "off"), ("off", "turn", "on"), ("on", "wait", "on")])
    >>> table.cover({0, 1})
    [Box(state=('off',), action=None, next=None)]
    """

    def __init__(self, moves: Sequence[Move]) -> None:
        self._moves = list(moves)
        self._by_part: list[dict[str, list[int]]] = [{}, {}, {}]
        self._rows: dict[str, dict[str, list[int]]] = {}
        for k, move in enumerate(self._moves):
            for part, name in zip(self._by_part, move, strict=True):
                part.setdefault(name, []).append(k)
            self._rows.setdefault(move[0], {}).setdefault(move[1], []).append(k)

    def __len__(self) -> int:
        return len(self._moves)

    def cover(self, chosen: set[int]) -> list[Box]:
        """Boxes that together hold exactly the chosen transitions, each of them once."""
        left = set(chosen)
        if len(left) == len(self._moves):
            return [Box()]
        boxes = []
        # Whole states, actions or next states make the largest boxes.
        for part in range(3):
            whole = [name for name, held in self._by_part[part].items() if left.issuperset(held)]
            if whole:
                boxes.append(Box(*(tuple(whole) if k == part else None for k in range(3))))
                for name in whole:
                    left.difference_update(self._by_part[part][name])
        for k in sorted(left):
            if k in left:
                boxes.append(self._grow(k, left))
        return boxes

    def _grow(self, first: int, left: set[int]) -> Box:
        """A large box around a transition within those that are left, which it is taken from."""
        state, action, _ = self._moves[first]
        row = self._rows[state]
        nexts: set[str] | None = None  # None: any
        if not left.issuperset(row[action]):
            nexts = {self._moves[k][2] for k in row[action] if k in left}
        actions: set[str] | None = {
            name for name in row if self._fits(self._within(state, {name}, nexts), left)
        }
        if all(left.issuperset(self._within(state, {name}, nexts)) for name in row):
            actions = None
        held: list[int] = []
        states = []
        for name in self._rows:
            within = self._within(name, actions, nexts)
            if self._fits(within, left):
                states.append(name)
                held += within
        if nexts is not None:
            # More next states may fit between these states and actions.
            others: dict[str, list[int]] = {}
            for name in states:
                for k in self._within(name, actions, None):
                    others.setdefault(self._moves[k][2], []).append(k)
            for after, within in others.items():
                if after not in nexts and left.issuperset(within):
                    nexts.add(after)
                    held += within
        left.difference_update(held)
        return Box(
            None if len(states) == len(self._rows) else tuple(states),
            None if actions is None else tuple(actions if len(actions) < 2 else sorted(actions)),
            None if nexts is None else tuple(sorted(nexts)),
        )

    def _within(self, state: str, actions: set[str] | None, nexts: set[str] | None) -> list[int]:
        row = self._rows[state]
        return [
            k
            for name, held in row.items()
            if actions is None or name in actions
            for k in held
            if nexts is None or self._moves[k][2] in nexts
        ]

    @staticmethod
    def _fits(within: list[int], left: set[int]) -> bool:
        return bool(within) and left.issuperset(within)


def joint_boxes(
    tables: Sequence[MoveTable], numbers: NDArray[np.int32]
) -> Iterator[tuple[tuple[Box, ...], int]]:
    """Boxes of joint transitions with equal numbers, for all numbers but 0.

    Parameters
    ----------
    tables
        The transitions of each agent.
    numbers
        A number for each joint transition: an axis for each agent.

    Yields
    ------
    tuple
        A box for each agent, and the number of all joint transitions within them.
    """
    groups: dict[bytes, list[int]] = {}
    for k, part in enumerate(numbers):
        groups.setdefault(part.tobytes(), []).append(k)
    for members in groups.values():
        part = numbers[members[0]]
        if not part.any():
            continue
        mine = tables[0].cover(set(members))
        if len(tables) == 1:
            others: list[tuple[tuple[Box, ...], int]] = [((), int(part))]
        else:
            others = list(joint_boxes(tables[1:], part))
        for box in mine:
            for rest, number in others:
                yield (box, *rest), number
