"""The courses of a maintenance plan: the starts of works, depending on delays.

A plan branches only at starts of works that can be delayed. Everything between two branches is one
piece, and a small graph of pieces holds all courses. Independent parts of a policy have separate
graphs.

If a graph is too large, it holds the course without delays, then the courses with one delay, with
two, and so on; among courses with equally many delays the likeliest ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.states import START
from coreplan.errors import ModelError
from coreplan.policies.policy import Policy

MOST_PIECES = 100_000
"""The most pieces of all graphs of a plan together."""
MOST_BRANCHES = 4096
"""The most combinations of delays that are followed when many works start in one stage."""

Delayed = tuple[int, ...]
"""The delayed works among the open ones: their positions, ascending."""


@dataclass(frozen=True)
class Start:
    """The start of a task at a stage; contractor and task by number."""

    contractor: int
    task: int
    stage: int


@dataclass(frozen=True)
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

    def __init__(self, stage: int) -> None:
        self.stage = stage
        self.starts: list[Start] = []
        self.open = 0
        self.following: dict[Delayed, _Key] = {}


class _Exploration:
    """The search for the pieces of one part, those with the fewest delays first."""

    def __init__(self, policy: Policy, contractors: tuple[int, ...]) -> None:
        self._policy = policy
        self.contractors = contractors
        self._agents = [policy.indexed.agents[i] for i in contractors]
        # The task that each action starts, both by number.
        self._task_of: list[dict[int, int]] = []
        assert isinstance(policy.problem, MaintenanceProblem)
        for agent in self._agents:
            starts = range(START, len(agent.actions))
            self._task_of.append({action: action - START for action in starts})
        self.uncertain = sum(
            len(task.durations) > 1
            for i in contractors
            for task in policy.problem.contractors[i].tasks
        )
        self._drafts: dict[_Key, _Draft] = {}
        # The beginnings of pieces that are still to be made, by their number of delays, with their
        # largest chance found so far.
        self._pending: dict[int, dict[_Key, float]] = {}

    def run(self, most: int) -> Courses:
        """Find courses, with about `most` pieces."""
        start = self._policy.indexed.find_state(self._policy.stage, None)
        states = np.array([start[i] for i in self.contractors], np.uint32)
        self._pending[0] = {(self._policy.stage, states.tobytes()): 1.0}
        while self._pending:
            delays = min(self._pending)
            waiting = self._pending.pop(delays)
            keys = sorted(waiting, key=lambda key: (-waiting[key], key))
            while keys:
                # Each beginning needs at most one piece more than the part has uncertain works.
                room = (most - len(self._drafts)) // (self.uncertain + 1)
                if room < 1 and self._drafts:
                    return self._number()
                chunk, keys = keys[: max(1, room)], keys[max(1, room) :]
                self._walk(delays, {key: waiting[key] for key in chunk})
        return self._number()

    def _walk(self, delays: int, begin: Mapping[_Key, float]) -> None:
        """Make the pieces that begin here, and the next ones without further delays."""
        # The unfinished pieces by stage, with the states of their contractors and their chances.
        at: dict[int, list[tuple[_Draft, Sequence[int], float]]] = {}
        for key, chance in begin.items():
            self._begin(key, chance, at)
        for stage in range(self._policy.stage, self._policy.horizon):
            active = at.pop(stage, [])
            if not active:
                continue
            columns = np.array([states for _, states, _ in active], np.uint32).T
            chosen = [
                each.tolist()
                for each in self._policy.choose_many(
                    stage, self.contractors, [np.ascontiguousarray(column) for column in columns]
                )
            ]
            for row, (draft, _, chance) in enumerate(active):
                self._step(delays, draft, stage, [each[row] for each in chosen], chance, at)

    def _begin(
        self, key: _Key, chance: float, at: dict[int, list[tuple[_Draft, Sequence[int], float]]]
    ) -> None:
        if key in self._drafts:
            return
        draft = self._drafts[key] = _Draft(key[0])
        states = np.frombuffer(key[1], np.uint32).tolist()
        at.setdefault(key[0], []).append((draft, states, chance))

    def _step(
        self,
        delays: int,
        draft: _Draft,
        stage: int,
        choices: Sequence[int],
        chance: float,
        at: dict[int, list[tuple[_Draft, Sequence[int], float]]],
    ) -> None:
        """Follow a piece for one stage: it goes on, or it ends with open works."""
        following: list[int] = []
        open_works: list[tuple[int, int, float, float]] = []
        open_starts = []
        for k, (agent, choice) in enumerate(zip(self._agents, choices, strict=True)):
            outcomes = agent.outcomes(choice)
            following.append(outcomes[0][1])
            task = self._task_of[k].get(agent.choice_action[choice])
            if task is None:
                continue
            start = Start(self.contractors[k], task, stage)
            if len(outcomes) == 1:
                draft.starts.append(start)
            else:
                # Task.durations has the outcome on time first, then the delay.
                (_, _, good), (_, late, bad) = outcomes
                open_works.append((k, late, good, bad))
                open_starts.append(start)
        if not open_works:
            at.setdefault(stage + 1, []).append((draft, following, chance))
            return
        draft.starts += open_starts
        draft.open = len(open_starts)
        for delayed in itertools.islice(_subsets(len(open_works)), MOST_BRANCHES):
            states = np.array(following, np.uint32)
            likely = chance
            for position, (k, late, good, bad) in enumerate(open_works):
                if position in delayed:
                    states[k] = late
                likely *= bad if position in delayed else good
            # At the horizon the states do not matter any more.
            last = stage + 1 == self._policy.horizon
            key = (stage + 1, b"" if last else states.tobytes())
            draft.following[delayed] = key
            if last:
                self._drafts.setdefault(key, _Draft(stage + 1))
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
        assert isinstance(self._policy.problem, MaintenanceProblem)
        contractors = self._policy.problem.contractors
        chance = [1.0, *[0.0] * (len(pieces) - 1)]
        covered = 0.0
        for k, piece in enumerate(pieces):
            if not piece.open:
                covered += chance[k]
            for delayed, after in piece.following.items():
                likely = chance[k]
                for position, start in enumerate(piece.open_starts):
                    task = contractors[start.contractor].tasks[start.task]
                    likely *= task.durations[int(position in delayed)][0]
                chance[after] += likely
        return min(1.0, covered)


def _subsets(count: int) -> Iterator[Delayed]:
    """All sets of positions, the smaller ones first."""
    sizes: Iterable[int] = range(count + 1)
    return itertools.chain.from_iterable(
        itertools.combinations(range(count), size) for size in sizes
    )
