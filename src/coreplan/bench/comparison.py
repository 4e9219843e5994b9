"""Two solvers, or two versions of one, compared instance by instance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from coreplan.bench.agreement import find_contradictions
from coreplan.bench.figures.numbers import geometric_mean, listing
from coreplan.bench.figures.profile import SHORTEST, ProfileData, counted_seconds, profile_of
from coreplan.bench.significance import (
    PairedTest,
    interval_of_mean,
    sign_test,
    signed_rank_test,
)
from coreplan.bench.store import Row
from coreplan.bench.variants import variant_of
from coreplan.errors import ModelError
from coreplan.solving.result import OPTIMAL_TOLERANCE, Status

COUNTS = ("work", "joint_actions_evaluated", "joint_states_expanded", "kernel_cells")
"""Counts of work that are compared if both sides have them."""

AT_LEAST, AT_MOST = "at least", "at most"


@dataclass(frozen=True)
class Ratios:
    """The ratios of B to A of a quantity, one for each instance.

    Attributes
    ----------
    mean
        Their geometric mean.
    pairs
        Number of instances.
    low, high
        The interval of the mean, 95 %; None for few instances.
    bound
        ``at least`` or ``at most`` if the true mean is on that side, because only the time limit is
        known of solves that reached it; empty if it is neither.
    """

    mean: float
    pairs: int
    low: float | None = None
    high: float | None = None
    bound: str = ""


@dataclass(frozen=True)
class Wins:
    """How often each side was better, with the sign test.

    Attributes
    ----------
    a, b
        Number of instances on which this side was better.
    equal
        Number of instances with no difference.
    undecided
        Number of instances that say nothing: no side has finished, or the limit of one side was too
        short to tell.
    test
        The sign test of `a` against `b`.
    """

    a: int
    b: int
    equal: int
    undecided: int
    test: PairedTest


@dataclass(frozen=True)
class StudyComparison:
    """Two sides, compared on the instances that both were run on.

    Attributes
    ----------
    names
        The names of A and B.
    instances
        Number of instances that both were run on.
    only
        Number of instances that only A was run on, and only B.
    solved
        Instances with a proven optimum, by ``both``, ``a``, ``b`` and ``neither``: by one side
        alone for ``a`` and ``b``.
    unit
        The clock of all times.
    time
        Ratios of the times of B to A, where both solved; None if there is no such instance.
    time_with_limits
        The same where at least one solved; an unsolved one counts with its time limit.
    counts
        Ratios of counts of work, by name, where both solved and counted something.
    faster
        Who was faster. A side that solved is faster than one that did not within the same time.
    rank_test
        The signed-rank test of the ratios of times, where both solved.
    plans
        Who found the better plan, whether proven or not.
    profile
        The performance profile.
    notes
        Differences between the sides other than the solvers.
    contradictions
        Claims of the two sides that cannot both be true: errors.
    """

    names: tuple[str, str]
    instances: int
    only: tuple[int, int]
    solved: Mapping[str, int]
    unit: str
    time: Ratios | None
    time_with_limits: Ratios | None
    counts: Mapping[str, Ratios]
    faster: Wins
    rank_test: PairedTest
    plans: Wins
    profile: ProfileData = field(repr=False)
    notes: tuple[str, ...] = ()
    contradictions: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """All attributes by name, the profile as its table."""
        plain = {
            name: getattr(self, name) for name in ("instances", "unit", "notes", "contradictions")
        }
        return {
            "a": self.names[0],
            "b": self.names[1],
            **plain,
            "only_a": self.only[0],
            "only_b": self.only[1],
            "solved": dict(self.solved),
            "time": None if self.time is None else asdict(self.time),
            "time_with_limits": (
                None if self.time_with_limits is None else asdict(self.time_with_limits)
            ),
            "counts": {name: asdict(each) for name, each in self.counts.items()},
            "faster": asdict(self.faster),
            "rank_test": asdict(self.rank_test),
            "plans": asdict(self.plans),
            "profile": self.profile.to_dict(),
        }


def compare_solves(
    a: Iterable[Row], b: Iterable[Row], names: tuple[str, str] = ("A", "B")
) -> StudyComparison:
    """Compare two collections of solves, instance by instance.

    Instances are the same if their content is. If a side solved one several times, the solve that
    started last counts.

    Parameters
    ----------
    a, b
        The solves of each side.
    names
        The names of the sides.

    Raises
    ------
    ModelError
        If they have no instance in common, or count seconds by different clocks.
    """
    left, right = _latest(a), _latest(b)
    shared = [digest for digest in left if digest in right]
    if not shared:
        raise ModelError(
            f"{names[0]} and {names[1]} have no instance in common: nothing can be compared"
        )
    pairs = [(left[digest], right[digest]) for digest in shared]
    clocks = {row.clock for pair in pairs for row in pair}
    if len(clocks) > 1:
        raise ModelError(
            "some times are wall-clock seconds and some are processor seconds; compare solves with "
            "the same clock"
        )
    times = [(counted_seconds(one), counted_seconds(other)) for one, other in pairs]
    both = [(one, other) for one, other in times if one is not None and other is not None]
    solved = {
        "both": len(both),
        "a": sum(one is not None and other is None for one, other in times),
        "b": sum(one is None and other is not None for one, other in times),
        "neither": sum(one is None and other is None for one, other in times),
    }
    return StudyComparison(
        names=names,
        instances=len(pairs),
        only=(len(left) - len(shared), len(right) - len(shared)),
        solved=solved,
        unit=next(iter(clocks)),
        time=_ratios(both),
        time_with_limits=_with_limits(pairs),
        counts=dict(_counts(pairs)),
        faster=_wins([_faster(*pair) for pair in pairs]),
        rank_test=signed_rank_test([math.log(other / one) for one, other in both]),
        plans=_wins([_better_plan(*pair) for pair in pairs]),
        profile=profile_of(
            listing(dict.fromkeys(row.set for row, _ in pairs)),
            dict(zip(names, map(list, zip(*times, strict=True)), strict=True)),
        ),
        notes=tuple(_differences(pairs)),
        contradictions=tuple(find_contradictions([row for pair in pairs for row in pair])),
    )


def _latest(rows: Iterable[Row]) -> dict[str, Row]:
    found: dict[str, Row] = {}
    for row in rows:
        if row.digest not in found or found[row.digest].started <= row.started:
            found[row.digest] = row
    return found


def _ratios(pairs: Sequence[tuple[float, float]], bound: str = "") -> Ratios | None:
    mean = geometric_mean(other / one for one, other in pairs)
    if mean is None:
        return None
    around = interval_of_mean([math.log(other / one) for one, other in pairs])
    low, high = (None, None) if around is None else map(math.exp, around)
    return Ratios(mean, len(pairs), low, high, bound)


def _with_limits(pairs: Sequence[tuple[Row, Row]]) -> Ratios | None:
    """Ratios with the limit in place of times of unsolved instances, and on which side they err."""
    chosen = [pair for pair in pairs if pair[0].solved or pair[1].solved]
    unsolved = [any(not pair[side].solved for pair in chosen) for side in (0, 1)]
    bound = {(False, True): AT_LEAST, (True, False): AT_MOST}.get((unsolved[0], unsolved[1]), "")
    return _ratios(
        [(_seconds_or_limit(one), _seconds_or_limit(other)) for one, other in chosen], bound
    )


def _seconds_or_limit(row: Row) -> float:
    return max(row.seconds, SHORTEST) if row.solved else max(row.time_limit, SHORTEST)


def _counts(pairs: Sequence[tuple[Row, Row]]) -> Iterator[tuple[str, Ratios]]:
    for name in COUNTS:
        found = []
        for one, other in pairs:
            if one.solved and other.solved:
                first, second = _count(one, name), _count(other, name)
                if first > 0 and second > 0:
                    found.append((first, second))
        ratios = _ratios(found)
        if ratios is not None:
            yield name, ratios


def _count(row: Row, name: str) -> float:
    statistics = {} if row.result is None else row.result.get("statistics", {})
    return float(statistics.get(name, 0))


def _faster(a: Row, b: Row) -> int | None:
    """1 if A was faster, -1 if B was, 0 if both took as long, None if that is not known."""
    if a.solved and b.solved:
        one, other = counted_seconds(a), counted_seconds(b)
        assert one is not None
        assert other is not None
        return (one < other) - (one > other)
    for row, unsolved, sign in ((a, b, 1), (b, a, -1)):
        if row.solved:
            return sign if row.seconds <= _known_unsolved_until(unsolved) else None
    return None


def _known_unsolved_until(row: Row) -> float:
    """The time at which a solve was not done: its limit, or for ever if something else ended it."""
    by_time = row.outcome in ("killed_time", "no_plan") or (
        row.result is not None and row.result["status"] == Status.TIME_LIMIT
    )
    return row.time_limit if by_time else math.inf


def _better_plan(a: Row, b: Row) -> int | None:
    """1 if A found the better plan, -1 if B did, 0 if they are as good, None without plans."""
    one, other = a.value, b.value
    if one is None or other is None:
        return None if one is other else (1 if other is None else -1)
    if abs(one - other) <= OPTIMAL_TOLERANCE * max(1.0, abs(one), abs(other)):
        return 0
    return 1 if one > other else -1


def _wins(found: Sequence[int | None]) -> Wins:
    a, b = found.count(1), found.count(-1)
    return Wins(a, b, found.count(0), found.count(None), sign_test(a, b))


def _differences(pairs: Sequence[tuple[Row, Row]]) -> Iterator[str]:
    """What differs between the sides beside the solvers, in words."""
    for side, name in ((0, "A"), (1, "B")):
        kinds = {str(variant_of(pair[side])) for pair in pairs}
        if len(kinds) > 1:
            yield f"the solves of {name} are by different solvers: {listing(sorted(kinds))}"
    # Of two algorithms, the code of one may be in a module, and that of the other not.
    same = len({row.algorithm for pair in pairs for row in pair}) == 1
    for what, of in (
        ("the time limits", lambda row: f"{row.time_limit:g} s"),
        ("the memory limits", lambda row: _memory(row)),
        ("the versions", lambda row: row.version if same else row.versions.get("coreplan", "")),
        ("the processors", lambda row: str(row.machine.get("processor", "unknown"))),
        ("the numbers of solves side by side", lambda row: str(row.machine.get("jobs", "unknown"))),
    ):
        one = sorted({of(pair[0]) for pair in pairs})
        other = sorted({of(pair[1]) for pair in pairs})
        if one != other or len(one) > 1:
            yield f"{what} differ: {listing(one)} for A, {listing(other)} for B"


def _memory(row: Row) -> str:
    return "none" if row.memory_limit is None else f"{row.memory_limit:g} MB"
