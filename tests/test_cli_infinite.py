"""`coreplan infinite`: bounds, the method, the first action, and mistakes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli_runs import Run, one_json
from coreplan.cli import example_path
from coreplan.solving import infinite as infinite_module

MACHINES = example_path("machines.yaml")


def test_text_and_json(run: Run) -> None:
    """Both say the same."""
    code, out, err = run("infinite", MACHINES)
    assert (code, err) == (0, "")
    shown = one_json(run("infinite", MACHINES, "--json").out)
    assert shown["method"] == "stationary"
    assert shown["gap"] <= 1e-3
    low, high = map(float, re.findall(r"optimal value: (\S+) to (\S+)", out)[0])
    assert (low, high) == pytest.approx((shown["lower_bound"], shown["upper_bound"]))
    assert "machines: discount 0.95, without an end" in out
    assert "first action: press: run, lathe: run" in out


def test_stages_discount_and_state(run: Run, tmp_path: Path) -> None:
    """The number of stages, the discount and the first state can be chosen."""
    state = tmp_path / "state.yaml"
    state.write_text("press: broken\nlathe: broken\n", encoding="utf-8")
    options = ["--discount", "0.5", "--state", state, "--json"]
    exact = one_json(run("infinite", MACHINES, *options).out)
    assert exact["first_action"] == {"press": "repair", "lathe": "repair"}
    code, out, _ = run("infinite", MACHINES, *options, "--stages", "6")
    short = one_json(out)
    assert code == 0
    assert short["horizon"] == 6
    assert not short["reached"]
    assert short["lower_bound"] <= exact["lower_bound"] <= short["upper_bound"]
    assert "not as close as asked" in run("infinite", MACHINES, "--stages", "6").out


def test_as_many_stages_as_needed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the joint problem is too large, the text says how many stages were solved."""
    monkeypatch.setattr(infinite_module, "MOST_CELLS", 1)
    code, out, _ = run("infinite", MACHINES, "--accuracy", "0.1", "--discount", "0.5")
    assert code == 0
    assert "stages solved, later ones are worth" in out


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("two_robots.yaml", [], "a problem without an end needs a number above 0 and below 1"),
        ("two_works.yaml", ["--discount", "0.5"], "found a MaintenanceProblem"),
        ("machines.yaml", ["--discount", "1.5"], "discount is 1.5"),
    ],
)
def test_mistakes(run: Run, name: str, options: list[str], words: str) -> None:
    """What cannot go on without an end is an error in words."""
    code, out, err = run("infinite", example_path(name), *options)
    assert (code, out) == (2, "")
    assert words in err
