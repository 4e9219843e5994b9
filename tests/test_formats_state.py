"""Files that say where everybody stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from coreplan import ContractorState, FormatError
from coreplan.formats import read_state
from helpers import from_file
from test_formats_problem import ROAD, ROBOTS


def read(folder: Path, base: str, text: str) -> dict[str, Any]:
    """Read a joint state of an example from a YAML file with this text."""
    path = folder / "state.yaml"
    path.write_text(text, encoding="utf-8")
    return read_state(path, from_file(json.loads(base)))


def test_states_of_named_agents(tmp_path: Path) -> None:
    """A ti-mmdp/1 problem wants the name of a state for each agent."""
    assert read(tmp_path, ROBOTS, "{r1: s1, r2: u0}") == {"r1": "s1", "r2": "u0"}


def test_states_of_contractors(tmp_path: Path) -> None:
    """An mpp/1 problem wants what each contractor has done and is doing."""
    text = "Alpha: {done: [a2], doing: a1, remaining: 2}\nBeta: {}\n"
    assert read(tmp_path, ROAD, text) == {
        "Alpha": ContractorState(("a2",), "a1", 2),
        "Beta": ContractorState(),
    }


@pytest.mark.parametrize(
    ("base", "text", "place", "words"),
    [
        (ROBOTS, "{r1: s1}", "", "the joint state lacks agent 'r2'"),
        (ROBOTS, "{r1: s1, r2: u0, r3: x}", "", "no agent 'r3'"),
        (ROBOTS, "{r1: s11, r2: u0}", "r1", "did you mean 's1'?"),
        (ROBOTS, "{r1: 1, r2: u0}", "r1", "no state 1"),
        (ROBOTS, "{r1: [s1], r2: u0}", "r1", "no state ['s1']"),
        (ROBOTS, "[s1, u0]", "", "a mapping"),
        (ROAD, "{Alpha: {done: [a9]}, Beta: {}}", "Alpha", "no work 'a9'"),
        (ROAD, "{Alpha: {doing: a1}, Beta: {}}", "Alpha", "expected the remaining steps"),
        (
            ROAD,
            "{Alpha: {doing: a1, remaining: '2'}, Beta: {}}",
            "Alpha",
            "found `remaining` '2' for work 'a1'",
        ),
        (ROAD, "{Alpha: {remaining: 2}, Beta: {}}", "Alpha", "give the work under `doing`"),
        (ROAD, "{Alpha: {dong: a1}, Beta: {}}", "Alpha", "did you mean"),
        (ROAD, "{Alpha: a1, Beta: {}}", "Alpha", "found 'a1'"),
        (ROAD, "{Alpha: {done: [[a1]]}, Beta: {}}", "Alpha", "no work ['a1']"),
        (ROAD, "{Alpha: {done: 3}, Beta: {}}", "Alpha", "a list of works"),
        (ROAD, "{Alpha: {doing: [a1]}, Beta: {}}", "Alpha", "no work ['a1']"),
    ],
)
def test_states_that_do_not_fit(
    tmp_path: Path, base: str, text: str, place: str, words: str
) -> None:
    """A state that does not fit the problem is refused, with the agent and the reason."""
    with pytest.raises(FormatError) as caught:
        read(tmp_path, base, text)
    (problem,) = caught.value.problems
    assert problem.place == place
    assert words in problem.message
    assert problem.line == 1
