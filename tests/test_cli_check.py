"""`coreplan check`: what it says of good and bad files."""

from __future__ import annotations

from pathlib import Path

from cli_runs import SMALL, Run, one_json


def test_check(run: Run, small: Path, tmp_path: Path) -> None:
    """`check` says ok for good files and what is wrong where for bad ones: exit code 2."""
    bad = tmp_path / "bad.yaml"
    bad.write_text(SMALL.replace("duration: 1, cost: 2", "duration: 0, cost: x"))
    code, out, err = run("check", small)
    assert (code, err) == (0, "")
    assert out == f"{small}: ok, mpp/1, 2 contractors, 3 works, 6 steps, 1 hindrance rule\n"
    code, out, err = run("check", bad, small)
    assert code == 2
    assert out.startswith(f"{small}: ok")
    lines = err.splitlines()
    assert len(lines) == 2
    for line, place in zip(lines, ("duration", "cost"), strict=True):
        assert line.startswith(f"error: {bad}:9:")
        assert f"agents[0].tasks[1].{place}" in line


def test_check_as_json(run: Run, small: Path, tmp_path: Path) -> None:
    """`check --json` prints one list with a report for each file, and nothing else."""
    bad = tmp_path / "bad.yaml"
    bad.write_text(SMALL.replace("horizon", "horizont"))
    code, out, err = run("check", small, bad, tmp_path / "missing.yaml", "--json")
    assert (code, err) == (2, "")
    good, wrong, missing = one_json(out)
    assert good == {"file": str(small), "ok": True, "problems": []}
    assert (wrong["file"], wrong["ok"]) == (str(bad), False)
    assert {"line", "column", "place", "message"} <= set(wrong["problems"][0])
    assert any("did you mean 'horizon'" in each["message"] for each in wrong["problems"])
    assert "cannot be read" in missing["problems"][0]["message"]
    code, out, _ = run("check", small, "--json")
    assert code == 0
    assert one_json(out) == [good]


def test_values_that_no_state_has_are_noted(run: Run, tmp_path: Path) -> None:
    """Files may ask for them, but they match nothing: probably a mistake, which `check` names."""
    path = tmp_path / "zones.yaml"
    path.write_text(
        "format: ti-mmdp/1\nhorizon: 1\n"
        "agents: [{name: a, initial: s, transitions: {s: {go: {s: 1}}}, "
        "features: {s: {zone: north}}}]\n"
        "rewards: [{scope: [a], entries: [{when: {a: {next: {zone: nroth}}}, value: 1}]}]\n"
    )
    code, out, err = run("check", path)
    assert (code, err) == (0, "")
    assert "has the value 'nroth' of the feature 'zone'; did you mean 'north'?" in out
    path.write_text(path.read_text().replace("nroth", "north"))
    assert "note" not in run("check", path).out
