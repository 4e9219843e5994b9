"""The command line as a whole: help, usage, errors, names, and the process that it is."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

import coreplan
from cli_runs import SMALL, Run, one_json, run_unread, shell
from coreplan import cli

COMMANDS = [
    "solve",
    "evaluate",
    "compare",
    "check",
    "info",
    "infinite",
    "crg",
    "schema",
    "trace",
    "verify",
    "cross-check",
    "export",
    "demo",
]


@pytest.mark.parametrize("command", ["solve", "info"])
def test_a_limit_before_any_plan(run: Run, small: Path, command: str) -> None:
    """A limit that strikes before there is any plan gives exit code 3 and no result."""
    code, out, err = run(command, small, "--memory-limit", "0.0001", "--json")
    assert (code, out) == (3, "")
    assert err.startswith("error: ")
    assert "memory limit" in err


# -- help, usage and errors ------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(run: Run, command: str) -> None:
    """Every command explains itself, with examples that start with its name."""
    code, out, err = run(command, "--help")
    assert (code, err) == (0, "")
    examples = out.partition("Examples:\n")[2].splitlines()
    assert examples
    assert all(f"coreplan {command}" in line for line in examples)
    assert run(command, "-h").out == out


def test_help_of_all(run: Run) -> None:
    """`coreplan --help` lists every command in full, with examples."""
    code, out, _ = run("--help")
    assert code == 0
    assert "Examples:\n" in out
    for command in COMMANDS:
        assert re.search(rf"^  {command} +[A-Z].*[^.]\.$", out, re.MULTILINE)
    assert run("--version").out == f"coreplan, version {coreplan.__version__}\n"


def test_help_in_groups(run: Run) -> None:
    """The help starts with what planners need, and every command stands in one group."""
    out = run("--help").out
    begin, *groups = re.split(r"^(?=\w[\w ]*:$)", out, flags=re.MULTILINE)
    assert "MDP" not in begin
    assert "Plan works of several contractors" in begin
    titles = [group.partition(":")[0] for group in groups]
    wanted = ["Plan", "Check and understand", "Compare", "Research", "Files"]
    assert [title for title in titles if title in wanted] == wanted
    listed = [each.name for commands in cli.SECTIONS.values() for each in commands]
    assert sorted(map(str, listed)) == sorted(cli.cli.commands)
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize("width", ["80", "120"])
def test_help_fits(run: Run, monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    """No line of any help is wider than the terminal."""
    monkeypatch.setenv("COLUMNS", width)
    for command in ((), *((each,) for each in COMMANDS), ("compare", "algorithms")):
        for line in run(*command, "--help").out.splitlines():
            assert len(line) <= int(width) or line.strip().startswith("coreplan "), line


def test_usage(run: Run, small: Path) -> None:
    """Commands, options and arguments that do not exist or lack are usage errors: code 2."""
    for arguments in ([], ["slove", small], ["solve"], ["solve", small, "--bogus"], ["check"]):
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert "coreplan" in err


@pytest.mark.parametrize("command", ["solve", "info", "check", "compare algorithms"])
def test_files_that_cannot_be_read(run: Run, tmp_path: Path, command: str) -> None:
    """A missing file, a folder and a file that is no problem are errors on stderr: code 2."""
    garbage = tmp_path / "garbage"
    garbage.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "missing.yaml", tmp_path, garbage):
        code, out, err = run(*command.split(), path)
        assert (code, out) == (2, "")
        assert err.startswith(f"error: {path}")


def test_internal_errors(run: Run, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake in the program itself gives exit code 1 and a request to report it."""

    def fail(*_: object, **__: object) -> NoReturn:
        raise RuntimeError("it broke")

    monkeypatch.setattr("coreplan.cli.solve.solve_problem", fail)
    code, out, err = run("solve", small, "--json")
    assert (code, out) == (1, "")
    assert "internal error: RuntimeError: it broke" in err
    assert "COREPLAN_DEBUG=1" in err


def test_debugging_shows_the_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only with COREPLAN_DEBUG an internal error comes with its traceback."""

    def fail(*_: object, **__: object) -> NoReturn:
        raise RuntimeError("it broke")

    monkeypatch.setattr("coreplan.cli.solve.solve_problem", fail)
    monkeypatch.setenv("COREPLAN_DEBUG", "1")
    with pytest.raises(SystemExit, match="1"):
        cli.main(["demo"])
    assert "Traceback" in capsys.readouterr().err


def test_numbers_that_are_too_large(run: Run, tmp_path: Path) -> None:
    """Rewards that cannot be added up are the problem's fault, not the program's."""
    path = tmp_path / "huge.yaml"
    path.write_text(
        SMALL.replace("revenue: 20", "revenue: 1e308").replace("revenue: 9", "revenue: 1e308")
    )
    code, out, err = run("solve", path, "--json")
    assert (code, out) == (2, "")
    assert "too large" in err


# -- names are shown as they are -------------------------------------------------------------------

ODD = ["[red]x[/red]", ":smile:", "back\\", "[/]", "日本", "[link=x]", "a]b["]


def test_names_are_shown_literally(run: Run, tmp_path: Path) -> None:
    """Names that look like markup, emoji codes or escapes are printed as they are."""
    path = tmp_path / "odd.json"
    raw: dict[str, Any] = {
        "format": "mpp/1",
        "name": "[bold]:warning:[/bold]",
        "horizon": 3,
        "agents": [
            {"name": name, "tasks": [{"name": "[/] :car:", "duration": 1, "cost": 1, "revenue": 9}]}
            for name in [each.replace("/", "|") for each in ODD]
        ],
    }
    raw["agents"][0]["tasks"][0]["name"] = "[red]:car:\\"
    for agent in raw["agents"][1:]:
        agent["tasks"][0]["name"] = "[b]"
    path.write_text(json.dumps(raw))
    for command in ("solve", "info"):
        code, out, _ = run(command, path)
        assert code == 0
        assert "[bold]:warning:[/bold]: 7 contractors" in out
        for agent in raw["agents"]:
            assert agent["name"] in out
    assert "[red]x[|red] starts [red]:car:\\ at once" in run("solve", path).out
    report = one_json(run("info", path, "--json").out)
    assert [agent["name"] for agent in report["agents"]] == [a["name"] for a in raw["agents"]]


@pytest.mark.parametrize("name", ODD)
def test_names_in_errors_are_shown_literally(run: Run, tmp_path: Path, name: str) -> None:
    """The same holds for what errors quote, and for the names of files."""
    path = tmp_path / f"{name.replace('/', '|')}.json"
    path.write_text(json.dumps({"format": "mpp/1", "horizon": 3, "agents": [], name: 1}))
    code, out, err = run("check", path)
    assert (code, out) == (2, "")
    assert f"error: {path}:" in err
    assert repr(name) in err or name in err
    path.write_text(SMALL)
    assert run("check", path.rename(tmp_path / f"{path.stem}.yaml")).out.startswith(
        f"{tmp_path}/{path.stem}.yaml: ok"
    )


def test_an_encoding_that_lacks_letters(tmp_path: Path) -> None:
    """Names beyond the terminal's encoding do no harm; JSON stays right."""
    path = tmp_path / "odd.yaml"
    path.write_text(SMALL.replace("Alpha", "日本é"), encoding="utf-8")
    env = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = shell("solve", path, env=env, encoding="latin-1")
    assert (done.returncode, done.stderr) == (0, "")
    assert r"\u65e5\u672c" in done.stdout
    agents = json.loads(shell("info", path, "--json", env=env).stdout)["agents"]
    assert agents[0]["name"] == "日本é"


# -- the process -----------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["schema"], ["demo"], ["demo", "--json"], ["--help"]])
def test_broken_pipe(arguments: list[str]) -> None:
    """If nobody wants the rest of the output (`| head -1`), that is no error."""
    run_unread(*arguments)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written() -> None:
    """A full disk is an error in words, not a mistake of the program."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "coreplan.cli", "demo", "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("error: the output cannot be written")
    assert len(done.stderr.splitlines()) == 1


def test_as_a_program(small: Path) -> None:
    """Run as a program it prints results on stdout and errors on stderr only."""
    done = shell("solve", small)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    done = shell("check", "nosuch.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: nosuch.yaml: cannot be read: No such file or directory\n"


def test_import_is_light() -> None:
    """Importing the package imports nothing but itself and the standard library.

    How long that takes is measured by ``benchmarks/start.py``.
    """
    script = """
import sys
before = set(sys.modules)
import coreplan
print(*set(sys.modules) - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    roots = {name.partition(".")[0] for name in done.stdout.split()}
    assert roots - sys.stdlib_module_names == {"coreplan"}
