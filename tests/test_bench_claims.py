"""The paper's claims: verdicts follow from the rows by the stated rules."""

from __future__ import annotations

from typing import Any

import pytest

from bench_rows import (
    EXPECTED,
    MEMO,
    PLAIN,
    PUBLISHED_SPUDD,
    REFERENCE_SPUDD,
    made_up_rows,
    make_row,
)
from coreplan.bench.agreement import find_contradictions
from coreplan.bench.claims import RULES, Claim, Evidence, Verdict, check_claims, default_rows
from coreplan.bench.claims.evidence import AS_PUBLISHED, changed_parameters
from coreplan.bench.claims.history import PAST
from coreplan.bench.claims.tables import claims_table, history_table
from coreplan.bench.store import Row

AGREE, DIFFER, NOT_MEASURED = Verdict


def the_claim(rows: list[Row], key: str) -> Claim:
    """The claim with this key."""
    return {each.key: each for each in check_claims(rows)}[key]


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
    ("key", "rows", "verdict"),
    [
        ("half-equal", ratios("rand3", 1, 1, 0.9, 0.8), AGREE),
        ("half-equal", ratios("rand4", 1, 1, 1, 0.8), DIFFER),
        ("half-equal", ratios("rand3", 1, 1) + ratios("rand5", 0.9, 0.9), AGREE),
        ("half-equal-rand3", ratios("rand3", 1, 1) + ratios("rand5", 0.9, 0.9), DIFFER),
        ("half-equal-rand5", ratios("rand3", 1, 1) + ratios("rand5", 1, 0.9), AGREE),
        ("half-equal-rand4", ratios("rand3", 1, 0.9), NOT_MEASURED),
        ("mean-loss", ratios("coordint", 0.9, 0.45), AGREE),
        ("mean-loss", ratios("coordint", 0.9, 0.9), DIFFER),
        ("worst-loss", ratios("coordint", 0.9, 0.3), AGREE),
        ("worst-loss", ratios("coordint", 0.9, 0.4), DIFFER),
        ("decimated", actions(dp=100, crg_ps=10), AGREE),
        ("decimated", actions(dp=100, crg_ps=50), DIFFER),
        ("decimated", actions(dp=100, crg_ps=1), AGREE),
        ("decimated", actions(MEMO, dp=100, crg_ps=10), NOT_MEASURED),
        ("reduced-further", actions(crg_ps=20, core_2016=10), AGREE),
        ("reduced-further", actions(crg_ps=20, core_2016=20), DIFFER),
        ("orders-of-magnitude", actions(dp=1000, core_2016=10), AGREE),
        ("orders-of-magnitude", actions(dp=1000, core_2016=100), DIFFER),
        ("pairs-solved", solved("dp", PLAIN, 3, 3) + solved("core-2016", PLAIN, 3, 3), AGREE),
        ("pairs-solved", solved("dp", PLAIN, 2, 3) + solved("core-2016", PLAIN, 3, 3), DIFFER),
        ("pairs-solved", solved("dp", PLAIN, 3, 3, agents=3), NOT_MEASURED),
        (
            "more-than-spudd",
            solved("spudd", PUBLISHED_SPUDD, 1, 3, agents=3)
            + solved("core-2016", PLAIN, 2, 3, agents=3),
            AGREE,
        ),
        (
            "more-than-spudd",
            solved("spudd", PUBLISHED_SPUDD, 3, 3, agents=3)
            + solved("core-2016", PLAIN, 3, 3, agents=3),
            DIFFER,
        ),
        (
            "more-than-spudd",
            solved("spudd", PUBLISHED_SPUDD, 1, 3) + solved("core-2016", PLAIN, 2, 3),
            NOT_MEASURED,
        ),
        (
            "more-than-crg-ps",
            solved("crg-ps", PLAIN, 1, 3) + solved("core-2016", PLAIN, 2, 3),
            AGREE,
        ),
        (
            "more-than-crg-ps",
            solved("crg-ps", PLAIN, 2, 3) + solved("core-2016", PLAIN, 1, 3),
            DIFFER,
        ),
        (
            "faster",
            solved("spudd", PUBLISHED_SPUDD, 3, 3, seconds=2.0)
            + solved("core-2016", PLAIN, 3, 3, seconds=1.0),
            AGREE,
        ),
        (
            "faster",
            solved("spudd", PUBLISHED_SPUDD, 3, 3, seconds=1.0)
            + solved("core-2016", PLAIN, 3, 3, seconds=2.0),
            DIFFER,
        ),
        (
            "failed",
            solved("spudd", PUBLISHED_SPUDD, 10, 10) + solved("core-2016", PLAIN, 9, 10),
            AGREE,
        ),
        (
            "failed",
            solved("spudd", PUBLISHED_SPUDD, 10, 10) + solved("core-2016", PLAIN, 8, 10),
            DIFFER,
        ),
        (
            "spudd-failed",
            solved("spudd", PUBLISHED_SPUDD, 4, 10) + solved("core-2016", PLAIN, 10, 10),
            AGREE,
        ),
        (
            "spudd-failed",
            solved("spudd", PUBLISHED_SPUDD, 9, 10) + solved("core-2016", PLAIN, 10, 10),
            DIFFER,
        ),
        (
            "spudd-failed",
            solved("spudd", PUBLISHED_SPUDD, 0, 3) + solved("core-2016", PLAIN, 3, 3),
            AGREE,
        ),
        (
            "coverage",
            solved("spudd", PUBLISHED_SPUDD, 1, 3) + solved("core-2016", PLAIN, 2, 3),
            AGREE,
        ),
        (
            "coverage",
            solved("spudd", PUBLISHED_SPUDD, 2, 3) + solved("core-2016", PLAIN, 2, 3),
            DIFFER,
        ),
        (
            "failed",
            solved("spudd", PUBLISHED_SPUDD, 0, 3) + solved("core-2016", PLAIN, 3, 3),
            NOT_MEASURED,
        ),
        ("quarter", solved("core-2016", PLAIN, 1, 4, name="pyra", agents=10, horizon=4), AGREE),
        ("quarter", solved("core-2016", PLAIN, 4, 4, name="pyra", agents=10, horizon=4), AGREE),
        ("quarter", solved("core-2016", PLAIN, 0, 4, name="pyra", agents=10, horizon=4), DIFFER),
        (
            "quarter",
            solved("core-2016", PLAIN, 1, 4, name="pyra", agents=10, horizon=5),
            NOT_MEASURED,
        ),
        (
            "larger-teams",
            solved("spudd", {}, 0, 4, name="pyra", agents=6)
            + solved("core-2016", PLAIN, 1, 4, name="pyra", agents=6),
            AGREE,
        ),
        (
            "larger-teams",
            solved("spudd", {}, 1, 4, name="pyra", agents=6)
            + solved("core-2016", PLAIN, 4, 4, name="pyra", agents=6),
            DIFFER,
        ),
        (
            "larger-teams",
            solved("spudd", {}, 0, 4, name="pyra", agents=5)
            + solved("core-2016", PLAIN, 1, 4, name="pyra", agents=5),
            NOT_MEASURED,
        ),
        (
            "larger-teams",
            solved("spudd", {}, 0, 4, name="pyra", agents=20)
            + solved("core-2016", PLAIN, 1, 4, name="pyra", agents=20),
            NOT_MEASURED,
        ),
        ("beyond", solved("core-2016", PLAIN, 1, 4, name="pyra", agents=6), AGREE),
        ("beyond", solved("core-2016", PLAIN, 0, 4, name="pyra", agents=6), DIFFER),
        ("beyond", solved("core-2016", PLAIN, 4, 4, name="pyra", agents=15), NOT_MEASURED),
    ],
)
def test_verdicts_follow_the_rules(key: str, rows: list[Row], verdict: Verdict) -> None:
    """A claim agrees or differs by its rule, and is not measured where solves are missing."""
    claim = the_claim(rows, key)
    assert claim.verdict is verdict, claim
    assert bool(claim.measured) == (verdict is not NOT_MEASURED)
    assert claim.beside == ()


def test_only_crgs_on_four_agents() -> None:
    """The claim about 4 agents ranks all four algorithms on the instances that all were run on."""
    both = solved("crg-ps", PLAIN, 2, 4, agents=4) + solved("core-2016", PLAIN, 3, 4, agents=4)
    others = solved("dp", PLAIN, 1, 3, agents=4) + solved("spudd", {}, 0, 2, agents=4)
    better = solved("dp", PLAIN, 2, 3, agents=4) + solved("spudd", {}, 0, 2, agents=4)
    assert the_claim(both, "four-agents").verdict is NOT_MEASURED
    found = the_claim(both + others, "four-agents")
    assert found.verdict is AGREE
    assert "DP 50 % (1 of 2)" in found.measured
    assert the_claim(both + better, "four-agents").verdict is DIFFER


def test_faster_with_two_and_with_three_agents() -> None:
    """CoRe has to be faster with 2 agents and with 3; 4 agents do not count."""

    def times(agents: int, core: float) -> list[Row]:
        name = f"{agents} agents"
        return [
            make_row("mpp", name, "spudd", PUBLISHED_SPUDD, seconds=1.0, agents=agents),
            make_row("mpp", name, "core-2016", PLAIN, seconds=core, agents=agents),
        ]

    assert the_claim(times(2, 0.5) + times(3, 0.5) + times(4, 2.0), "faster").verdict is AGREE
    assert the_claim(times(2, 0.5) + times(3, 2.0), "faster").verdict is DIFFER
    assert the_claim(times(4, 0.5), "faster").verdict is NOT_MEASURED


def test_readings_of_the_paper_stand_beside_each_other() -> None:
    """As published means the bounds of the equation and SPUDD's reference encoding."""
    rows = [
        *solved("core-2016", PLAIN, 2, 4, agents=3),
        *solved("core-2016", EXPECTED, 4, 4, agents=3),
        *solved("spudd", REFERENCE_SPUDD, 1, 4, agents=3),
        *solved("spudd", PUBLISHED_SPUDD, 3, 4, agents=3),
    ]
    claim = the_claim(rows, "more-than-spudd")
    assert claim.verdict is AGREE
    assert "SPUDD, reference encoding 25 % (1 of 4)" in claim.measured
    assert [(label, each.verdict) for label, each in claim.beside] == [
        ("expected bounds", AGREE),
        ("SPUDD stage by stage", DIFFER),
    ]
    assert claim.beside[0][1].short == "4 : 1"
    assert claim.to_dict()["beside"]["SPUDD stage by stage"]["short"] == "2 : 3"
    assert the_claim(rows, "half-equal").beside == ()


def test_the_papers_limit_counts_for_the_quarter() -> None:
    """With solves of 1,800 s others do not count; every instance counts with its longest limit."""
    where: dict[str, Any] = {"name": "pyra", "agents": 10, "horizon": 4}
    short = solved("core-2016", PLAIN, 0, 4, **where)
    long = solved("core-2016", PLAIN, 1, 2, limit=1800.0, **where)
    claim = the_claim(short + long, "quarter")
    assert claim.verdict is AGREE
    assert claim.measured == "CoRe 2016 50 % (1 of 2), within 1,800 s"
    assert "25 % (1 of 4), within 10 s or 1,800 s" in the_claim(short + long, "beyond").measured


def test_rivals_are_compared_within_the_same_limit() -> None:
    """An instance counts with the longest limit that both had."""
    rows = [
        make_row("mpp", 1, "core-2016", PLAIN, gap=1.0, agents=3),
        make_row("mpp", 1, "core-2016", PLAIN, limit=100.0, agents=3),
        make_row("mpp", 1, "spudd", PUBLISHED_SPUDD, agents=3),
    ]
    assert "CoRe 2016 0 % (0 of 1)" in the_claim(rows, "more-than-spudd").measured
    longer = make_row("mpp", 1, "spudd", PUBLISHED_SPUDD, limit=100.0, gap=1.0, agents=3)
    assert the_claim([*rows, longer], "more-than-spudd").verdict is AGREE


def test_a_shorter_limit_can_be_looked_at() -> None:
    """Solves count as if they had been stopped earlier; those with less time are left out."""
    evidence = Evidence(
        [
            make_row("mpp", 1, "dp", PLAIN, seconds=0.5),
            make_row("mpp", 2, "dp", PLAIN, seconds=5.0),
            make_row("mpp", 3, "dp", PLAIN, seconds=0.1, limit=0.5),
        ]
    ).within(1.0)
    assert [(row.time_limit, row.solved, row.seconds) for row in evidence.rows] == [
        (1.0, True, 0.5),
        (1.0, False, 1.0),
    ]
    dp = evidence.variant("mpp", "dp", AS_PUBLISHED)
    assert len(evidence.shared("mpp", [dp])) == 2
    assert evidence.shared("mpp", [dp, None]) == []


def test_instances_with_other_parameters_do_not_count() -> None:
    """If a set has solves with its defaults, solves with other parameters are for experiments."""
    usual = make_row("mpp", 1, "core", links=4)
    other = make_row("mpp", 2, "core", links=1)
    elsewhere = make_row("pyra", 1, "core", tasks=2)
    assert changed_parameters(other) == {"links": 1}
    assert default_rows([usual, other, elsewhere]) == [usual, elsewhere]
    assert default_rows([other]) == [other]


def test_without_rows_nothing_is_measured() -> None:
    """An empty store agrees with nothing and differs from nothing."""
    assert {claim.verdict for claim in check_claims([])} == {NOT_MEASURED}


def test_numbers_are_given() -> None:
    """Every verdict of a whole evaluation has a measurement with the number of instances."""
    claims = check_claims(made_up_rows(10))
    assert len({claim.key for claim in claims}) == len(claims) == len(RULES)
    assert {claim.verdict for claim in claims} == {AGREE, DIFFER}
    for claim in claims:
        assert claim.rule.rule
        assert claim.rule.place
        assert any(mark in claim.measured for mark in ("n = ", " of ")), claim


def test_the_table_of_claims() -> None:
    """A line for each claim; what is missing is named."""
    text = "\n".join(claims_table(check_claims(ratios("rand3", 1, 0.5))))
    assert text.startswith(f"Of {len(RULES)} claims: 2 agree, 0 differ, {len(RULES) - 2} not meas")
    assert "| needs solves of rand4 by dec-mdp and core | not measured | – | – |" in text
    assert "| 50 % (1 of 2) | agree | – | – |" in text


def test_the_table_of_changed_rules() -> None:
    """Old verdicts stay visible: every old rule has a present one, and new rules are named."""
    keys = [past.key for past in PAST]
    assert len(set(keys)) == len(keys) == 16
    assert set(keys) < {rule.key for rule in RULES}
    assert [past.verdict for past in PAST].count(AGREE) == 7
    lines = list(history_table(check_claims([])))
    assert len(lines) == 4 + len(RULES)
    assert sum(line.endswith("| not measured | A new rule. |") for line in lines) == 4
    (fourth,) = [line for line in lines if "Only CRG-PS and CoRe" in line]
    assert "| these two solve some, SPUDD and DP none |" in fourth
    assert "| differ | each of these two solves more than SPUDD" in fourth


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
