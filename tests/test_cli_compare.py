"""`coreplan compare`: the table, JSON, limits, and claims that contradict each other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import coreplan
from cli_runs import Run, one_json
from coreplan import Result, Status, read_problem
from coreplan.analysis import ComparedRun
from coreplan.analysis.comparison import judge_runs
from coreplan.solving.registry import ALGORITHMS


def test_compare_shows_all_algorithms(run: Run, small: Path) -> None:
    """Without --algorithms there is a row for each that is registered, with value and work."""
    code, out, err = run("compare", "algorithms", small)
    assert (code, err) == (0, "")
    assert "small: 2 contractors, 3 works" in out
    value = coreplan.solve(read_problem(small)).value
    for name in ALGORITHMS:
        assert re.search(rf"^{name} +\S+ +\S+ +optimal ", out, re.MULTILINE)
    assert len(re.findall(rf" {re.escape(f'{value:.10g}')} ", out)) >= 2 * (len(ALGORITHMS) - 1)


def test_the_former_name(run: Run, small: Path) -> None:
    """`compare FILE` still compares algorithms, and a warning names the new command."""
    code, out, err = run("compare", small, "--algorithms", "core")
    assert code == 0
    assert re.search(r"^core +", out, re.MULTILINE)
    assert "warning: coreplan compare FILE is now coreplan compare algorithms FILE" in err
    code, out, _ = run("compare", "--algorithms", "core", small)
    assert code == 0
    assert re.search(r"^core +", out, re.MULTILINE)


def test_empty_columns_are_left_out(run: Run, small: Path) -> None:
    """A kind of work that no algorithm counts has no column."""
    out = run("compare", "algorithms", small, "--algorithms", "core").out
    assert re.search(r"^algorithm +value .* cells +MB$", out, re.MULTILINE)
    assert not re.search(r"^algorithm .* actions ", out, re.MULTILINE)
    assert " actions " in run("compare", "algorithms", small, "--algorithms", "dp").out


def test_compare_as_json(run: Run, small: Path) -> None:
    """With --json exactly one object is printed, with a valid result for each algorithm."""
    code, out, err = run("compare", "algorithms", small, "--algorithms", "dp, core", "--json")
    assert (code, err) == (0, "")
    report = one_json(out)
    assert [each["algorithm"] for each in report["runs"]] == ["dp", "core"]
    for each in report["runs"]:
        jsonschema.validate(each["result"], coreplan.formats.schema("result/1"))
    assert report["contradictions"] == []
    assert report["lower_bound"] == pytest.approx(report["upper_bound"])


@pytest.mark.parametrize("given", ["pd", "", ",", "core,,dp2"])
def test_algorithms_that_do_not_exist(run: Run, small: Path, given: str) -> None:
    """A name that is no algorithm's is bad usage."""
    code, out, err = run("compare", "algorithms", small, "--algorithms", given)
    assert (code, out) == (2, "")
    assert "--algorithms" in err


def test_no_algorithm_has_a_plan(run: Run, small: Path) -> None:
    """If every algorithm meets a limit first, the table says so: exit code 3."""
    code, out, err = run(
        "compare", "algorithms", small, "--algorithms", "core,dp", "--memory-limit", "0.0001"
    )
    assert (code, err) == (3, "")
    assert re.search(r"^dp +memory limit", out, re.MULTILINE)
    assert "core: " in out
    code, out, _ = run(
        "compare",
        "algorithms",
        small,
        "--algorithms",
        "core,dp",
        "--memory-limit",
        "0.0001",
        "--json",
    )
    assert code == 3
    assert one_json(out)["runs"][0]["reason"] == "memory_limit"


def fake(*results: Result) -> Any:
    """A comparison of these results, whatever is asked for."""
    comparison = judge_runs("p", [ComparedRun(each.algorithm, each) for each in results])
    return lambda *_, **__: comparison


def test_contradictions_are_loud(run: Run, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims that cannot both be true are errors: exit code 1, with and without --json."""
    wrong = [
        Result("p", name, Status.OPTIMAL, value, value, value, 0.1)
        for name, value in (("core", 10.0), ("dp", 11.0))
    ]
    monkeypatch.setattr("coreplan.cli.compare.run_algorithms", fake(*wrong))
    code, out, err = run("compare", "algorithms", small)
    assert code == 1
    assert (
        "CONTRADICTION: dp claims a plan worth 11, but core claims that none is worth more than 10"
        in err
    )
    assert "report" in err
    assert "optimal" in out
    code, out, err = run("compare", "algorithms", small, "--json")
    assert (code, err) == (1, "")
    assert len(one_json(out)["contradictions"]) == 1


def test_the_loss_is_shown(run: Run, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A decentralised result shows what it loses, or the bracket of it, or that it is unknown."""

    def central(upper: float) -> Result:
        status = Status.OPTIMAL if upper == 10 else Status.TIME_LIMIT
        return Result("p", "core", status, 10.0, 10.0, upper, 0.1)

    apart = Result("p", "dec-mdp", Status.OPTIMAL, 8.0, 8.0, 8.0, 0.1, objective="decentralised")
    for results, said in (
        (
            (central(10.0), apart),
            "dec-mdp: decentralised; it loses 2 against the best centralised plan",
        ),
        ((central(13.0), apart), "it loses between 2 and 5 against"),
        ((apart,), "the best centralised plan is not known"),
    ):
        monkeypatch.setattr("coreplan.cli.compare.run_algorithms", fake(*results))
        code, out, err = run("compare", "algorithms", small)
        assert (code, err) == (0, "")
        assert said in out
