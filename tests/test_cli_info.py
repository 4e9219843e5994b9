"""`coreplan info`: sizes, in words and as JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import coreplan
from cli_runs import Run, one_json
from coreplan import read_problem


def test_info(run: Run, small: Path) -> None:
    """`info` shows how large each agent is, and as JSON the same numbers."""
    code, out, err = run("info", small, "--json")
    assert (code, err) == (0, "")
    report = one_json(out)
    compiled = coreplan.solving.compile_problem(read_problem(small))
    assert [agent["name"] for agent in report["agents"]] == ["Alpha", "Beta"]
    assert [agent["merged"] for agent in report["agents"]] == [s.merged for s in compiled.sizes]
    assert report["joint_states"] == compiled.joint_states
    assert (report["horizon"], report["interactions"]) == (6, 1)
    code, out, err = run("info", small)
    assert (code, err) == (0, "")
    first = report["agents"][0]
    numbers = [first[key] for key in ("local_states", "unrolled", "transitions", "merged")]
    assert re.search(r"^Alpha +" + " +".join(map(str, numbers)) + "$", out, re.MULTILINE)
    assert f"{report['joint_states']:.0f} joint states" in out
    assert "1 possible interaction" in out
    unmerged = one_json(run("info", small, "--no-merge", "--json").out)
    assert unmerged["agents"][0]["merged"] is None


def test_sizes_are_in_one_language(run: Run, small: Path) -> None:
    """Output for researchers is English, also where a word of it has translations."""
    out = run("info", small, "--language", "nl").out
    assert "joint states before the horizon" in out
    assert "possible interaction" in out
    assert "mogelijke" not in out


def test_info_of_very_many_agents(run: Run, tmp_path: Path) -> None:
    """More joint states than a number can count are told as valid JSON, and readably."""
    agents = [
        {
            "name": f"a{k}",
            "initial": "s",
            "transitions": {"s": {"x": {"s": 0.5, "t": 0.5}}, "t": {"x": {"s": 0.5, "t": 0.5}}},
        }
        for k in range(1100)
    ]
    rewards = [
        {"scope": [a["name"]], "entries": [{"when": {a["name"]: {"state": "s"}}, "value": 1}]}
        for a in agents
    ]
    path = tmp_path / "wide.json"
    path.write_text(
        json.dumps({"format": "ti-mmdp/1", "horizon": 2, "agents": agents, "rewards": rewards})
    )
    assert one_json(run("info", path, "--json").out)["joint_states"] is None
    assert max(map(len, run("solve", path).out.splitlines())) < 200
