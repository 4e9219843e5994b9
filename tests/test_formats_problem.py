"""Reading ``ti-mmdp/1`` and ``mpp/1``: what is accepted, and what is said of what is not."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from coreplan import (
    TIMMDP,
    Agent,
    Condition,
    Contractor,
    Delay,
    Entry,
    FormatError,
    Hindrance,
    MaintenanceProblem,
    ModelError,
    RewardFunction,
    Task,
    read_problem,
    solve,
)

ROBOTS_YAML = """\
format: ti-mmdp/1
name: two robots            # optional
horizon: 3                  # h >= 1 decisions, at stages 0..h-1
agents:
  - name: r1
    initial: s0
    transitions:            # state -> action -> next state -> probability
      s0: {go: {s1: 0.8, s0: 0.2}, wait: {s0: 1}}
      s1: {wait: {s1: 1}}
    features:               # optional: named properties of states, for conditions below
      s1: {done: true}
  - name: r2
    initial: u0
    transitions: {u0: {go: {u1: 1}, wait: {u0: 1}}, u1: {wait: {u1: 1}}}
rewards:
  - scope: [r1]             # one agent: a local reward
    entries:
      - {when: {r1: {action: go}}, value: -1}
      - {when: {r1: {action: go, next: {done: true}}}, value: 10}
  - scope: [r1, r2]         # several agents: an interaction reward
    entries:
      - {when: {r1: {action: go, next: s1}, r2: {action: go}}, value: -5, stages: [0, 1]}
"""

ROAD_YAML = """\
format: mpp/1
name: ring road
horizon: 8
must_complete: false        # optional, default false; see below
agents:
  - name: Alpha
    tasks:
      - name: a1
        duration: 2                 # steps, >= 1
        delay: {probability: 0.3, duration: 1}   # optional; default: never delayed
        revenue: 20                 # optional, default 0: earned when the task completes
        cost: 3                     # per step of work; a number, or a list of `horizon` numbers
        window: [0, 6]              # optional: stages in which it may start (both included)
  - name: Beta
    tasks: [{name: b1, duration: 3, cost: [1, 1, 1, 2, 2, 2, 1, 1], revenue: 15}]
network:
  - tasks: [Alpha/a1, Beta/b1]      # two or more tasks of different agents
    cost: 7.5                       # per step in which ALL of them are being worked on;
"""

# The same in JSON, which is YAML as well. Cases replace a part of these; in what they put there,
# ⟪ marks the place where the problem is to be reported.
ROBOTS = """\
{"format": "ti-mmdp/1", "name": "two robots", "horizon": 3,
 "agents": [
  {"name": "r1", "initial": "s0",
   "transitions": {
    "s0": {"go": {"s1": 0.8, "s0": 0.2}, "wait": {"s0": 1}},
    "s1": {"wait": {"s1": 1}}},
   "features": {"s1": {"done": true}}},
  {"name": "r2", "initial": "u0",
   "transitions": {"u0": {"go": {"u1": 1}, "wait": {"u0": 1}}, "u1": {"wait": {"u1": 1}}}}],
 "rewards": [
  {"scope": ["r1"],
   "entries": [
    {"when": {"r1": {"action": "go"}}, "value": -1},
    {"when": {"r1": {"action": "go", "next": {"done": true}}}, "value": 10}]},
  {"scope": ["r1", "r2"],
   "entries": [
    {"when": {"r1": {"action": "go", "next": "s1"}, "r2": {"action": "go"}},
     "value": -5, "stages": [0, 1]}]}]}
"""

# What the second version adds.
PEAK = (
    ROBOTS.replace('"ti-mmdp/1"', '"ti-mmdp/2"').rstrip()[:-1]
    + """,
 "aggregates": [{"name": "peak", "amounts": [
    {"when": {"r1": {"action": "go"}}, "amount": 2},
    {"when": {"r2": {"action": "go"}}, "amount": 1}],
  "value": {"points": [[0, 0], [2, 0], [3, -15]]}, "step": 1, "stages": [0, 1]}]}
"""
)

ROAD = """\
{"format": "mpp/1", "name": "ring road", "horizon": 8, "must_complete": false,
 "agents": [
  {"name": "Alpha",
   "tasks": [
    {"name": "a1", "duration": 2, "delay": {"probability": 0.3, "duration": 1},
     "revenue": 20, "cost": 3, "window": [0, 6]},
    {"name": "a2", "duration": 1, "cost": 4}]},
  {"name": "Beta",
   "tasks": [{"name": "b1", "duration": 3, "cost": [1, 1, 1, 2, 2, 2, 1, 1], "revenue": 15}]}],
 "network": [{"tasks": ["Alpha/a1", "Beta/b1"], "cost": 7.5}]}
"""

SUFFIXES = (".json", ".yaml", ".yml", ".JSON", "", ".problem")


def read(folder: Path, text: str, suffix: str = ".yaml") -> TIMMDP | MaintenanceProblem:
    """Read a problem from a file with this text."""
    path = folder / f"problem{suffix}"
    path.write_text(text, encoding="utf-8")
    return read_problem(path)


def refusal(folder: Path, text: str, suffix: str = ".yaml") -> FormatError:
    """Read a file that must be refused."""
    with pytest.raises(FormatError) as caught:
        read(folder, text, suffix)
    return caught.value


def edit(base: str, old: str, new: str) -> str:
    """Replace a part of a text that is there once."""
    assert base.count(old) == 1, old
    return base.replace(old, new)


def take_mark(text: str) -> tuple[str, int, int]:
    """Remove the mark from a text, and say where it was."""
    before, mark, after = text.partition("⟪")
    assert mark
    return before + after, before.count("\n") + 1, len(before.rsplit("\n", 1)[-1]) + 1


def check_refusal(
    folder: Path, marked: str, place: str, words: tuple[str, ...], suffix: str
) -> None:
    """Check that a text has exactly one problem: at the mark, and said in these words."""
    text, line, column = take_mark(marked)
    error = refusal(folder, text, suffix)
    assert len(error.problems) == 1, str(error)
    (problem,) = error.problems
    assert (problem.place, problem.line, problem.column) == (place, line, column)
    for word in words:
        assert word in problem.message
    assert str(error).startswith(f"{error.file}:{line}:{column}: ")
    assert len(str(error)) < 1000


ROBOTS_CASES = [
    # format and top level
    ('"ti-mmdp/1"', '⟪"ti-mdp/1"', "format", ["'ti-mdp/1'", "did you mean 'ti-mmdp/1'?"]),
    ('"ti-mmdp/1"', "⟪1", "format", ["the number 1", "ti-mmdp/1, ti-mmdp/2 or mpp/1"]),
    ('{"format": "ti-mmdp/1", ', "⟪{", "", ["needs the key 'format'", "ti-mmdp/2 or mpp/1"]),
    ('"horizon": 3,', '"horizon": 3, ⟪"aggregates": [],', "aggregates", ["format: ti-mmdp/2"]),
    ('"name": "two robots"', '⟪"nam": "two robots"', "nam", ["no key 'nam'", "'name'?"]),
    ('"name": "two robots"', '"name": ⟪7', "name", ["found 7", "expected a text"]),
    ('"name": "two robots"', '"name": ⟪["x"]', "name", ["found ['x']", "expected a text"]),
    ('"horizon": 3,', '"horizon": 3, ⟪"network": [],', "network", ["no key 'network'"]),
    ('"horizon": 3,', '"horizon": 3, ⟪"horizon": 3,', "horizon", ["already on line 1"]),
    # horizon
    *(
        ('"horizon": 3', f'"horizon": ⟪{written}', "horizon", [f"found {said}", "from 1 to 100000"])
        for written, said in [
            ("0", "0"),
            ("-1", "-1"),
            ("100001", "100001"),
            ("1e12", "1000000000000"),
            ("2.5", "2.5"),
            ('"3"', "'3'"),
            ("true", "true"),
            ("null", "null"),
            ("[3]", "[3]"),
            ("{}", "{}"),
        ]
    ),
    ('"horizon": 3', '"horizon": ⟪1e999', "horizon", ["1e999", "finite"]),
    # agents
    ('"name": "r2"', '"name": ⟪"r1"', "agents[1].name", ["'r1' is listed twice", "must differ"]),
    ('"name": "r2"', '"name": ⟪2', "agents[1].name", ["found 2", "quotes"]),
    ('"name": "r2"', '"name": ⟪""', "agents[1].name", ["found ''", "one or more characters"]),
    ('"name": "r2"', '"name": ⟪["r2"]', "agents[1].name", ["found ['r2']"]),
    ('"name": "r2"', '"name": ⟪null', "agents[1].name", ["found null"]),
    ('{"name": "r2", ', "⟪{", "agents[1]", ["an agent needs the key 'name'"]),
    ('"initial": "u0"', '"initial": ⟪"u00"', "agents[1].initial",
     ["'u00'", "has no action", "did you mean 'u0'?"]),
    ('"initial": "u0"', '"initial": ⟪0', "agents[1].initial", ["found 0", "quotes"]),
    ('"initial": "u0"', '"initial": ⟪["u0"]', "agents[1].initial", ["found ['u0']"]),
    # transitions
    ('"s1": {"wait": {"s1": 1}}', '"s1": ⟪{}', "agents[0].transitions.s1",
     ["state 's1'", "stage 1", "no action"]),
    ('"s1": {"wait": {"s1": 1}}', '"s1": ⟪[]', "agents[0].transitions.s1",
     ["found a list", "a mapping"]),
    ('"wait": {"s0": 1}', '"wait": ⟪"s0"', "agents[0].transitions.s0.wait",
     ["the text 's0'", "outcomes with probabilities"]),
    ('"wait": {"s0": 1}', '"wait": ⟪{}', "agents[0].transitions.s0.wait", ["add up to 0"]),
    ('"s1": 0.8', '"s1": ⟪-0.8', "agents[0].transitions.s0.go.s1", ["found -0.8", "at least 0"]),
    ('"s1": 0.8', '"s1": ⟪"0.8"', "agents[0].transitions.s0.go.s1", ["found '0.8'", "number"]),
    ('"s1": 0.8', '"s1": ⟪true', "agents[0].transitions.s0.go.s1", ["found true", "number"]),
    ('"s1": 0.8', '"s1": ⟪null', "agents[0].transitions.s0.go.s1", ["found null", "number"]),
    ('"s1": 0.8', '"s1": ⟪{"a": 1}', "agents[0].transitions.s0.go.s1", ["found {'a': 1}"]),
    ('{"s1": 0.8, ', '⟪{"s1": 0.7, ', "agents[0].transitions.s0.go", ["add up to 0.9", "1"]),
    ('{"s1": 0.8, ', '⟪{"s1": 0.80000001, ', "agents[0].transitions.s0.go", ["1.00000001"]),
    ('{"s1": 0.8, ', '{⟪"": 0, "s1": 0.8, ', "agents[0].transitions.s0.go['']", ["found ''"]),
    ('{"s1": 0.8, ', '{"s1": 0.8, ⟪"s1": 0.8, ', "agents[0].transitions.s0.go.s1", ["already"]),
    # features
    ('"features": {"s1"', '"features": {⟪"s2"', "agents[0].features.s2", ["no state 's2'", "'s1'"]),
    ('"features"', '⟪"featurs"', "agents[0].featurs", ["no key 'featurs'", "'features'?"]),
    ('{"s1": {"done": true}}', '{"s1": {"done": ⟪null}}', "agents[0].features.s1.done",
     ["found null", "a text, a boolean or a finite number"]),
    ('{"s1": {"done": true}}', '{"s1": {"done": true, "at": ⟪[1]}}', "agents[0].features.s1.at",
     ["found [1]"]),
    # scopes
    ('["r1", "r2"]', '["r1", ⟪"r3"]', "rewards[1].scope[1]", ["no agent 'r3'", "'r1', 'r2'"]),
    ('["r1", "r2"]', '["r1", "r2", ⟪"r1"]', "rewards[1].scope[2]", ["'r1'", "twice"]),
    ('["r1", "r2"]', "⟪[]", "rewards[1].scope", ["empty", "one or more"]),
    ('["r1", "r2"]', '⟪"r1"', "rewards[1].scope", ["the text 'r1'", "a list"]),
    ('["r1", "r2"]', '["r1", ⟪2]', "rewards[1].scope[1]", ["found 2", "quotes"]),
    ('"scope": ["r1"],', '"scope": ["r1"], ⟪"stages": [],', "rewards[0].stages", ["no key"]),
    # entries and conditions
    ('{"when": {"r1": {"action": "go"}}, "value": -1}', '⟪{"when": {"r1": {"action": "go"}}}',
     "rewards[0].entries[0]", ["an entry needs the key 'value'"]),
    ('"value": -1', '"value": ⟪null', "rewards[0].entries[0].value", ["found null", "number"]),
    ('"value": -1', '"value": ⟪"x"', "rewards[0].entries[0].value", ["found 'x'", "number"]),
    ('"value": -1', '"value": ⟪false', "rewards[0].entries[0].value", ["found false"]),
    ('"value": -1', '"value": ⟪[1]', "rewards[0].entries[0].value", ["found [1]"]),
    ('"value": -1', '"value": ⟪-1e400', "rewards[0].entries[0].value", ["-1e400", "finite"]),
    ('"value": -1', '"value": 1, ⟪"valeu": 2', "rewards[0].entries[0].valeu", ["'value'?"]),
    ('{"r1": {"action": "go"}}', '{⟪"r3": {"action": "go"}}', "rewards[0].entries[0].when.r3",
     ["no agent 'r3'"]),
    ('{"r1": {"action": "go"}}', '{⟪"r2": {"action": "go"}}', "rewards[0].entries[0].when.r2",
     ["not in the scope", "add it"]),
    ('{"r1": {"action": "go"}}', "⟪null", "rewards[0].entries[0].when", ["null", "a mapping"]),
    ('{"r1": {"action": "go"}}', '{"r1": ⟪"go"}', "rewards[0].entries[0].when.r1", ["'go'"]),
    ('{"r1": {"action": "go"}}', '{"r1": {⟪"acton": "go"}}', "rewards[0].entries[0].when.r1.acton",
     ["'acton'", "did you mean 'action'?"]),
    ('{"r1": {"action": "go"}}', '{"r1": {"action": ⟪"goo"}}',
     "rewards[0].entries[0].when.r1.action", ["no action 'goo'", "did you mean 'go'?"]),
    ('{"r1": {"action": "go"}}', '{"r1": {"action": ["go", ⟪"goo"]}}',
     "rewards[0].entries[0].when.r1.action[1]", ["no action 'goo'"]),
    ('{"r1": {"action": "go"}}', '{"r1": {"action": [⟪"goo"]}}',
     "rewards[0].entries[0].when.r1.action[0]", ["no action 'goo'"]),
    ('{"r1": {"action": "go"}}', '{"r1": {"action": ⟪[]}}',
     "rewards[0].entries[0].when.r1.action", ["empty list"]),
    ('{"r1": {"action": "go"}}', '{"r1": {"action": ⟪{"a": 1}}}',
     "rewards[0].entries[0].when.r1.action", ["a mapping", "a name or a list of names"]),
    ('{"r1": {"action": "go"}}', '{"r1": {"action": ⟪null}}',
     "rewards[0].entries[0].when.r1.action", ["null"]),
    ('{"r1": {"action": "go"}}', '{"r1": {"action": [⟪1]}}',
     "rewards[0].entries[0].when.r1.action[0]", ["found 1", "quotes"]),
    ('"next": "s1"', '"next": ⟪"s9"', "rewards[1].entries[0].when.r1.next", ["no state 's9'"]),
    ('"next": "s1"', '"next": ⟪[]', "rewards[1].entries[0].when.r1.next", ["empty list"]),
    ('"next": "s1"', '"next": ["s1", ⟪"u1"]', "rewards[1].entries[0].when.r1.next[1]", ["'u1'"]),
    ('"next": "s1"', '"next": {⟪"doen": 1}', "rewards[1].entries[0].when.r1.next.doen",
     ["no feature 'doen'", "did you mean 'done'?"]),
    ('"next": "s1"', '"next": {"done": ⟪null}', "rewards[1].entries[0].when.r1.next.done",
     ["found null"]),
    ('"next": "s1"', '"next": {"done": ⟪[true]}', "rewards[1].entries[0].when.r1.next.done",
     ["found [True]"]),
    ('"next": "s1"', '"next": ⟪1', "rewards[1].entries[0].when.r1.next", ["number 1", "quotes"]),
    # stages
    *(
        ("[0, 1]", f"[0, ⟪{written}]", "rewards[1].entries[0].stages[1]", [said, "from 0 to 2"])
        for written, said in [
            ("3", "found 3"),
            ("-1", "found -1"),
            ("1.5", "found 1.5"),
            ('"1"', "found '1'"),
            ("true", "found true"),
            ("null", "found null"),
        ]
    ),
    ("[0, 1]", "⟪1", "rewards[1].entries[0].stages", ["the number 1", "a list"]),
    ("[0, 1]", "⟪null", "rewards[1].entries[0].stages", ["null", "a list"]),
]  # fmt: skip

PEAK_CASES = [
    ('"name": "peak", ', '"name": ⟪"", ', "aggregates[0].name", ["found ''"]),
    ('{"name": "peak", ', "⟪{", "aggregates[0]", ["an aggregate needs the key 'name'"]),
    ('"step": 1', '⟪"stp": 1', "aggregates[0].stp", ["did you mean 'step'?"]),
    ('"value": {"points"', '"value": {⟪"point"', "aggregates[0].value.point", ["'points'?"]),
    ('{"points": [[0, 0], [2, 0], [3, -15]]}', "⟪{}", "aggregates[0].value",
     ["none of a table, points"]),
    ('{"points": [[0, 0], [2, 0], [3, -15]]}', "⟪[0, 0, 0, 1]", "aggregates[0].value",
     ["found a list", "a mapping"]),
    ('{"points": [[0, 0], [2, 0], [3, -15]]}', '{"table": ⟪[0, 0, 1]}',
     "aggregates[0].value.table", ["found 3 rewards", "at least 4", "add up to 3"]),
    ('{"points": [[0, 0], [2, 0], [3, -15]]}', '{"table": [0, 0, 1, ⟪"x"]}',
     "aggregates[0].value.table[3]", ["found 'x'"]),
    ('[2, 0], [3, -15]', '[2, 0], [⟪2, -15]', "aggregates[0].value.points[2][0]",
     ["the sum 2 after 2", "increasing"]),
    ('[3, -15]', "⟪[3]", "aggregates[0].value.points[2]", ["found [3]", "a pair"]),
    ('[3, -15]', "⟪3", "aggregates[0].value.points[2]", ["the number 3", "a list"]),
    ('"step": 1', '"step": ⟪0', "aggregates[0].step", ["found 0", "above 0"]),
    ('"step": 1', '"step": ⟪"1"', "aggregates[0].step", ["found '1'"]),
    ('"amount": 2', '"amount": ⟪1.5', "aggregates[0].amounts[0].amount",
     ["found 1.5", "whole multiple of the step 1"]),
    ('"amount": 2', '"amount": ⟪-2', "aggregates[0].amounts[0].amount", ["found -2", "at least 0"]),
    ('"amount": 2', '"amount": ⟪true', "aggregates[0].amounts[0].amount", ["found true"]),
    ('"when": {"r1": {"action": "go"}}, "amount": 2', '"when": ⟪{}, "amount": 2',
     "aggregates[0].amounts[0].when", ["conditions of 0 agents", "expected one"]),
    ('{"r2": {"action": "go"}}, "amount": 1', '{⟪"r3": {"action": "go"}}, "amount": 1',
     "aggregates[0].amounts[1].when.r3", ["no agent 'r3'"]),
    ('{"r2": {"action": "go"}}, "amount": 1', '{"r2": {"action": ⟪"goo"}}, "amount": 1',
     "aggregates[0].amounts[1].when.r2.action", ["did you mean 'go'?"]),
    ('{"r2": {"action": "go"}}, "amount": 1', '{"r2": {⟪"next": "u1"}}, "amount": 1',
     "aggregates[0].amounts[1].when.r2.next", ["the state and the action only"]),
    ('"step": 1, "stages": [0, 1]', '"step": 1, "stages": [0, ⟪3]', "aggregates[0].stages[1]",
     ["found 3", "from 0 to 2"]),
]  # fmt: skip

ROAD_CASES = [
    *(
        ('"horizon": 8', f'"horizon": ⟪{written}', "horizon", [said, "from 1 to 100000"])
        for written, said in [("0", "found 0"), ("1e12", "1000000000000"), ("8.5", "8.5")]
    ),
    ('"must_complete": false', '"must_complete": ⟪"yes"', "must_complete", ["'yes'", "true or"]),
    ('"must_complete": false', '"must_complete": ⟪0', "must_complete", ["found 0", "true or"]),
    ('"must_complete"', '⟪"must_completed"', "must_completed", ["did you mean 'must_complete'?"]),
    ('"name": "a2"', '"name": ⟪"a/2"', "agents[0].tasks[1].name", ["'a/2'", "without '/'"]),
    ('"name": "a2"', '"name": ⟪"a1"', "agents[0].tasks[1].name", ["'a1' is listed twice"]),
    ('"name": "a2"', '"name": ⟪2', "agents[0].tasks[1].name", ["found 2", "quotes"]),
    ('"name": "a2"', '"name": ⟪""', "agents[0].tasks[1].name", ["found ''"]),
    ('"name": "a2"', '"name": ⟪{"a": 2}', "agents[0].tasks[1].name", ["found {'a': 2}"]),
    ('{"name": "a2", ', "⟪{", "agents[0].tasks[1]", ["a work needs the key 'name'"]),
    ('"duration": 1, "cost": 4', '⟪"duraton": 1, "duration": 1, "cost": 4',
     "agents[0].tasks[1].duraton", ["no key 'duraton'", "did you mean 'duration'?"]),
    *(
        ('"duration": 1, "cost": 4', f'"duration": ⟪{written}, "cost": 4',
         "agents[0].tasks[1].duration", [said, "at least 1"])
        for written, said in [
            ("0", "found 0"), ("-2", "found -2"), ("1.5", "found 1.5"), ('"1"', "found '1'"),
            ("true", "found true"), ("null", "found null"), ("[1]", "found [1]"),
        ]
    ),
    *(
        ('"cost": 4', f'"cost": ⟪{written}', "agents[0].tasks[1].cost", [said, "finite number"])
        for written, said in [
            ('"4"', "found '4'"), ("true", "found true"), ("null", "found null"), ("{}", "{}"),
        ]
    ),
    ('"cost": 4', '"cost": ⟪[1, 2]', "agents[0].tasks[1].cost", ["2 numbers", "the 8 steps"]),
    ('"cost": 4', '"cost": ⟪[]', "agents[0].tasks[1].cost", ["0 numbers", "the 8 steps"]),
    ('[1, 1, 1, 2, 2, 2, 1, 1]', '[1, 1, 1, ⟪"2", 2, 2, 1, 1]', "agents[1].tasks[0].cost[3]",
     ["found '2'", "finite"]),
    ('[1, 1, 1, 2, 2, 2, 1, 1]', "[1, 1, 1, ⟪1e999, 2, 2, 1, 1]", "agents[1].tasks[0].cost[3]",
     ["1e999", "finite"]),
    ('"revenue": 20', '"revenue": ⟪null', "agents[0].tasks[0].revenue", ["found null"]),
    ('"revenue": 20', '"revenue": ⟪[20]', "agents[0].tasks[0].revenue", ["found [20]"]),
    *(
        ('"probability": 0.3', f'"probability": ⟪{written}',
         "agents[0].tasks[0].delay.probability", [said, "from 0 to 1"])
        for written, said in [
            ("1.3", "found 1.3"), ("-0.1", "found -0.1"), ('"0.3"', "found '0.3'"),
            ("true", "found true"), ("null", "found null"),
        ]
    ),
    ('0.3, "duration": 1}', '0.3, "duration": ⟪0}', "agents[0].tasks[0].delay.duration",
     ["found 0", "at least 1"]),
    ('0.3, "duration": 1}', '0.3, "duration": ⟪0.5}', "agents[0].tasks[0].delay.duration",
     ["found 0.5"]),
    ('{"probability": 0.3, "duration": 1}', '⟪{"probability": 0.3}', "agents[0].tasks[0].delay",
     ["a delay needs the key 'duration'"]),
    ('{"probability": 0.3, "duration": 1}', "⟪null", "agents[0].tasks[0].delay", ["found null"]),
    ('{"probability": 0.3, "duration": 1}', "⟪[0.3, 1]", "agents[0].tasks[0].delay", ["a list"]),
    ('[0, 6]', "⟪[6, 0]", "agents[0].tasks[0].window", ["first step 6", "after", "last step 0"]),
    ('[0, 6]', "⟪[6]", "agents[0].tasks[0].window", ["found [6]", "[first step, last step]"]),
    ('[0, 6]', "⟪[0, 1, 6]", "agents[0].tasks[0].window", ["found [0, 1, 6]"]),
    ('[0, 6]', "⟪6", "agents[0].tasks[0].window", ["found 6"]),
    ('[0, 6]', '⟪"06"', "agents[0].tasks[0].window", ["found '06'"]),
    ('[0, 6]', "⟪null", "agents[0].tasks[0].window", ["found null"]),
    ('[0, 6]', "[⟪-1, 6]", "agents[0].tasks[0].window[0]", ["found -1", "at least 0"]),
    ('[0, 6]', "[0, ⟪6.5]", "agents[0].tasks[0].window[1]", ["found 6.5"]),
    ('[0, 6]', '[0, ⟪"6"]', "agents[0].tasks[0].window[1]", ["found '6'"]),
    ('[0, 6]', "[⟪true, 6]", "agents[0].tasks[0].window[0]", ["found true"]),
    # network
    ('["Alpha/a1", "Beta/b1"]', '⟪["Beta/b1"]', "network[0].tasks", ["one work", "two or more"]),
    ('["Alpha/a1", "Beta/b1"]', "⟪[]", "network[0].tasks", ["no works", "two or more"]),
    ('["Alpha/a1", "Beta/b1"]', '⟪"Beta/b1"', "network[0].tasks", ["'Beta/b1'", "a list"]),
    ('"Beta/b1"]', '⟪"Alpha/a2"]', "network[0].tasks[1]", ["'Alpha' has two works"]),
    ('"Beta/b1"]', '⟪"Alpha/a1"]', "network[0].tasks[1]", ["'Alpha' has two works"]),
    ('"Beta/b1"]', '⟪"b1"]', "network[0].tasks[1]", ["found 'b1'", "contractor/work"]),
    ('"Beta/b1"]', "⟪7]", "network[0].tasks[1]", ["found 7", "contractor/work"]),
    ('"Beta/b1"]', '⟪["Beta", "b1"]]', "network[0].tasks[1]", ["found ['Beta', 'b1']"]),
    ('"Beta/b1"]', '⟪"Betta/b1"]', "network[0].tasks[1]", ["'Betta'", "did you mean 'Beta'?"]),
    ('"Beta/b1"]', '⟪"Beta/b11"]', "network[0].tasks[1]", ["'b11'", "did you mean 'b1'?"]),
    ('"cost": 7.5', '"cost": ⟪null', "network[0].cost", ["found null"]),
    ('"cost": 7.5', '"cost": ⟪[7.5]', "network[0].cost", ["1 number", "8 steps"]),
]  # fmt: skip


def _cases(base: str, listed: list[Any]) -> list[Any]:
    return [
        pytest.param(edit(base, old, new), place, tuple(words), id=f"{place or 'top'} {new}")
        for old, new, place, words in listed
    ]


@pytest.mark.parametrize("suffix", [".json", ".yaml", ""])
@pytest.mark.parametrize(("marked", "place", "words"), _cases(ROBOTS, ROBOTS_CASES))
def test_breaks_of_timmdp_rules(
    tmp_path: Path, marked: str, place: str, words: tuple[str, ...], suffix: str
) -> None:
    """Every break of a rule of ti-mmdp/1 is reported once, where it stands and in words."""
    check_refusal(tmp_path, marked, place, words, suffix)


@pytest.mark.parametrize("suffix", [".json", ".yaml", ""])
@pytest.mark.parametrize(("marked", "place", "words"), _cases(PEAK, PEAK_CASES))
def test_breaks_of_rules_of_the_second_version(
    tmp_path: Path, marked: str, place: str, words: tuple[str, ...], suffix: str
) -> None:
    """Every break of a rule of ti-mmdp/2 is reported once, where it stands and in words."""
    check_refusal(tmp_path, marked, place, words, suffix)


@pytest.mark.parametrize("suffix", [".json", ".yaml", ""])
@pytest.mark.parametrize(("marked", "place", "words"), _cases(ROAD, ROAD_CASES))
def test_breaks_of_mpp_rules(
    tmp_path: Path, marked: str, place: str, words: tuple[str, ...], suffix: str
) -> None:
    """Every break of a rule of mpp/1 is reported once, where it stands and in words."""
    check_refusal(tmp_path, marked, place, words, suffix)


@pytest.mark.parametrize(
    ("base", "old", "new", "place", "words"),
    [
        (ROBOTS, '"horizon": 3,\n', "\n", "", ["the problem needs the key 'horizon'"]),
        (ROAD, '"horizon": 8, ', "", "", ["the problem needs the key 'horizon'"]),
        (ROAD, ', "cost": 7.5', "", "network[0]", ["needs the key 'cost'"]),
        (ROAD, ', "cost": 4', "", "agents[0].tasks[1]", ["a work needs the key 'cost'"]),
        (
            ROBOTS,
            ',\n    "s1": {"wait": {"s1": 1}}}',
            "}",
            "agents[0].transitions",
            ["state 's1'", "stage 1", "no action"],
        ),
    ],
)
def test_what_is_missing(
    tmp_path: Path, base: str, old: str, new: str, place: str, words: list[str]
) -> None:
    """A part that is missing is reported once, at the part in which it should be."""
    error = refusal(tmp_path, edit(base, old, new), ".json")
    (problem,) = error.problems
    assert problem.place == place
    assert all(word in problem.message for word in words)
    assert problem.line >= 1


@pytest.mark.parametrize("key", ["agents", "horizon"])
@pytest.mark.parametrize("base", [ROBOTS, ROAD])
def test_required_keys(tmp_path: Path, base: str, key: str) -> None:
    """Without one of its required keys a problem is refused, and only that is said."""
    raw = json.loads(base)
    del raw[key]
    (problem,) = refusal(tmp_path, json.dumps(raw), ".json").problems
    assert problem.message == f"the problem needs the key '{key}'"


@pytest.mark.parametrize("agents", ["[]", "{}", "null", "3", '"r1"', "[1]", "[[]]", "[null]"])
@pytest.mark.parametrize("base", [ROBOTS, ROAD])
def test_agents_must_be_a_list_of_mappings(tmp_path: Path, base: str, agents: str) -> None:
    """No agents, or agents that are none, are one problem, not also that names are unknown."""
    raw = json.loads(base)
    raw["agents"] = json.loads(agents)
    error = refusal(tmp_path, json.dumps(raw), ".json")
    if agents == "[]":
        assert error.problems[0].place == "agents"
        assert "one or more" in error.problems[0].message
    else:
        assert len(error.problems) == 1, str(error)
        assert error.problems[0].place in ("agents", "agents[0]")


@pytest.mark.parametrize("content", ["[]", "3", '"mpp/1"', "[1, 2]"])
def test_a_document_is_a_mapping(tmp_path: Path, content: str) -> None:
    """A document that is no mapping is refused."""
    (problem,) = refusal(tmp_path, content, ".json").problems
    assert "expected the document, a mapping" in problem.message


def test_names_with_a_slash(tmp_path: Path) -> None:
    """An agent's name with a slash is refused, and references by that name are not blamed."""
    text = ROAD.replace("Beta", "Be/ta")
    (problem,) = refusal(tmp_path, text, ".json").problems
    assert problem.place == "agents[1].name"
    assert "without '/'" in problem.message


# YAML


@pytest.mark.parametrize(
    ("base", "old", "new", "place", "words"),
    [
        (ROAD_YAML, "name: Beta", "name: ⟪12", "agents[1].name", ["found 12", "quotes"]),
        (ROAD_YAML, "name: b1", "name: ⟪1e3", "agents[1].tasks[0].name", ["found 1000", "quotes"]),
        (ROAD_YAML, "name: b1", "name: ⟪true", "agents[1].tasks[0].name", ["true", "quotes"]),
        (ROAD_YAML, "name: b1", "name: ⟪~", "agents[1].tasks[0].name", ["found null"]),
        (ROAD_YAML, "must_complete: false", "must_complete: ⟪no", "must_complete", ["'no'"]),
        (ROAD_YAML, "revenue: 20", "revenue: ⟪.inf", "agents[0].tasks[0].revenue", ["finite"]),
        (ROAD_YAML, "cost: 7.5", "cost: ⟪.nan", "network[0].cost", ["finite"]),
        (ROBOTS_YAML, "s1: {wait", "⟪1: {wait", "agents[0].transitions.1", ["1 reads as a number"]),
        (ROBOTS_YAML, "initial: s0", "initial: ⟪0", "agents[0].initial", ["found 0", "quotes"]),
        (ROBOTS_YAML, "scope: [r1, r2]", "scope: [r1, ⟪2]", "rewards[1].scope[1]", ["found 2"]),
        (
            ROBOTS_YAML,
            "- {when: {r1: {action: go}}, value: -1}",
            "- when:\n          ⟪r7:\n            action: go\n        value: -1",
            "rewards[0].entries[0].when.r7",
            ["no agent 'r7'"],
        ),
        (
            ROAD_YAML,
            "        duration: 2 ",
            "        ⟪dration:\n          2\n        duration: 2",
            "agents[0].tasks[0].dration",
            ["no key 'dration'", "'duration'?"],
        ),
    ],
)
def test_breaks_of_rules_in_yaml(
    tmp_path: Path, base: str, old: str, new: str, place: str, words: list[str]
) -> None:
    """What only YAML can get wrong is reported where it stands; a name is where its key is."""
    text, line, column = take_mark(edit(base, old, new))
    problem = refusal(tmp_path, text).problems[0]
    assert (problem.place, problem.line, problem.column) == (place, line, column)
    assert all(word in problem.message for word in words)


def test_names_that_only_look_special(tmp_path: Path) -> None:
    """Words such as no, on and y are names like others."""
    text = ROAD_YAML.replace("Beta", "no").replace("b1", "on").replace("Alpha", "y")
    problem = read(tmp_path, text)
    assert isinstance(problem, MaintenanceProblem)
    assert [c.name for c in problem.contractors] == ["y", "no"]
    assert problem.contractors[1].tasks[0].name == "on"


# What is accepted


def two_robots() -> TIMMDP:
    """The example of ti-mmdp/1, made in Python."""
    return TIMMDP(
        (
            Agent(
                "r1",
                "s0",
                {
                    "s0": {"go": {"s1": 0.8, "s0": 0.2}, "wait": {"s0": 1}},
                    "s1": {"wait": {"s1": 1}},
                },
                {"s1": {"done": True}},
            ),
            Agent(
                "r2",
                "u0",
                {"u0": {"go": {"u1": 1}, "wait": {"u0": 1}}, "u1": {"wait": {"u1": 1}}},
            ),
        ),
        (
            RewardFunction(
                ("r1",),
                (
                    Entry({"r1": Condition(action="go")}, -1),
                    Entry({"r1": Condition(action="go", next={"done": True})}, 10),
                ),
            ),
            RewardFunction(
                ("r1", "r2"),
                (
                    Entry(
                        {"r1": Condition(action="go", next="s1"), "r2": Condition(action="go")},
                        -5,
                        (0, 1),
                    ),
                ),
            ),
        ),
        horizon=3,
        name="two robots",
    )


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_example_of_timmdp(tmp_path: Path, suffix: str) -> None:
    """The example of ti-mmdp/1 reads as written, from JSON and from YAML."""
    assert read(tmp_path, ROBOTS, suffix) == two_robots()
    if "json" not in suffix.lower():
        assert read(tmp_path, ROBOTS_YAML, suffix) == two_robots()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_example_of_mpp(tmp_path: Path, suffix: str) -> None:
    """The example of mpp/1 reads as written, from JSON and from YAML."""
    a1 = Task("a1", 2, 3.0, Delay(0.3, 1), 20.0, (0, 6))
    b1 = Task("b1", 3, (1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 1.0, 1.0), None, 15.0)
    network = (Hindrance(("Alpha/a1", "Beta/b1"), 7.5),)
    beta = Contractor("Beta", (b1,))
    more = (a1, Task("a2", 1, 4.0))
    assert read(tmp_path, ROAD, suffix) == MaintenanceProblem(
        (Contractor("Alpha", more), beta), 8, network, False, "ring road"
    )
    if "json" not in suffix.lower():
        assert read(tmp_path, ROAD_YAML, suffix) == MaintenanceProblem(
            (Contractor("Alpha", (a1,)), beta), 8, network, False, "ring road"
        )


ACCEPTED = [
    (ROBOTS, '"horizon": 3', '"horizon": 3.0'),
    (ROBOTS, '"horizon": 3', '"horizon": 1e1'),
    (ROBOTS, '"horizon": 3', '"horizon": 100000'),
    (ROBOTS, '"two robots"', '""'),
    (ROBOTS, '"s1": 0.8, "s0": 0.2', '"s1": 0.8, "s0": 0.2000000005'),
    (ROBOTS, '"s1": 0.8, "s0": 0.2', '"s1": 1, "s0": 0, "nowhere": 0.0'),
    (ROBOTS, "[0, 1]", "[0, 2.0]"),
    (ROBOTS, "[0, 1]", "[1, 1]"),
    (ROBOTS, '"when": {"r1": {"action": "go"}}', '"when": {}'),
    (ROBOTS, '"when": {"r1": {"action": "go"}}', '"when": {"r1": {}}'),
    (ROBOTS, '"when": {"r1": {"action": "go"}}, ', ""),
    (ROBOTS, '"next": "s1"', '"next": ["s0", "s1"], "state": {"done": 1}'),
    (ROBOTS, '"value": -1', '"value": 1e300'),
    (ROBOTS, '"features": {"s1": {"done": true}}', '"features": {"s1": {"done": "", "n": -0.5}}'),
    (ROAD, '"horizon": 8', '"horizon": 8.0'),
    (ROAD, '"must_complete": false', '"must_complete": true'),
    (ROAD, '"duration": 2', '"duration": 2.0'),
    (ROAD, '"duration": 2', '"duration": 1e3'),
    (ROAD, "[0, 6]", "[6, 6]"),
    (ROAD, "[0, 6]", "[0.0, 1e9]"),
    (ROAD, "[0, 6]", "[8, 80]"),
    (ROAD, '"cost": 4', '"cost": -4'),
    (ROAD, '"cost": 4', '"cost": 0'),
    (ROAD, '"revenue": 20', '"revenue": -20.5'),
    (ROAD, '"cost": 7.5', '"cost": -7.5'),
    (ROAD, '"cost": 7.5', '"cost": [0, 0, 0, 0, 0, 0, 0, -1e-9]'),
    (ROAD, '"probability": 0.3', '"probability": 0'),
    (ROAD, '"probability": 0.3', '"probability": 1.0'),
    (ROAD, '"name": "a2"', '"name": "true"'),
    (ROAD, '"cost": 7.5}', '"cost": 7.5}, {"tasks": ["Beta/b1", "Alpha/a1"], "cost": 1}'),
]  # fmt: skip


@pytest.mark.parametrize("suffix", [".json", ".yaml", ""])
@pytest.mark.parametrize(("base", "old", "new"), ACCEPTED)
def test_what_rules_allow(tmp_path: Path, base: str, old: str, new: str, suffix: str) -> None:
    """What no rule forbids is accepted."""
    read(tmp_path, edit(base, old, new), suffix)


@pytest.mark.parametrize(
    ("base", "keys"), [(ROBOTS, ["name", "rewards"]), (ROAD, ["name", "must_complete", "network"])]
)
def test_optional_keys(tmp_path: Path, base: str, keys: list[str]) -> None:
    """Without its optional keys a problem takes its name from the file and has no rewards."""
    raw = {key: value for key, value in json.loads(base).items() if key not in keys}
    for agent in raw["agents"]:
        agent.pop("features", None)
        for task in agent.get("tasks", []):
            for key in ("delay", "revenue", "window"):
                task.pop(key, None)
    path = tmp_path / "ring.road.json"
    path.write_text(json.dumps(raw))
    problem = read_problem(path)
    assert problem.name == "ring.road"
    if isinstance(problem, TIMMDP):
        assert problem.rewards == ()
        assert dict(problem.agents[0].features) == {}
    else:
        assert problem.must_complete is False
        assert problem.network == ()
        task = problem.contractors[0].tasks[0]
        assert (task.delay, task.revenue, task.window) == (None, 0, None)


def test_an_agent_without_tasks(tmp_path: Path) -> None:
    """An agent may have nothing to do."""
    problem = read(tmp_path, "format: mpp/1\nhorizon: 2\nagents: [{name: idler, tasks: []}]\n")
    assert isinstance(problem, MaintenanceProblem)
    assert problem.contractors == (Contractor("idler"),)
    assert solve(problem).value == 0


def test_features_tell_true_from_one(tmp_path: Path) -> None:
    """A feature that is true is not 1, while 1 equals 1.0, in problems and in their values."""
    text = """
format: ti-mmdp/1
horizon: 1
agents:
  - name: r
    initial: s
    transitions: {s: {go: {a: 0.5, b: 0.25, c: 0.25}}}
    features: {a: {x: true}, b: {x: 1}, c: {x: 1.0}}
rewards:
  - scope: [r]
    entries:
      - {when: {r: {next: {x: true}}}, value: 1}
      - {when: {r: {next: {x: 1}}}, value: 100}
      - {when: {r: {next: {x: 1.0}}}, value: 10000}
"""
    problem = read(tmp_path, text)
    assert solve(problem).value == pytest.approx(0.5 + 50 + 5000)
    assert problem == read(tmp_path, text.replace("b: {x: 1}", "b: {x: 1.0}"))
    assert problem != read(tmp_path, text.replace("a: {x: true}", "a: {x: 1}"))
    assert problem != read(tmp_path, text.replace("next: {x: true}", "next: {x: 1}"))


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name - stands for the standard input, JSON or YAML, whose problem has a plain name."""
    for text in (ROBOTS, ROBOTS_YAML):
        standard_input = io.TextIOWrapper(io.BytesIO(text.encode()))
        monkeypatch.setattr("sys.stdin", standard_input)
        assert read_problem("-") == two_robots()
    unnamed = io.BytesIO(ROBOTS.replace('"name": "two robots", ', "").encode())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(unnamed))
    assert read_problem("-").name == "problem"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"{}")))
    with pytest.raises(FormatError, match="<standard input>:1:1: the document needs"):
        read_problem("-")


def test_mistakes_in_python_are_told_in_the_same_words(tmp_path: Path) -> None:
    """A problem that is made in Python is refused with the place and words of a file."""
    with pytest.raises(ModelError) as caught:
        MaintenanceProblem((Contractor("A", (Task("a", 0, 1),)),), horizon=3)
    text = (
        "{format: mpp/1, horizon: 3, agents: [{name: A, tasks: [{name: a, duration: 0, cost: 1}]}]}"
    )
    (problem,) = refusal(tmp_path, text).problems
    assert str(caught.value) == str(problem)
    with pytest.raises(ModelError, match=r"rewards\[0\]\.entries\[0\]\.when\.r: .*a Condition"):
        entry = Entry({"r": {"action": "go"}}, 1)  # type: ignore[dict-item]
        TIMMDP((Agent("r", "s", {"s": {"go": {"s": 1}}}),), (RewardFunction(("r",), (entry,)),), 1)
    with pytest.raises(ModelError, match="thousands of digits"):
        MaintenanceProblem((Contractor("A", (Task("a", 10**5000, 1),)),), horizon=3)


# must_complete


def test_must_complete_names_the_agent_and_its_tasks(tmp_path: Path) -> None:
    """Where not all tasks fit, the agent and just the tasks that do not fit are named."""
    text = """
format: mpp/1
horizon: 6
must_complete: true
agents:
  - {name: Alpha, tasks: [{name: fits, duration: 6, cost: 1}]}
  - name: Beta
    tasks:
      - {name: easy, duration: 1, cost: 1}
      - {name: early, duration: 2, cost: 1, window: [0, 1]}
      - {name: soon, duration: 2, cost: 1, window: [0, 1], delay: {probability: 0.1, duration: 1}}
  - {name: Gamma, tasks: [{name: long, duration: 7, cost: 1}, {name: short, duration: 1, cost: 1}]}
"""
    error = refusal(tmp_path, text)
    places = [problem.place for problem in error.problems]
    assert places == ["agents[1].tasks[1]", "agents[2].tasks[0]"]
    assert "'Beta'" in error.problems[0].message
    assert "'early', 'soon' do not fit together" in error.problems[0].message
    assert "must_complete" in error.problems[0].message
    assert "'long' does not fit" in error.problems[1].message
    read(tmp_path, text.replace("must_complete: true", "must_complete: false"))
    harmless = text.replace("probability: 0.1", "probability: 0").replace("[0, 1], d", "[0, 2], d")
    assert len(refusal(tmp_path, harmless).problems) == 1


def test_must_complete_is_not_judged_on_broken_tasks(tmp_path: Path) -> None:
    """Whether tasks fit is only said of tasks without problems of their own."""
    text = """
format: mpp/1
horizon: 2
must_complete: true
agents:
  - {name: Alpha, tasks: [{name: a, duration: 5, cost: x}]}
  - {name: Beta, tasks: [{name: b, duration: 5, cost: 1, delay: {}}]}
"""
    places = [problem.place for problem in refusal(tmp_path, text).problems]
    assert places == ["agents[0].tasks[0].cost", *["agents[1].tasks[0].delay"] * 2]


# Several problems


def test_all_problems_at_once_in_file_order(tmp_path: Path) -> None:
    """Problems of shape and of sense, in all parts, are reported together in file order."""
    text = """
format: mpp/1
network:
  - {tasks: [Alpha/a1, Beta/b2], cost: 1}
  - {tasks: [Alpha/a1], cost: [1], extra: 1}
agents:
  - name: Alpha
    tasks:
      - {name: a1, duration: 0, cost: 1, windw: [0, 1]}
      - {name: a1, duration: 1, cost: 1, delay: {probability: 2}}
  - name: Beta
    tasks: [{name: b1, duration: 1, cost: 1, window: [2, 1]}]
horizon: 2.5
must_complete: maybe
"""
    error = refusal(tmp_path, text)
    assert [problem.place for problem in error.problems] == [
        "network[0].tasks[1]",
        "network[1].tasks",
        "network[1].extra",
        "agents[0].tasks[0].duration",
        "agents[0].tasks[0].windw",
        "agents[0].tasks[1].name",
        "agents[0].tasks[1].delay",
        "agents[0].tasks[1].delay.probability",
        "agents[1].tasks[0].window",
        "horizon",
        "must_complete",
    ]
    positions = [(problem.line, problem.column) for problem in error.problems]
    assert positions == sorted(positions)
    assert len(str(error).splitlines()) == len(error.problems)


def test_at_most_twenty_problems(tmp_path: Path) -> None:
    """Of very many problems the first twenty of the file are reported."""
    tasks = ", ".join(f"{{name: t{k}, duration: 0, cost: 1}}" for k in range(100))
    text = f"format: mpp/1\nhorizon: 2\nagents: [{{name: A, tasks: [{tasks}]}}]\n"
    error = refusal(tmp_path, text)
    assert [p.place for p in error.problems] == [
        f"agents[0].tasks[{k}].duration" for k in range(20)
    ]
    keys = ", ".join(f"k{k}: 1" for k in range(100))
    error = refusal(tmp_path, f"{{format: mpp/1, agents: [{{{keys}}}], horizon: 2}}")
    assert len(error.problems) == 20
    assert error.problems[2].place == "agents[0].k0"


@pytest.mark.parametrize(
    ("base", "old", "new", "places"),
    [
        # a mistyped key: what it should have said is not also said to be missing elsewhere
        (ROBOTS, '"features"', '"feature"', ["agents[0].feature"]),
        (ROBOTS, '"name": "r2"', '"nme": "r2"', ["agents[1]", "agents[1].nme"]),
        (ROBOTS, '"name": "r2"', '"name": ["r2"]', ["agents[1].name"]),
        (ROBOTS, '"name": "r2"', '"name": 2', ["agents[1].name"]),
        (ROBOTS, '"initial": "u0",', "", ["agents[1]"]),
        (ROBOTS, '"horizon": 3', '"horizon": -3', ["horizon"]),
        (ROBOTS, '"horizon": 3', '"horizn": 3', ["", "horizn"]),
        (ROBOTS, '["r1", "r2"]', "7", ["rewards[1].scope"]),
        (ROBOTS, '["r1", "r2"]', '["r1", "r22"]', ["rewards[1].scope[1]"]),
        (ROBOTS, '{"go": {"s1": 0.8, "s0": 0.2}, "wait": {"s0": 1}}', "3",
         ["agents[0].transitions.s0"]),
        (ROBOTS, '{"s1": 0.8, "s0": 0.2}', '{"s1": "0.8", "s0": 0.2}',
         ["agents[0].transitions.s0.go.s1"]),
        (ROBOTS, '{"s1": 0.8, "s0": 0.2}', '{"s1": 1.2, "s0": -0.4}',
         ["agents[0].transitions.s0.go.s0"]),
        (ROAD, '"horizon": 8', '"horizon": "8"', ["horizon"]),
        (ROAD, '"horizon": 8, ', "", [""]),
        (ROAD, '"name": "Beta"', '"name": null', ["agents[1].name"]),
        (ROAD, '"name": "Beta"', '"name": "Alpha"', ["agents[1].name"]),
        (ROAD, '"name": "b1"', '"name": 1', ["agents[1].tasks[0].name"]),
        (ROAD, '"tasks": [{"name": "b1"', '"tsk": [{"name": "b1"', ["agents[1]", "agents[1].tsk"]),
        (ROAD, '"window": [0, 6]', '"window": [6, "0"]', ["agents[0].tasks[0].window[1]"]),
    ],
)  # fmt: skip
def test_a_mistake_is_not_blamed_on_others(
    tmp_path: Path, base: str, old: str, new: str, places: list[str]
) -> None:
    """One mistake does not lead to complaints about parts that are fine."""
    error = refusal(tmp_path, edit(base, old, new), ".json")
    assert [problem.place for problem in error.problems] == places, str(error)


def test_a_mistake_does_not_hide_others(tmp_path: Path) -> None:
    """A mistake of shape in one part leaves the other parts to be checked."""
    text = ROBOTS.replace('"initial": "u0"', '"initial": "u0", "x": 1').replace(
        '"value": -1', '"value": null'
    )
    text = text.replace('"scope": ["r1"],', '"scope": ["rr1"],')
    error = refusal(tmp_path, text, ".json")
    assert [problem.place for problem in error.problems] == [
        "agents[1].x",
        "rewards[0].scope[0]",
        "rewards[0].entries[0].value",
    ]
