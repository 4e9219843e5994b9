"""Comparisons of two solvers: exact tests against enumeration, censored solves, profiles."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_rows import make_row
from coreplan import ModelError
from coreplan.bench.comparison import AT_LEAST, AT_MOST, compare_solves
from coreplan.bench.figures.profile import FACTORS, SHORTEST, profile_of, study_profiles
from coreplan.bench.significance import (
    EXACT_UP_TO,
    FEWEST,
    interval_of_mean,
    sign_test,
    signed_rank_test,
)
from coreplan.bench.store import PROCESSOR, Row

# -- tests of pairs -------------------------------------------------------------------------------


def judged_signs(wins: int, losses: int) -> float:
    """The two-sided sign test by the binomial distribution, term by term."""
    n = wins + losses
    tail = sum(math.comb(n, k) for k in range(min(wins, losses) + 1)) / 2**n
    return min(1.0, 2 * tail)


def judged_ranks(differences: Sequence[float]) -> float:
    """The two-sided signed-rank test by all ways to give signs to the ranks."""
    sizes = [abs(each) for each in differences if each]
    ranks = [
        sum(other < each for other in sizes) + (1 + sum(other == each for other in sizes)) / 2
        for each in sizes
    ]
    total = sum(ranks)
    above = sum(rank for rank, d in zip(ranks, (d for d in differences if d), strict=True) if d > 0)
    few = min(above, total - above)
    sums = [
        sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign)
        for signs in itertools.product((False, True), repeat=len(ranks))
    ]
    return min(1.0, 2 * sum(each <= few for each in sums) / len(sums))


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_sign_test_is_exact(wins: int, losses: int) -> None:
    """The p-value is that of the binomial distribution, the same for both sides."""
    assert sign_test(wins, losses).p == pytest.approx(judged_signs(wins, losses), rel=1e-12)
    assert sign_test(wins, losses) == sign_test(losses, wins)


@pytest.mark.parametrize(("wins", "losses"), [(1000, 900), (1200, 1000), (3000, 1), (600, 600)])
def test_the_sign_test_of_many(wins: int, losses: int) -> None:
    """Also of very many pairs."""
    assert sign_test(wins, losses).p == pytest.approx(judged_signs(wins, losses), rel=1e-9)


@given(st.lists(st.integers(-4, 4), max_size=10))
def test_the_signed_rank_test_is_exact(differences: list[int]) -> None:
    """The p-value is that of all signs of the ranks, also with ties and zeros."""
    found = signed_rank_test(differences)
    assert found.exact
    assert found.pairs == sum(each != 0 for each in differences)
    assert found.p == pytest.approx(judged_ranks(differences), rel=1e-9)
    assert found == signed_rank_test([-each for each in differences])


def test_published_examples() -> None:
    """Values that tables and other programs give."""
    # Wilcoxon (1945), table I: of 8 pairs, a sum of ranks of 3 is at 5 %: 2 * 5 / 256.
    assert signed_rank_test([-1, -2, 3, 4, 5, 6, 7, 8]).p == 2 * 5 / 256
    # R: wilcox.test(depression scale factor, paired), V = 40, p-value = 0.03906.
    first = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
    second = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
    found = signed_rank_test([x - y for x, y in zip(first, second, strict=True)])
    assert found.p == pytest.approx(0.0390625)
    assert sign_test(9, 1).p == pytest.approx(0.021484375)


def test_many_pairs_are_close_to_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the limit of the exact test, the approximation is nearly the same."""
    differences = [(k % 7 - 2.8) * (1 + k / 1000) for k in range(EXACT_UP_TO)]
    exact = signed_rank_test(differences)
    monkeypatch.setattr("coreplan.bench.significance.EXACT_UP_TO", EXACT_UP_TO - 1)
    close = signed_rank_test(differences)
    assert (exact.exact, close.exact) == (True, False)
    assert 0.001 < exact.p < 0.5
    assert close.p == pytest.approx(exact.p, rel=0.01)
    assert signed_rank_test([1.0] * 1000).p < 1e-100


def test_no_pairs() -> None:
    """Without pairs, nothing is shown: p is 1."""
    for found in (sign_test(0, 0), signed_rank_test([]), signed_rank_test([0, 0])):
        assert (found.pairs, found.p) == (0, 1.0)


@given(st.lists(st.floats(-10, 10), min_size=FEWEST, max_size=30))
def test_intervals(values: list[float]) -> None:
    """An interval is the same every time, and lies within the values."""
    found = interval_of_mean(values)
    assert found is not None
    low, high = found
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9
    assert interval_of_mean(values) == found


def test_intervals_have_the_right_width() -> None:
    """Of many values, the interval is close to that of the normal distribution; of few, none."""
    values = [math.sin(k) for k in range(1, 401)]
    mean = sum(values) / len(values)
    error = math.sqrt(sum((each - mean) ** 2 for each in values)) / len(values)
    found = interval_of_mean(values)
    assert found is not None
    assert found[0] == pytest.approx(mean - 1.96 * error, abs=0.1 * error)
    assert found[1] == pytest.approx(mean + 1.96 * error, abs=0.1 * error)
    assert interval_of_mean([1.0] * (FEWEST - 1)) is None


# -- comparisons ----------------------------------------------------------------------------------


def solves(algorithm: str, *seconds: float | None, limit: float = 10.0, **parts: Any) -> list[Row]:
    """A solve of each instance, in so many seconds; None for a solve that the limit stopped."""
    return [
        make_row("mine", k, algorithm, seconds=limit, gap=5.0, limit=limit, **parts)
        if each is None
        else make_row("mine", k, algorithm, seconds=each, limit=limit, **parts)
        for k, each in enumerate(seconds)
    ]


def test_what_both_solved() -> None:
    """Ratios are those of B to A, and counts are compared where both have them."""
    a = solves("core", 1.0, 2.0, 4.0, statistics={"work": 2.0, "joint_states_expanded": 3})
    b = solves("dp", 2.0, 2.0, 16.0, statistics={"work": 4.0})
    found = compare_solves(a, b)
    assert found.solved == {"both": 3, "a": 0, "b": 0, "neither": 0}
    assert found.time is not None
    assert found.time.mean == pytest.approx(2.0)  # of 2, 1 and 4
    assert (found.time.pairs, found.time.low, found.time.bound) == (3, None, "")
    assert {name: each.mean for name, each in found.counts.items()} == {"work": pytest.approx(2.0)}
    assert (found.faster.a, found.faster.b, found.faster.equal) == (2, 0, 1)
    assert found.rank_test.p == judged_ranks([1, 2])
    back = compare_solves(b, a)
    assert back.time is not None
    assert back.time.mean == pytest.approx(0.5)
    assert (back.faster.a, back.faster.b) == (0, 2)
    assert back.rank_test == found.rank_test


def test_unsolved_instances_are_bounds() -> None:
    """A solve that the limit stopped counts as slower, and its ratio as a bound."""
    found = compare_solves(solves("core", 1.0, 1.0, None), solves("dp", 2.0, None, None))
    assert found.solved == {"both": 1, "a": 1, "b": 0, "neither": 1}
    assert (found.faster.a, found.faster.b, found.faster.undecided) == (2, 0, 1)
    assert found.time is not None
    assert (found.time.mean, found.time.pairs) == (pytest.approx(2.0), 1)
    limited = found.time_with_limits
    assert limited is not None
    assert (limited.pairs, limited.bound) == (2, AT_LEAST)
    assert limited.mean == pytest.approx(math.sqrt(2 * 10))
    back = compare_solves(solves("dp", 2.0, None), solves("core", 1.0, 1.0)).time_with_limits
    assert back is not None
    assert back.bound == AT_MOST
    mixed = compare_solves(solves("a", None, 1.0), solves("b", 1.0, None)).time_with_limits
    assert mixed is not None
    assert (mixed.mean, mixed.bound) == (pytest.approx(1.0), "")


def test_limits_that_differ_may_decide_nothing() -> None:
    """A solve that was stopped before the other one had solved is not slower."""
    a, b = solves("core", None, None, limit=5.0), solves("dp", 4.0, 6.0, limit=10.0)
    found = compare_solves(a, b)
    assert (found.faster.a, found.faster.b, found.faster.undecided) == (0, 1, 1)
    assert "the time limits differ: 5 s for A, 10 s for B" in found.notes
    # An error is none of time: more of it would not have helped.
    failed = [replace(row, outcome="error", result=None) for row in a]
    assert compare_solves(failed, b).faster.b == 2
    memory = [replace(row, result={**(row.result or {}), "status": "memory_limit"}) for row in a]
    assert compare_solves(memory, b).faster.b == 2


def test_short_times_are_equal() -> None:
    """Times below the shortest that counts are noise."""
    found = compare_solves(solves("core", SHORTEST / 100), solves("dp", SHORTEST / 2))
    assert (found.faster.equal, found.rank_test.pairs) == (1, 0)
    zero = compare_solves(solves("core", 0.0), solves("dp", 1.0))
    assert zero.time is not None
    assert zero.time.mean == pytest.approx(1 / SHORTEST)


def test_plans_are_compared_also_without_proofs() -> None:
    """The better plan is the more valuable one; any plan is better than none."""
    a = [make_row("mine", k, "core", value=v, gap=1.0) for k, v in enumerate((5, 5, 5, None, None))]
    b = [make_row("mine", k, "dp", value=v, gap=1.0) for k, v in enumerate((4, 5, None, 3, None))]
    plans = compare_solves(a, b).plans
    assert (plans.a, plans.b, plans.equal, plans.undecided) == (2, 1, 1, 1)


def test_instances_of_one_side_are_left_out() -> None:
    """Only instances of both sides count, and the last solve of each."""
    again = replace(solves("dp", 8.0)[0], started="2027-01-01T00:00:00+00:00", time_limit=11.0)
    a, b = solves("core", 1.0, 1.0, 1.0), [*solves("dp", 2.0, 2.0), again]
    found = compare_solves(a, b)
    assert (found.instances, found.only) == (2, (1, 0))
    assert found.time is not None
    assert found.time.mean == pytest.approx(4.0)  # of 8 and 2
    assert found.profile.instances == 2


def test_what_cannot_be_compared() -> None:
    """Sides without common instances, and times by different clocks, are refused."""
    with pytest.raises(ModelError, match="A and B have no instance in common"):
        compare_solves(solves("core", 1.0), [])
    timed = [replace(row, clock=PROCESSOR) for row in solves("dp", 1.0)]
    with pytest.raises(ModelError, match="compare solves with the same clock"):
        compare_solves(solves("core", 1.0), timed)


def test_notes_on_the_sides() -> None:
    """Differences beside the solvers are told: versions, machines, limits, mixed solvers."""
    a = solves("core", 1.0, 1.0)
    b = [
        replace(a[0], versions={"coreplan": "0.2.0"}, machine={"processor": "other", "jobs": 2}),
        replace(a[1], algorithm="dp", options={}, memory_limit=None),
    ]
    notes = compare_solves(a, b).notes
    assert "the solves of B are by different solvers: DP, merged and core" in notes
    assert "the versions differ: 0.1.0 for A, 0.1.0 and 0.2.0 for B" in notes
    assert "the processors differ: Test CPU for A, Test CPU and other for B" in notes
    assert "the memory limits differ: 4000 MB for A, 4000 MB and none for B" in notes
    assert compare_solves(a, solves("dp", 1.0, 1.0)).notes == ()


def test_contradictions_are_found() -> None:
    """Two proven optima that differ are a contradiction."""
    a, b = solves("core", 1.0, value=-100.0), solves("dp", 1.0, value=-90.0)
    assert len(compare_solves(a, b).contradictions) == 1
    assert compare_solves(a, a).contradictions == ()


# -- profiles -------------------------------------------------------------------------------------

TIMES = st.one_of(st.none(), st.floats(0.001, 1000))


@given(st.lists(st.tuples(TIMES, TIMES, TIMES), min_size=1, max_size=20))
def test_profiles_are_shares(times: list[tuple[float | None, ...]]) -> None:
    """A profile grows with the factor, from the share of wins to the share that is solved."""
    columns = {name: [each[k] for each in times] for k, name in enumerate("abc")}
    data = profile_of("mine", columns)
    for name, own in columns.items():
        shares = [data.share(name, each) for each in FACTORS]
        assert shares == sorted(shares)
        assert shares[-1] <= data.share(name) == sum(e is not None for e in own) / len(own)
        wins = sum(
            each is not None and each == min(e for e in row if e is not None)
            for each, row in zip(own, times, strict=True)
        )
        assert shares[0] == wins / len(own)
    solved = any(each is not None for row in times for each in row)
    assert bool(data) == solved


def test_profiles_of_studies() -> None:
    """Sets of one's own have a profile each, on the instances that all solvers ran."""
    rows = [*solves("core", 1.0, 1.0, 1.0), *solves("dp", 2.0, None)]
    rows += [make_row("mpp", k, "core") for k in range(3)]
    (data,) = study_profiles(rows).sets
    assert (data.title, data.instances) == ("mine", 2)
    assert data.share("core", 1.0) == 1.0
    assert (data.share("DP, merged", 1.0), data.share("DP, merged", 2.0)) == (0.0, 0.5)
    assert not study_profiles([row for row in rows if row.set == "mpp"])
    assert not study_profiles(solves("core", 1.0))  # nobody to compare with
