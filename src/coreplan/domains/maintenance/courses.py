"""The courses of a maintenance plan: the starts of works, depending on delays.

A plan branches only at starts of works that can be delayed. Everything between two branches is one
piece, and a small graph of pieces holds all courses. Independent parts of a policy have separate
graphs.

If a graph is too large, it holds the course without delays, then the courses with one delay, with
two, and so on; among courses with equally many delays the likeliest ones.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.states import START
from coreplan.errors import ModelError
from coreplan.model.indexed import IndexedAgent
from coreplan.policies.policy import Policy
from coreplan.policies.rules import Indices
from coreplan.support.rows import Integers

MOST_PIECES = 100_000
"""The most pieces of all graphs of a plan together."""
MOST_BRANCHES = 4096
"""The most combinations of delays that are followed when many works start in one stage."""
STATE_BYTES = np.dtype(np.uint32).itemsize
"""The size of a contractor's state in the keys of pieces."""

Delayed = tuple[int, ...]
"""The delayed works among the open ones: their positions, ascending."""


@dataclass(frozen=True, slots=True)
class Start:
    """The start of a task at a stage; contractor and task by number."""

    contractor: int
    task: int
    stage: int


@dataclass(frozen=True, slots=True)
class Piece:
    """The part of a course between two moments at which delays become known.

    Attributes
    ----------
    stage
        The stage at which it begins.
    starts
        The starts in order of time. The open works, which can be delayed, start last, all at one
        stage.
    open
        The number of open works at the end of `starts`; 0 if the course has no more open works.
    following
        The number of the next piece for each set of delayed open works; sets that the graph does
        not hold are missing.
    """

    stage: int
    starts: tuple[Start, ...]
    open: int
    following: Mapping[Delayed, int]

    @property
    def open_starts(self) -> tuple[Start, ...]:
        """The starts of the open works."""
        return self.starts[len(self.starts) - self.open :]


@dataclass(frozen=True)
class Courses:
    """The courses of contractors who decide independently of the others.

    Attributes
    ----------
    contractors
        The numbers of the contractors.
    pieces
        The pieces; the first one begins with the plan, and a piece leads to later ones only.
    covered
        The chance that the real course is among them: 1 if all courses are held.
    """

    contractors: tuple[int, ...]
    pieces: tuple[Piece, ...]
    covered: float

    @cached_property
    def complete(self) -> bool:
        """Whether the graph holds all courses."""
        return all(len(piece.following) == 2**piece.open for piece in self.pieces if piece.open)

    @cached_property
    def without_delays(self) -> tuple[Start, ...]:
        """The starts of the course in which no work is delayed, which is always held."""
        piece = self.pieces[0]
        starts = list(piece.starts)
        while piece.open:
            piece = self.pieces[piece.following[()]]
            starts += piece.starts
        return tuple(starts)


def find_courses(policy: Policy, most_pieces: int = MOST_PIECES) -> tuple[Courses, ...]:
    """Find the courses of a maintenance plan, for each independent part of the policy.

    Parameters
    ----------
    policy
        The plan.
    most_pieces
        The approximate number of pieces at most; the course without delays is always held.

    Examples
    --------
    >>> from coreplan import Contractor, Delay, Hindrance, MaintenanceProblem, Task, solve
    >>> problem = MaintenanceProblem(
    ...     (Contractor("Alpha", (Task("a1", 2, cost=3, revenue=20, delay=Delay(0.3, 1)),)),
    ...      Contractor("Beta", (Task("b1", 2, cost=[3, 3, 1, 1, 1], revenue=15),))),
    ...     horizon=5, network=(Hindrance(("Alpha/a1", "Beta/b1"), cost=7.5),))
    >>> [courses] = find_courses(solve(problem).policy)
    >>> courses.pieces[0].open_starts
    (Start(contractor=0, task=0, stage=0),)
    >>> for delayed, number in courses.pieces[0].following.items():
    ...     print(delayed, courses.pieces[number].starts)
    () (Start(contractor=1, task=0, stage=2),)
    (0,) (Start(contractor=1, task=0, stage=3),)
    """
    if not isinstance(policy.problem, MaintenanceProblem):
        raise ModelError("courses of works need a plan of a maintenance problem (mpp/1)")
    found: dict[tuple[int, ...], Courses] = {}
    parts = [_Exploration(policy, tuple(sorted(part))) for part in policy.parts]
    left = most_pieces
    # Small parts come first; the pieces that they do not need are left for the larger ones.
    for k, part in enumerate(sorted(parts, key=lambda part: (part.uncertain, part.contractors))):
        courses = part.run(max(1, left // (len(parts) - k)))
        left -= len(courses.pieces)
        found[part.contractors] = courses
    return tuple(found[contractors] for contractors in sorted(found))


_Key = tuple[int, bytes]
"""A stage and the local states of a part's contractors."""


class _Draft:
    """A piece that is not finished yet."""

    __slots__ = ("following", "open", "stage", "starts")

    def __init__(self, stage: int) -> None:
        self.stage = stage
        self.starts: list[Start] = []
        self.open = 0
        self.following: dict[Delayed, _Key] = {}


class _Front:
    """Unfinished pieces at one stage, with the states of their contractors and their chances."""

    def __init__(self) -> None:
        self.drafts: list[_Draft] = []
        self.chances: list[float] = []
        self._states: list[bytes] = []

    def add(self, draft: _Draft, states: bytes, chance: float) -> None:
        """Add a piece that begins here."""
        self.drafts.append(draft)
        self.chances.append(chance)
        self._states.append(states)

    def add_all(self, other: _Front, rows: Integers, states: Indices) -> None:
        """Add pieces of the stage before, in the states that they have come to."""
        self.drafts += [other.drafts[row] for row in rows.tolist()]
        self.chances += [other.chances[row] for row in rows.tolist()]
        self._states.append(states.tobytes())

    def columns(self) -> list[Indices]:
        """The states: an array for each contractor."""
        states = np.frombuffer(b"".join(self._states), np.uint32)
        return list(np.ascontiguousarray(states.reshape(len(self.drafts), -1).T))


class _Moves:
    """What the choices of an agent do, as arrays by the number of the choice.

    Attributes
    ----------
    after
        The next state; if the choice starts a work that can be delayed, without the delay.
    late
        The next state with the delay; -1 if nothing can be delayed.
    task
        The number of the task that the choice starts; -1 if it starts none.
    """

    def __init__(self, agent: IndexedAgent) -> None:
        begin = np.array(agent.outcome_begin, np.int64)
        outcomes = np.array(agent.outcome_next, np.uint32)
        self.after = outcomes[begin[:-1]]
        self.task = np.maximum(np.array(agent.choice_action, np.int64) - START, -1)
        # Task.durations has the outcome on time first, then the delay.
        can_be_late = (np.diff(begin) > 1) & (self.task >= 0)
        self.late = np.full(len(self.after), -1, np.int64)
        self.late[can_be_late] = outcomes[begin[:-1][can_be_late] + 1]


class _Exploration:
    """The search for the pieces of one part, those with the fewest delays first."""

    def __init__(self, policy: Policy, contractors: tuple[int, ...]) -> None:
        self._policy = policy
        self.contractors = contractors
        assert isinstance(policy.problem, MaintenanceProblem)
        works = [policy.problem.contractors[i].tasks for i in contractors]
        self.uncertain = sum(len(task.durations) > 1 for tasks in works for task in tasks)
        self._moves = [_Moves(policy.indexed.agents[i]) for i in contractors]
        # For each task: the chances that it takes its normal time, and that it is delayed.
        self._chances = [
            [(task.durations[0][0], task.durations[-1][0]) for task in tasks] for tasks in works
        ]
        self._starts: dict[tuple[int, int, int], Start] = {}
        self._drafts: dict[_Key, _Draft] = {}
        # The beginnings of pieces that are still to be made, by their number of delays, with their
        # largest chance found so far.
        self._pending: dict[int, dict[_Key, float]] = {}

    def run(self, most: int) -> Courses:
        """Find courses, with about `most` pieces."""
        start = self._policy.indexed.find_state(self._policy.stage, None)
        states = np.array([start[i] for i in self.contractors], np.uint32)
        self._pending[0] = {(self._policy.stage, states.tobytes()): 1.0}
        # Each beginning needs at most one piece more than the part has uncertain works.
        need = self.uncertain + 1
        while self._pending:
            delays = min(self._pending)
            waiting = self._pending.pop(delays)
            keys = sorted(waiting, key=lambda key: (-waiting[key], key))
            before, done = len(self._drafts), 0
            while done < len(keys):
                left = most - len(self._drafts)
                if left < need and self._drafts:
                    return self._number()
                # Few large chunks are quick: about half of the rest, by the pieces made so far.
                made = len(self._drafts) - before
                each = need if not done else min(need, 2 * (made + done) / done)
                chunk = keys[done : done + max(1, int(left / each))]
                done += len(chunk)
                self._walk(delays, {key: waiting[key] for key in chunk})
        return self._number()

    def _walk(self, delays: int, begin: Mapping[_Key, float]) -> None:
        """Make the pieces that begin here, and the next ones without further delays."""
        at: dict[int, _Front] = {}
        for key, chance in begin.items():
            self._begin(key, chance, at)
        for stage in range(self._policy.stage, self._policy.horizon):
            front = at.pop(stage, None)
            if front is not None:
                self._step(delays, front, stage, at)

    def _begin(self, key: _Key, chance: float, at: dict[int, _Front]) -> None:
        if key not in self._drafts:
            draft = self._drafts[key] = _Draft(key[0])
            at.setdefault(key[0], _Front()).add(draft, key[1], chance)

    def _step(self, delays: int, front: _Front, stage: int, at: dict[int, _Front]) -> None:
        """Follow pieces for one stage: each goes on, or it ends with open works."""
        chosen = self._policy.choose_many(stage, self.contractors, front.columns())
        pairs = list(zip(self._moves, chosen, strict=True))
        after = np.column_stack([moves.after[choices] for moves, choices in pairs])
        tasks = np.column_stack([moves.task[choices] for moves, choices in pairs])
        late = np.column_stack([moves.late[choices] for moves, choices in pairs])
        is_open = late >= 0
        ends = is_open.any(axis=1)
        rows, columns = np.nonzero(tasks >= 0)
        # Open works are the last starts of a piece; all others are in the order of the contractors.
        order = np.lexsort((columns, is_open[rows, columns], rows))
        rows, columns = rows[order], columns[order]
        for row, k, task in zip(
            rows.tolist(), columns.tolist(), tasks[rows, columns].tolist(), strict=True
        ):
            front.drafts[row].starts.append(self._start(k, task, stage))
        on = np.flatnonzero(~ends)
        if len(on):
            at.setdefault(stage + 1, _Front()).add_all(front, on, after[on])
        for row in np.flatnonzero(ends).tolist():
            draft, chance = front.drafts[row], front.chances[row]
            works = np.flatnonzero(is_open[row])
            draft.open = len(works)
            states = after[row].tobytes()
            changes = list(zip(works.tolist(), late[row][works].tolist(), strict=True))
            self._branch(delays, draft, chance, states, changes, at)

    def _start(self, column: int, task: int, stage: int) -> Start:
        """A start; the same object for all pieces."""
        key = (column, task, stage)
        start = self._starts.get(key)
        if start is None:
            start = self._starts[key] = Start(self.contractors[column], task, stage)
        return start

    def _branch(
        self,
        delays: int,
        draft: _Draft,
        chance: float,
        states: bytes,
        changes: Sequence[tuple[int, int]],
        at: dict[int, _Front],
    ) -> None:
        """End a piece with open works, given by their columns and their states after a delay."""
        stage = draft.starts[-1].stage + 1
        chances = [
            self._chances[k][start.task]
            for (k, _), start in zip(changes, draft.starts[-draft.open :], strict=True)
        ]
        late = [
            (STATE_BYTES * k, state.to_bytes(STATE_BYTES, sys.byteorder)) for k, state in changes
        ]
        # At the horizon the states do not matter any more.
        last = stage == self._policy.horizon
        for delayed in _subsets(len(changes)):
            changed = bytearray(b"" if last else states)
            for position in () if last else delayed:
                begin, state = late[position]
                changed[begin : begin + STATE_BYTES] = state
            likely = chance
            for position, both in enumerate(chances):
                likely *= both[position in delayed]
            key = (stage, bytes(changed))
            draft.following[delayed] = key
            if last:
                self._drafts.setdefault(key, _Draft(stage))
            elif not delayed:
                self._begin(key, likely, at)
            elif key not in self._drafts:
                waiting = self._pending.setdefault(delays + len(delayed), {})
                waiting[key] = max(likely, waiting.get(key, 0.0))

    def _number(self) -> Courses:
        """Number the pieces, and compute the chance of the courses that they hold."""
        keys = sorted(self._drafts)
        number = {key: k for k, key in enumerate(keys)}
        pieces = []
        for key in keys:
            draft = self._drafts[key]
            held = {
                delayed: number[after]
                for delayed, after in draft.following.items()
                if after in number
            }
            pieces.append(Piece(draft.stage, tuple(draft.starts), draft.open, held))
        return Courses(self.contractors, tuple(pieces), self._cover(pieces))

    def _cover(self, pieces: Sequence[Piece]) -> float:
        """The chance of the courses that are held to their end."""
        column = {contractor: k for k, contractor in enumerate(self.contractors)}
        chance = [1.0, *[0.0] * (len(pieces) - 1)]
        covered = 0.0
        for number, piece in enumerate(pieces):
            if not piece.open:
                covered += chance[number]
                continue
            chances = [
                self._chances[column[start.contractor]][start.task] for start in piece.open_starts
            ]
            for delayed, after in piece.following.items():
                likely = chance[number]
                for position, both in enumerate(chances):
                    likely *= both[position in delayed]
                chance[after] += likely
        return min(1.0, covered)


@lru_cache(maxsize=8)
def _subsets(count: int) -> tuple[Delayed, ...]:
    """Sets of positions, the smaller ones first; all of them unless they are too many."""
    subsets = itertools.chain.from_iterable(
        itertools.combinations(range(count), size) for size in range(count + 1)
    )
    return tuple(itertools.islice(subsets, MOST_BRANCHES))
