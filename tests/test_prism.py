"""The export to the PRISM language: what is in the file. `test_storm.py` lets Storm read it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given

from coreplan import ModelError, SolverError, read_problem
from coreplan.cli import example_path
from coreplan.interop.prism import to_prism
from helpers import dense_team, from_file, random_mpp
from strategies import Problem, problem_dicts

TINY: dict[str, Any] = {
    "format": "ti-mmdp/1",
    "name": "tiny",
    "horizon": 2,
    "agents": [
        {
            "name": "A",
            "initial": "low",
            "transitions": {
                "low": {"climb": {"low": 0.25, "high": 0.75}, "rest": {"low": 1}},
                "high": {"rest": {"high": 1}},
            },
        },
        {"name": "B", "initial": "on", "transitions": {"on": {"x": {"on": 1}, "y": {"on": 1}}}},
    ],
    "rewards": [
        {"scope": ["A"], "entries": [{"when": {"A": {"action": "climb"}}, "value": -3}]},
        {"scope": ["B"], "entries": [{"when": {"B": {"action": "y"}}, "value": 1, "stages": [1]}]},
        {
            "scope": ["A", "B"],
            "entries": [{"when": {"A": {"next": "high"}, "B": {"action": "x"}}, "value": 8}],
        },
        {"scope": ["A"], "entries": [{"value": 0.5}]},
    ],
}

WRITTEN = """\
// "tiny", written by coreplan
// In each stage the agents choose in turn, then all move at once.
// The value is R{"value"}max=? [ C<=6 ]
mdp

module clock
  stage : [0..2] init 0;
  turn : [0..2] init 0;
  [choose0_0] turn=0 & stage<2 -> (turn'=1);
  [choose0_1] turn=0 & stage<2 -> (turn'=1);
  [choose1_0] turn=1 & stage<2 -> (turn'=2);
  [choose1_1] turn=1 & stage<2 -> (turn'=2);
  [move] turn=2 -> (turn'=0) & (stage'=stage+1);
  [end] stage=2 -> true;
endmodule

module agent0 // "A"
  place0 : [0..2] init 0;
  [choose0_0] place0=0 -> (place0'=0); // "low": "climb"
  [choose0_1] place0=0 -> (place0'=1); // "low": "rest"
  [choose0_0] place0=1 -> (place0'=2); // "high": "rest"
  [move] place0=0 & stage<=0 -> 0.25:(place0'=0) + 0.75:(place0'=1);
  [move] place0=0 & stage>0 -> 1.0:(place0'=0);
  [move] place0=1 -> 1.0:(place0'=0);
  [move] place0=2 -> 1.0:(place0'=0);
endmodule

module agent1 // "B"
  place1 : [0..1] init 0;
  [choose1_0] place1=0 -> (place1'=0); // "on": "x"
  [choose1_1] place1=0 -> (place1'=1); // "on": "y"
  [move] place1=0 -> 1.0:(place1'=0);
  [move] place1=1 -> 1.0:(place1'=0);
endmodule

rewards "value"
  [choose0_0] place0=0 : -3.0;
  [choose1_1] place1=0 : (stage<=0 ? 0.0 : 1.0);
  [move] true : 0.5;
  [move] (place0=0|place0=2) & (place1=0) : 8.0 * ((place0=0) ? 0.75 : 1.0);
endrewards
"""


def test_the_file_of_a_tiny_problem() -> None:
    """Names, chances, stages, expectations: all of a small problem is where it belongs."""
    model = to_prism(from_file(TINY))
    assert model.text == WRITTEN
    assert (model.query, model.steps, model.shift) == ('R{"value"}max=? [ C<=6 ]', 6, 0.0)


def test_shift() -> None:
    """What is added to a step makes its reward non-negative, and the sum is known."""
    model = to_prism(from_file(TINY), shift=True)
    assert model.shift == 6.0  # 3 in each stage, for climbing
    rewards = model.text.partition("rewards")[2]
    assert not re.search(r"[^e]-\d", rewards)
    assert "minus 6.0" in model.text


def test_joint_actions_are_not_multiplied_out() -> None:
    """Twice the agents make a file about twice as long, though joint actions are squared."""
    lengths = [
        len(to_prism(from_file({**random_mpp(n, 2, 4), "network": []})).text) for n in (3, 6)
    ]
    assert lengths[1] < 2.5 * lengths[0]


def test_a_command_serves_many_stages() -> None:
    """A longer horizon does not make a longer file where nothing depends on the stage."""
    lengths = [len(to_prism(from_file(dense_team(horizon))).text) for horizon in (10, 40)]
    assert lengths[1] < 1.1 * lengths[0]


def test_long_horizons_do_not_nest_deeply() -> None:
    """What depends on the stage is told by nested cases of logarithmic depth."""
    raw = random_mpp(1, 1, 1000)
    raw["agents"][0]["tasks"][0]["cost"] = [k % 7 for k in range(1000)]
    text = to_prism(from_file(raw)).text
    depth = deepest = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        deepest = max(deepest, depth)
    assert 5 < deepest < 30


@given(problem_dicts())
def test_every_step_is_shifted_to_zero_or_more(raw: Problem) -> None:
    """No number of a shifted rewards block is negative, but values of interactions."""
    model = to_prism(from_file(raw), shift=True)
    for line in model.text.partition('rewards "value"')[2].splitlines():
        if line.startswith(("  [choose", "  [move] true")):
            assert not re.search(r"[:?(] *-", line), line
    assert model.shift >= 0


def test_numbers_next_to_nothing() -> None:
    """Chances and values so small that Storm cannot read them are left out."""
    raw = {**TINY, "rewards": [{"scope": ["A"], "entries": [{"value": 1e-310}]}]}
    raw["agents"] = [
        {"name": "A", "initial": "s", "transitions": {"s": {"x": {"s": 1, "t": 1e-310}}, "t": {}}}
    ]
    raw["horizon"] = 1
    text = to_prism(from_file(raw), merge=False).text
    assert "[move] place0=0 -> 1.0:(place0'=0);" in text
    assert "e-3" not in text


def test_names_cannot_leave_their_comments() -> None:
    """Names with line breaks or quotes stay in one comment."""
    raw = {**TINY, "name": 'x"\nmdp'}
    raw["agents"] = [{**TINY["agents"][0], "name": "endmodule\n//"}, TINY["agents"][1]]
    raw["rewards"] = []
    lines = to_prism(from_file(raw)).text.splitlines()
    assert lines[0].startswith('// "x\\"\\nmdp", ')
    assert 'module agent0 // "endmodule\\n//"' in lines
    assert lines.count("mdp") == 1


def test_from_a_later_situation() -> None:
    """The file may start from a later stage and state."""
    problem = read_problem(example_path("two_robots.yaml"))
    model = to_prism(problem, stage=1, state={"r1": "s1", "r2": "u0"})
    assert "stage : [1..3] init 1;" in model.text
    assert "place0 : [0..2] init 1;" in model.text
    assert model.steps == 6
    with pytest.raises(ModelError, match="'s9'"):
        to_prism(problem, stage=1, state={"r1": "s9", "r2": "u0"})


def test_discounted_rewards() -> None:
    """The language has no discount: rewards differ from stage to stage."""
    raw = {**TINY, "format": "ti-mmdp/2", "discount": 0.5}
    text = to_prism(from_file(raw)).text
    assert "[choose0_0] place0=0 : (stage<=0 ? -3.0 : -1.5);" in text
    assert "[choose1_1] place1=0 : (stage<=0 ? 0.0 : 0.5);" in text
    assert "[move] true : (stage<=0 ? 0.5 : 0.25);" in text


def test_what_is_no_problem_is_refused() -> None:
    """Anything but a problem, and rewards beyond all numbers, are refused in words."""
    with pytest.raises(ModelError, match="expected a TIMMDP"):
        to_prism("works.yaml")  # type: ignore[arg-type]
    raw = {**TINY, "rewards": [{"scope": ["A"], "entries": [{"value": 1e308}] * 2}]}
    with pytest.raises(SolverError, match="too large"):
        to_prism(from_file(raw))
