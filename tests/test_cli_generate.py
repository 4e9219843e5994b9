"""`coreplan generate`: files of test sets, what is said of them, and folders that will not do."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cli_runs import Run, one_json, run_unread
from coreplan import FormatError, read_problem
from coreplan.bench.sets import TEST_SETS, Instance, generate
from coreplan.bench.sets.folder import InstanceFolder


def contents(folder: Path) -> dict[str, bytes]:
    """What all files of a folder hold."""
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_files(run: Run, tmp_path: Path) -> None:
    """One file for each instance, with the text that Python gives, in a folder that is made."""
    folder = tmp_path / "new" / "sets"
    code, out, err = run("generate", "mpp", "--count", 2, "--seed", 7, "-o", folder)
    assert (code, out, err) == (0, f"6 problems of mpp in {folder}\n", "")
    expected = {f"{each.name}.json": each.text().encode() for each in generate("mpp", 2, 7)}
    assert contents(folder) == expected


def test_yaml(run: Run, tmp_path: Path) -> None:
    """With --yaml the same problems are in YAML files."""
    assert run("generate", "mixed", "--count", 2, "-o", tmp_path, "--yaml").code == 0
    for each in generate("mixed", 2):
        assert read_problem(tmp_path / f"{each.name}.yaml") == each.problem
    assert len(contents(tmp_path)) == 2


def test_parameters(run: Run, tmp_path: Path) -> None:
    """Parameters are numbers, texts, or several with commas between them."""
    arguments = ["--parameter", "agents=2,5", "--parameter", "network=pairs"]
    arguments += ["--parameter", "density=0.5"]
    assert run("generate", "mpp", "--count", 1, "-o", tmp_path, *arguments).code == 0
    made = generate("mpp", 1, agents=[2, 5], network="pairs", density=0.5)
    assert contents(tmp_path) == {f"{each.name}.json": each.text().encode() for each in made}


def test_json(run: Run, tmp_path: Path) -> None:
    """With --json it says of each file what it is, and whether it was written."""
    run("generate", "rand3", "--count", 1, "-o", tmp_path)
    code, out, err = run("generate", "rand3", "--count", 2, "-o", tmp_path, "--json")
    assert (code, err) == (0, "")
    said = one_json(out)
    assert (said["set"], said["seed"], said["complete"]) == ("rand3", 0, True)
    assert [file["written"] for file in said["files"]] == [False, True]
    for file, each in zip(said["files"], generate("rand3", 2), strict=True):
        assert (file["name"], file["digest"]) == (each.name, each.digest())
        assert file["parameters"] == each.parameters
        assert Path(file["file"]).read_text(encoding="utf-8") == each.text()


def test_list(run: Run) -> None:
    """--list shows every set with every parameter, for people and for machines."""
    code, out, err = run("generate", "--list")
    assert (code, err) == (0, "")
    for each in TEST_SETS.values():
        assert each.summary in out
        for name, parameter in each.parameters.items():
            assert f"    {name} = {parameter.in_words}: {parameter.meaning}" in out
    said = one_json(run("generate", "--list", "--json").out)
    assert {name: set(each["parameters"]) for name, each in said.items()} == {
        name: set(each.parameters) for name, each in TEST_SETS.items()
    }
    assert said["mpp"]["instances"] == 1200
    only = run("generate", "pyra", "--list").out
    assert "pyra: 1,200 problems, 20 of each group" in only
    assert "mpp" not in only
    run_unread("generate", "--list")


def test_same_files_stay(run: Run, tmp_path: Path) -> None:
    """What is there already and is the same is not written again."""
    run("generate", "rand3", "--count", 2, "-o", tmp_path)
    file = tmp_path / "rand3-0000.json"
    os.utime(file, (1, 1))
    code, out, _ = run("generate", "rand3", "--count", 3, "-o", tmp_path)
    assert code == 0
    assert "3 problems of rand3" in out
    assert "(1 written, the others existed)" in out
    assert file.stat().st_mtime == 1


def test_other_files_stay_unless_forced(run: Run, tmp_path: Path) -> None:
    """Files with other content are named, and nothing at all is written, unless --force."""
    run("generate", "rand3", "--count", 3, "-o", tmp_path)
    (tmp_path / "rand3-0000.json").unlink()
    before = contents(tmp_path)
    again = ["generate", "rand3", "--count", 3, "--seed", 1, "-o", tmp_path]
    code, out, err = run(*again)
    assert (code, out) == (2, "")
    assert "rand3-0001.json: has different content" in err
    assert "1 more" in err
    assert "--force" in err
    assert contents(tmp_path) == before
    assert run(*again, "--force").code == 0
    expected = {f"{each.name}.json": each.text().encode() for each in generate("rand3", 3, 1)}
    assert contents(tmp_path) == expected


def test_folders_that_will_not_do(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file, something below a file, the standard output, no name: code 2, and nothing changes."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "file"
    file.write_text("precious", encoding="utf-8")
    for target in (file, file / "below", "-", "", "x" * 300):
        code, out, err = run("generate", "rand3", "--count", 1, "-o", target)
        assert (code, out) == (2, ""), target
        assert err
    with pytest.raises(FormatError, match="cannot be made"):
        InstanceFolder("a\0b")
    assert contents(tmp_path) == {"file": b"precious"}


def test_things_in_the_way(run: Run, tmp_path: Path) -> None:
    """A folder with the name of a file is never overwritten; files with other names stay."""
    (tmp_path / "rand3-0000.json").mkdir()
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    for force in ([], ["--force"]):
        code, out, err = run("generate", "rand3", "--count", 1, "-o", tmp_path, *force)
        assert (code, out) == (2, "")
        assert "rand3-0000.json" in err
    assert (tmp_path / "rand3-0000.json").is_dir()
    (tmp_path / "rand3-0000.json").rmdir()
    (tmp_path / "rand3-0000.json").write_bytes(b"\xff\xfe")
    assert run("generate", "rand3", "--count", 1, "-o", tmp_path).code == 2
    assert run("generate", "rand3", "--count", 1, "-o", tmp_path, "--force").code == 0
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_folders_that_are_read_only(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder without the right to write is refused before anything is made."""
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)  # root may do all
    code, out, err = run("generate", "rand3", "--count", 1, "-o", tmp_path)
    assert (code, out) == (2, "")
    assert "is not writable; choose another folder" in err
    assert not contents(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no test set is given"),
        (["mpp"], "no folder for the files is given; add -o DIR"),
        (["mp", "-o", "x"], "did you mean 'mpp'?"),
        (["mpp", "-o", "x", "--count", "0"], "--count"),
        (["mpp", "-o", "x", "--seed", "-1"], "--seed"),
        (["mpp", "-o", "x", "--parameter", "agents"], "is not NAME=VALUE"),
        (["mpp", "-o", "x", "--parameter", "agents="], "is not NAME=VALUE"),
        (["mpp", "-o", "x", "--parameter", "agents=two"], "agents[0]: found 'two'"),
        (["mpp", "-o", "x", "--parameter", "agents=nan"], "agents: found nan"),
        (["mpp", "-o", "x", "--parameter", "agents=2,,3"], "agents[1]: found ''"),
        (["mpp", "-o", "x", "--parameter", "seed=3"], "no parameter 'seed'"),
        (["mpp", "-o", "x", "--parameter", "horizon=2"], "do not fit into a horizon of 2"),
        (
            ["mpp", "-o", "x", "--parameter", "tasks=2", "--parameter", "tasks=3"],
            "the parameter 'tasks' is given twice",
        ),
    ],
)
def test_what_is_refused(
    run: Run,
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What makes no sense ends with code 2 and a word, and makes no folder."""
    monkeypatch.chdir(tmp_path)
    code, out, err = run("generate", *arguments)
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())
    assert not list(tmp_path.iterdir())


def test_interrupts_keep_what_there_is(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C ends with 130 and whole files; the same command goes on."""
    write = InstanceFolder.write

    def interrupted(self: InstanceFolder, instance: Instance) -> bool:
        if instance.name == "rand3-0002":
            raise KeyboardInterrupt
        return write(self, instance)

    command = ["generate", "rand3", "--count", 4, "-o", tmp_path, "--json"]
    monkeypatch.setattr(InstanceFolder, "write", interrupted)
    code, out, err = run(*command)
    assert code == 130
    assert json.loads(out)["complete"] is False
    assert len(json.loads(out)["files"]) == len(contents(tmp_path)) == 2
    assert "2 of 4 files written" in err
    monkeypatch.undo()
    code, out, err = run(*command)
    assert (code, err) == (0, "")
    assert [file["written"] for file in json.loads(out)["files"]] == [False, False, True, True]
