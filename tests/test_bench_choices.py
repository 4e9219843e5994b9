"""How the verdicts move with open choices: what is run, judged, written and shown."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

import choices as script
from bench_rows import EXPECTED, PLAIN, REFERENCE_SPUDD, make_row
from coreplan.bench.choices import (
    FIELDS,
    Choice,
    Field,
    Mark,
    Moves,
    judge_choice,
    moves_tables,
    read_moves,
    write_moves,
)
from coreplan.bench.claims import RULES
from coreplan.bench.runner import plan_solves
from coreplan.bench.sets import TEST_SETS, count_instances
from coreplan.errors import FormatError

ROOT = Path(__file__).parents[1]

MOVES = Moves(
    1.0,
    "wall",
    "0.1.0",
    {
        "mpp": {
            "defaults": {"four-agents": Mark("differ", "1 : 2", "agree")},
            "links 1": {"four-agents": Mark("agree", "3 : 2", "agree")},
        }
    },
)


def test_every_claim_is_judged_once() -> None:
    """The fields share out all claims, and labels tell their choices apart."""
    keys = [key for each in FIELDS for key in each.claims]
    assert sorted(keys) == sorted(rule.key for rule in RULES)
    for each in FIELDS:
        labels = [choice.label for choice in each.choices]
        assert labels[0] == "defaults"
        assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("field", FIELDS, ids=[each.name for each in FIELDS])
def test_choices_can_be_run(field: Field) -> None:
    """Every choice is one of its sets, differs from the defaults, and has instances."""
    for choice in field.choices:
        config = field.config(choice, 1.0, 500.0)
        assert config.sets
        for run in config.sets:
            known = TEST_SETS[run.set].parameters
            assert all(known[name].default != value for name, value in choice.parameters.items())
            assert count_instances(run.set, run.count, **dict(run.parameters)) > 0
    assert {name for each in FIELDS for name in each.sets} <= set(TEST_SETS)


def test_a_choice_is_judged_by_the_rules() -> None:
    """Marks have the verdict as published, its number, and the verdict with expected bounds."""
    (field,) = [each for each in FIELDS if each.name == "mpp"]
    rows = [
        row
        for k in range(4)
        for row in (
            make_row("mpp", k, "core-2016", PLAIN, agents=3, gap=float(k > 0), links=1),
            make_row("mpp", k, "core-2016", EXPECTED, agents=3, links=1),
            make_row("mpp", k, "spudd", REFERENCE_SPUDD, agents=3, gap=float(k > 1), links=1),
        )
    ]
    found = judge_choice(field, rows)
    assert found["more-than-spudd"] == Mark("differ", "1 : 2", "agree")
    assert str(found["more-than-spudd"]) == "differ (1 : 2); expected bounds: agree"
    assert "quarter" not in found
    assert "four-agents" not in found


def test_verdicts_are_written_and_read(tmp_path: Path) -> None:
    """A file gives back what was written; another file is an error that names it."""
    path = tmp_path / "moves.json"
    path.write_text(write_moves(MOVES), encoding="utf-8")
    assert read_moves(path) == MOVES
    for text in ("", "[]", "{}", '{"format": "bench/1"}', '{"format": "choices/1", "marks": 1}'):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(FormatError, match=r"moves\.json: .*cannot be read"):
            read_moves(path)
    with pytest.raises(FormatError):
        read_moves(tmp_path / "nothing")


def test_the_tables() -> None:
    """One table per field with verdicts; a line per claim, a column per choice, and a tally."""
    lines = list(moves_tables(MOVES))
    assert "| the paper | agree | defaults | links 1 |" in lines
    assert (
        "| Only CRG-PS and CoRe solve 4-agent instances | 1 of 2 "
        "| differ (1 : 2); expected bounds: agree | agree (3 : 2) |"
    ) in lines
    assert sum(line.startswith("### ") for line in lines) == 1


def test_the_kept_verdicts_belong_to_these_choices() -> None:
    """The file in the repository has a verdict for every choice, and none for others."""
    moves = read_moves(ROOT / "benchmarks" / "results" / "choices.json")
    for field in FIELDS:
        marks = moves.marks[field.name]
        assert list(marks) == [choice.label for choice in field.choices]
        assert {key for each in marks.values() for key in each} == set(field.claims)


def test_the_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run writes the verdicts, and a second one takes the solves of the first."""
    small = dataclasses.replace(
        FIELDS[0],
        sets={"rand3": (2, {})},
        choices=(Choice(), Choice("density", "0.5", {"density": 0.5})),
    )
    monkeypatch.setattr(script, "FIELDS", (small,))
    output = tmp_path / "results" / "moves.json"
    arguments = ["--limit", "30", "--solves", str(tmp_path), "-o", str(output)]
    assert script.main(arguments) == 0
    marks = read_moves(output).marks["decentralised"]
    assert list(marks) == ["defaults", "density 0.5"]
    assert set(marks["defaults"]) == {"half-equal", "half-equal-rand3"}
    monkeypatch.setattr(script, "LocalPool", _NoPool)
    assert script.main(arguments) == 0
    assert capsys.readouterr().out.count("4 solves") == 4


class _NoPool:
    """A pool that refuses to work."""

    jobs = 1

    def __init__(self, jobs: int) -> None:
        pass

    def __enter__(self) -> _NoPool:
        return self

    def __exit__(self, *error: object) -> None:
        pass


def test_seeds_give_other_instances() -> None:
    """The choice of a seed reaches the instances."""
    (field,) = [each for each in FIELDS if each.name == "pyra"]
    small = dataclasses.replace(field, sets={"pyra": (1, {"agents": [2], "horizon": [4]})})
    digests = {
        solve.digest
        for choice in small.choices
        if choice.name in ("", "seed")
        for solve in plan_solves(small.config(choice, 1.0, 500.0)).values()
    }
    assert len(digests) == 3
