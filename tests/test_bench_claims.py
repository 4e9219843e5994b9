"""The paper's claims: verdicts follow from the rows by the stated rules."""

from __future__ import annotations

from typing import Any

import pytest

from bench_rows import MEMO, PLAIN, PUBLISHED_SPUDD, made_up_rows, make_row
from coreplan.bench.agreement import find_contradictions
from coreplan.bench.claims import Claim, Verdict, check_claims
from coreplan.bench.store import Row

AGREE, DIFFER, NOT_MEASURED = Verdict


def the_claim(rows: list[Row], words: str) -> Claim:
    """The one claim whose statement has these words."""
    (claim,) = [each for each in check_claims(rows) if words in each.statement]
    return claim


def ratios(name: str, *values: float) -> list[Row]:
    """Instances with these ratios of decentralised to centralised value."""
    return [
        row
        for k, ratio in enumerate(values)
        for row in (
            make_row(name, k, "core", value=-100.0 * ratio),
            make_row(name, k, "dec-mdp", value=-100.0),
        )
    ]


def actions(options: Any = PLAIN, **counts: int) -> list[Row]:
    """One instance with counts of joint actions, by algorithm."""
    return [
        make_row(
            "mpp", 1, name.replace("_", "-"), options if name != "dp" else PLAIN,
            statistics={"joint_actions_evaluated": number},
        )
        for name, number in counts.items()
    ]  # fmt: skip


def solved(
    algorithm: str, options: Any, some: int, of: int, *, name: str = "mpp", **more: Any
) -> list[Row]:
    """Solves of `of` instances, `some` of them proven."""
    return [
        make_row(name, k, algorithm, options, gap=0.0 if k < some else 1.0, **more)
        for k in range(of)
    ]


@pytest.mark.parametrize(
    ("words", "rows", "verdict"),
    [
        ("approximately half", ratios("rand3", 1, 1, 0.9, 0.8), AGREE),
        ("approximately half", ratios("rand4", 1, 1, 1, 0.8), DIFFER),
        ("approximately half", ratios("rand3", 1, 1) + ratios("rand5", 0.9, 0.9), AGREE),
        ("about 33 %", ratios("coordint", 0.9, 0.45), AGREE),
        ("about 33 %", ratios("coordint", 0.9, 0.9), DIFFER),
        ("can be 75 %", ratios("coordint", 0.9, 0.3), AGREE),
        ("can be 75 %", ratios("coordint", 0.9, 0.4), DIFFER),
        ("decimates", actions(dp=100, crg_ps=10), AGREE),
        ("decimates", actions(dp=100, crg_ps=50), DIFFER),
        ("decimates", actions(dp=100, crg_ps=1), DIFFER),
        ("decimates", actions(MEMO, dp=100, crg_ps=10), NOT_MEASURED),
        ("reduced even more", actions(crg_ps=20, core_2016=10), AGREE),
        ("reduced even more", actions(crg_ps=20, core_2016=20), DIFFER),
        ("orders of magnitude", actions(dp=1000, core_2016=10), AGREE),
        ("orders of magnitude", actions(dp=1000, core_2016=100), DIFFER),
        ("All two-agent", solved("dp", PLAIN, 3, 3) + solved("core-2016", PLAIN, 3, 3), AGREE),
        ("All two-agent", solved("dp", PLAIN, 2, 3) + solved("core-2016", PLAIN, 3, 3), DIFFER),
        ("All two-agent", solved("dp", PLAIN, 3, 3, agents=3), NOT_MEASURED),
        (
            "3 agent problems",
            solved("spudd", PUBLISHED_SPUDD, 1, 3, agents=3)
            + solved("core-2016", PLAIN, 2, 3, agents=3),
            AGREE,
        ),
        (
            "3 agent problems",
            solved("spudd", PUBLISHED_SPUDD, 3, 3, agents=3)
            + solved("core-2016", PLAIN, 3, 3, agents=3),
            DIFFER,
        ),
        (
            "3 agent problems",
            solved("spudd", PUBLISHED_SPUDD, 1, 3) + solved("core-2016", PLAIN, 2, 3),
            NOT_MEASURED,
        ),
        (
            "branch-and-bound",
            solved("crg-ps", PLAIN, 1, 3) + solved("core-2016", PLAIN, 2, 3),
            AGREE,
        ),
        (
            "branch-and-bound",
            solved("crg-ps", PLAIN, 2, 3) + solved("core-2016", PLAIN, 1, 3),
            DIFFER,
        ),
        (
            "almost all instances faster",
            solved("spudd", PUBLISHED_SPUDD, 3, 3, seconds=2.0)
            + solved("core-2016", PLAIN, 3, 3, seconds=1.0),
            AGREE,
        ),
        (
            "almost all instances faster",
            solved("spudd", PUBLISHED_SPUDD, 3, 3, seconds=1.0)
            + solved("core-2016", PLAIN, 3, 3, seconds=2.0),
            DIFFER,
        ),
        (
            "3.4 %",
            solved("spudd", PUBLISHED_SPUDD, 10, 10) + solved("core-2016", PLAIN, 9, 10),
            AGREE,
        ),
        (
            "3.4 %",
            solved("spudd", PUBLISHED_SPUDD, 10, 10) + solved("core-2016", PLAIN, 8, 10),
            DIFFER,
        ),
        (
            "63.9 %",
            solved("spudd", PUBLISHED_SPUDD, 4, 10) + solved("core-2016", PLAIN, 10, 10),
            AGREE,
        ),
        (
            "63.9 %",
            solved("spudd", PUBLISHED_SPUDD, 9, 10) + solved("core-2016", PLAIN, 10, 10),
            DIFFER,
        ),
        (
            "63.9 %",
            solved("spudd", PUBLISHED_SPUDD, 0, 3) + solved("core-2016", PLAIN, 3, 3),
            DIFFER,
        ),
        (
            "3.4 %",
            solved("spudd", PUBLISHED_SPUDD, 0, 3) + solved("core-2016", PLAIN, 3, 3),
            NOT_MEASURED,
        ),
        ("a quarter", solved("core-2016", PLAIN, 1, 4, name="pyra", agents=10, horizon=4), AGREE),
        ("a quarter", solved("core-2016", PLAIN, 4, 4, name="pyra", agents=10, horizon=4), DIFFER),
        (
            "a quarter",
            solved("core-2016", PLAIN, 1, 4, name="pyra", agents=10, horizon=5),
            NOT_MEASURED,
        ),
        ("up to only 5", solved("spudd", {}, 0, 4, name="pyra", agents=6), AGREE),
        ("up to only 5", solved("spudd", {}, 1, 4, name="pyra", agents=6), DIFFER),
        ("up to only 5", solved("spudd", {}, 1, 4, name="pyra", agents=5), NOT_MEASURED),
        ("unsolvable", solved("core-2016", PLAIN, 1, 4, name="pyra", agents=6), AGREE),
        ("unsolvable", solved("core-2016", PLAIN, 0, 4, name="pyra", agents=6), DIFFER),
    ],
)
def test_verdicts_follow_the_rules(words: str, rows: list[Row], verdict: Verdict) -> None:
    """A claim agrees or differs by its rule, and is not measured where solves are missing."""
    claim = the_claim(rows, words)
    assert claim.verdict is verdict, claim
    assert bool(claim.measured) == (verdict is not NOT_MEASURED)
    if verdict is NOT_MEASURED:
        assert claim.why.startswith("Needs ")


def test_only_crgs_on_four_agents() -> None:
    """The claim about 4 agents needs all four algorithms, and none of the other two solving any."""
    both = solved("crg-ps", PLAIN, 1, 2, agents=4) + solved("core-2016", PLAIN, 1, 2, agents=4)
    others = solved("dp", PLAIN, 0, 2, agents=4) + solved("spudd", {}, 0, 2, agents=4)
    better = solved("dp", PLAIN, 1, 2, agents=4) + solved("spudd", {}, 0, 2, agents=4)
    words = "4-agent instances"
    assert the_claim(both, words).verdict is NOT_MEASURED
    assert the_claim(both + others, words).verdict is AGREE
    assert the_claim(both + better, words).verdict is DIFFER


def test_without_rows_nothing_is_measured() -> None:
    """An empty store agrees with nothing and differs from nothing."""
    assert {claim.verdict for claim in check_claims([])} == {NOT_MEASURED}


def test_differences_are_explained() -> None:
    """Where a whole evaluation differs, something is said about why, and numbers are given."""
    claims = check_claims(made_up_rows(10))
    assert len({claim.statement for claim in claims}) == len(claims)
    for claim in claims:
        assert claim.rule
        if claim.verdict is DIFFER:
            assert claim.why
        if claim.verdict is not NOT_MEASURED:
            assert any(mark in claim.measured for mark in ("n = ", " of "))


def test_contradictions_are_found() -> None:
    """A plan worth more than another solver's upper bound is a contradiction; a gap is none."""
    fine = [
        make_row("mpp", 1, "core", value=-5.0),
        make_row("mpp", 1, "dp", PLAIN, value=-9, gap=6),
    ]
    assert find_contradictions(fine) == []
    other = make_row("mpp", 1, "core-2016", value=-4.0)
    (found,) = find_contradictions([*fine, other])
    assert found.startswith("mpp-1: CoRe 2016, merged claims a plan worth -4")
    apart = [make_row("rand3", 1, "core", value=-5), make_row("rand3", 1, "dec-mdp", value=-4)]
    assert len(find_contradictions(apart)) == 1
    assert find_contradictions([make_row("mpp", 1, "core", value=None)]) == []
