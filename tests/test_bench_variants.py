"""Solves are told apart by algorithm and options, not by the names that configurations give."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench_rows import EXPECTED, MEMO, PLAIN, PUBLISHED_SPUDD, REFERENCE_SPUDD, make_row
from coreplan.bench.figures.style import colour_of
from coreplan.bench.variants import IDEAS, Solves, Variant, variant_of
from coreplan.solving.option_fields import Flag, options_in
from coreplan.solving.options import CoreOptions
from coreplan.solving.registry import ALGORITHMS

READINGS = (
    ("spudd", REFERENCE_SPUDD),
    ("spudd", PUBLISHED_SPUDD),
    ("core-2016", PLAIN),
    ("core-2016", EXPECTED),
)


@pytest.mark.parametrize(
    ("algorithm", "options", "label"),
    [
        ("dp", PLAIN, "DP"),
        ("dp", {}, "DP, merged"),
        ("spudd", PUBLISHED_SPUDD, "SPUDD, stage by stage"),
        ("spudd", {}, "SPUDD, stage by stage, merged"),
        ("spudd", PLAIN, "SPUDD, stage by stage, action variables"),
        ("spudd", {"actions": "enumerate"}, "SPUDD, stage by stage, merged, enumerated actions"),
        ("spudd", {"order": "interleaved"}, "SPUDD, stage by stage, merged, order interleaved"),
        ("spudd", REFERENCE_SPUDD, "SPUDD, reference encoding"),
        ("spudd", {**REFERENCE_SPUDD, "actions": "enumerate"}, "SPUDD, reference encoding"),
        ("crg-ps", MEMO, "CRG-PS, memo"),
        ("core-2016", PLAIN, "CoRe 2016"),
        ("core-2016", {"memo": False}, "CoRe 2016, merged"),
        ("core-2016", {**PLAIN, "bounds": "returns"}, "CoRe 2016"),
        ("core-2016", EXPECTED, "CoRe 2016, expected bounds"),
        ("core-2016", {**MEMO, "bounds": "expected"}, "CoRe 2016, expected bounds, memo"),
        ("core", {"threads": 2, "seed": 5}, "core"),
        ("core", {"merge": False}, "core, no merge"),
        ("core", {"merge": True, "relative_gap": 0}, "core"),
        ("dec-mdp", {}, "Dec-MDP"),
    ],
)
def test_labels_say_what_differs(algorithm: str, options: dict[str, object], label: str) -> None:
    """A label names the algorithm and only what is not as published, or not the default."""
    assert str(variant_of(make_row("mpp", 1, algorithm, options))) == label


def test_ideas_are_options_of_the_engine() -> None:
    """Every idea of the bounds is an option of `core` that is on unless told otherwise."""
    flags = {
        name
        for name, option in options_in(CoreOptions).items()
        if isinstance(option.about.kind, Flag)
    }
    assert flags == {*IDEAS, "deterministic", "lookahead"}
    assert all(options_in(CoreOptions)[name].default is True for name in IDEAS)


def test_defaults_are_those_of_the_algorithms() -> None:
    """An option at its algorithm's default makes no other variant."""
    for name, algorithm in ALGORITHMS.items():
        options = {each.name: each.default for each in options_in(algorithm.options).values()}
        assert variant_of(make_row("mpp", 1, name, options)) == Variant(name), options
    usual = make_row("mpp", 1, "spudd", {"actions": "diagram"})
    assert variant_of(usual) == Variant("spudd")


def test_the_last_of_several_solves_counts() -> None:
    """Of two solves of an instance by one variant, the one that started later is taken."""
    first = make_row("mpp", 1, "core", {"threads": 1}, limit=1, gap=5.0)
    second = make_row("mpp", 1, "core", {"threads": 2}, limit=10)
    assert list(Solves([first, second])[Variant("core")].values()) == [second]
    third = replace(first, started="2026-01-02T03:04:06+00:00")
    for rows in ([second, third], [third, second]):
        assert list(Solves(rows)[Variant("core")].values()) == [third]


def test_only_the_sets_asked_for_count() -> None:
    """Solves of other test sets are left out."""
    rows = [make_row("mpp", 1, "core"), make_row("pyra", 1, "core")]
    assert [row.set for row in Solves(rows, "pyra")] == ["pyra"]


def test_published_is_the_nearest_that_was_run() -> None:
    """What the paper means is taken first; a variant of another kind never stands for it."""
    memo, merged = make_row("mpp", 1, "core-2016", MEMO), make_row("mpp", 1, "core-2016")
    other = make_row("mpp", 1, "core-2016", {"assignment": "highest-degree"})
    assert str(Solves([merged, memo]).published("core-2016")) == "CoRe 2016, memo"
    assert Solves([other]).published("core-2016") is None
    assert Solves([make_row("mpp", 1, "core", {"merge": False})]).published("core") is None


def test_the_spudd_of_the_paper() -> None:
    """It is the reference encoding where that was run, else the one stage by stage."""
    reference = make_row("mpp", 1, "spudd", REFERENCE_SPUDD)
    stages, merged = make_row("mpp", 1, "spudd", PUBLISHED_SPUDD), make_row("mpp", 1, "spudd")
    assert Solves([merged, stages, reference]).published("spudd") == variant_of(reference)
    assert Solves([merged, stages]).published("spudd") == variant_of(stages)
    assert Solves([merged]).published("spudd") == variant_of(merged)
    assert [str(each) for each in Solves([merged, stages, reference]).main()] == [
        "SPUDD, reference encoding",
        "SPUDD, stage by stage",
        "SPUDD, stage by stage, merged",
    ]
    assert variant_of(reference).short == "SPUDD"
    assert variant_of(stages).short == "SPUDD, stage by stage"


def test_two_readings_are_both_published() -> None:
    """Both bounds of `core-2016` are as published, the paper's equation first, and look apart."""
    literal = make_row("mpp", 1, "core-2016", PLAIN)
    expected = make_row("mpp", 1, "core-2016", EXPECTED)
    first, second = Solves([expected, literal]).main()
    assert (str(first), str(second)) == ("CoRe 2016", "CoRe 2016, expected bounds")
    assert first.is_published
    assert second.is_published
    assert Solves([expected, literal]).published("core-2016") == first
    assert Solves([expected]).published("core-2016") == second
    assert len({colour_of(variant_of(make_row("mpp", 1, *each))) for each in READINGS}) == 4


def test_an_ablation_is_not_shown_as_the_engine() -> None:
    """`core` with an idea switched off is no solver of its own in the figures."""
    rows = [make_row("mpp", 1, "core", {name: False}) for name in IDEAS]
    solves = Solves([*rows, make_row("mpp", 1, "core"), make_row("mpp", 1, "dec-mdp")])
    assert [str(each) for each in solves.main()] == ["core"]
    assert sorted(each.without or "" for each in solves.variants("core")) == sorted(["", *IDEAS])
    both = variant_of(make_row("mpp", 1, "core", {"merge": False, "exact": False}))
    assert both.without is None
