"""Files that are wrong on purpose: always a FormatError, soon and without much memory."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coreplan import (
    Contractor,
    FormatError,
    MaintenanceProblem,
    SolverError,
    Task,
    read_problem,
    solve,
    write_problem,
)
from counting import count_calls
from explore.mutations import mutate_structure
from judge import Problem, infeasible_agents
from strategies import infeasible_mpp_dicts, problem_dicts

MOST_CALLS = (5_000_000, 20)
"""Calls of functions that reading may take: at all, and for each byte of a file."""


def agent(tasks: str = "", name: str = "A") -> str:
    """One agent of a maintenance problem, in JSON."""
    return f'{{"name": {json.dumps(name)}, "tasks": [{tasks}]}}'


def task(name: str, more: str = "") -> str:
    """One task, in JSON."""
    return f'{{"name": "{name}", "duration": 1, "cost": 1{more}}}'


def mpp(agents: str, more: str = "") -> str:
    """A maintenance problem, in JSON."""
    return f'{{"format": "mpp/1", "horizon": 100, "agents": [{agents}]{more}}}'


def read_text(folder: Path, text: str | bytes, suffix: str) -> None:
    """Read a file with this content, which may be refused but must not take much work."""
    path = folder / f"hostile{suffix}"
    content = text.encode() if isinstance(text, str) else text
    path.write_bytes(content)
    refused: list[FormatError] = []

    def read() -> None:
        try:
            read_problem(path)
        except FormatError as error:
            refused.append(error)

    assert count_calls(read) <= MOST_CALLS[0] + MOST_CALLS[1] * len(content)
    if refused:
        raise refused[0]


def bomb(levels: int = 30) -> str:
    """Nested aliases that stand for 10**levels values."""
    lines = ["format: mpp/1", "horizon: 2", "a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in range(1, levels):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]")
    return "\n".join([*lines, f"agents: *a{levels - 1}", ""])


REFUSED: dict[str, Callable[[], str | bytes]] = {
    "binary": lambda: random.Random(1).randbytes(100_000),
    "an ELF header": lambda: b"\x7fELF\x02\x01\x01" + bytes(1000),
    "null bytes": lambda: bytes(1000),
    "UTF-16": lambda: mpp(agent()).encode("utf-16"),
    "empty": lambda: "",
    "blank": lambda: "\n\n  \n",
    "only a comment": lambda: "# nothing\n",
    "deep lists": lambda: "[" * 200_000,
    "deep lists that close": lambda: "[" * 200_000 + "]" * 200_000,
    "deep mappings": lambda: '{"a":' * 200_000 + "1" + "}" * 200_000,
    "deep agents": lambda: mpp("[" * 200_000 + "]" * 200_000),
    "deep dashes": lambda: "format: mpp/1\nhorizon: 2\nagents:\n" + "- " * 200_000 + "x\n",
    "alias bomb": bomb,
    "alias in itself": lambda: "format: mpp/1\nhorizon: 2\nagents: &a [*a]\n",
    "merge key": lambda: "format: mpp/1\nhorizon: 2\nagents: [{<<: {name: a, tasks: []}}]\n",
    "tag": lambda: "format: mpp/1\nhorizon: !!int 2\nagents: [{name: a, tasks: []}]\n",
    "object tag": lambda: "!!python/object/apply:os.system ['true']\n",
    "two documents": lambda: f"{mpp(agent())}\n---\n{mpp(agent())}\n",
    "10,000 agents, all wrong": lambda: mpp(
        ", ".join('{"nme": "a", "tasks": [{"cost": "x"}], "x": null}' for _ in range(10_000))
    ),
    "10,000 agents of one name": lambda: mpp(", ".join(agent() for _ in range(10_000))),
    "10,000 agents that are numbers": lambda: mpp(", ".join(str(k) for k in range(10_000))),
    "10,000 unknown references": lambda: mpp(
        ", ".join(agent(task("t"), f"agent {k}") for k in range(5_000)),
        ', "network": ['
        + ", ".join(f'{{"tasks": ["agnt {k}/t", "x/t"], "cost": 1}}' for k in range(5_000))
        + "]",
    ),
    "10,000 unknown references to wrong agents": lambda: mpp(
        ", ".join('{"nme": "a", "tasks": []}' for _ in range(5_000)),
        ', "network": ['
        + ", ".join(f'{{"tasks": ["agnt {k}/t", "x/t"], "cost": 1}}' for k in range(5_000))
        + "]",
    ),
    "100,000 unknown keys": lambda: mpp(
        agent(), "".join(f', "key {k}": 1' for k in range(100_000))
    ),
    "100,000 times the same key": lambda: mpp(agent(), ', "x": 1' * 100_000),
    "an unknown key of 5 MB": lambda: mpp(agent(), f', "{"k" * 5_000_000}": 1'),
    "a reference of 5 MB": lambda: mpp(
        agent(), f', "network": [{{"tasks": ["{"k" * 5_000_000}/t"], "cost": 1}}]'
    ),
    "a name of 5 MB with a slash": lambda: mpp(agent(name="/" * 5_000_000)),
    "a window of 100,000 stages": lambda: mpp(agent(task("t", f', "window": [{"1," * 10**5}1]'))),
    "a cost list of 100,000 texts": lambda: mpp(
        agent(task("t").replace('"cost": 1', '"cost": [' + '"x",' * 10**5 + "1]"))
    ),
    "must_complete with 1,000 tasks that do not fit": lambda: mpp(
        agent(", ".join(task(f"t{k}") for k in range(1_000))), ', "must_complete": true'
    ),
    "horizon of 1e12": lambda: mpp(agent()).replace("100", "1e12"),
    "horizon of 12 digits": lambda: mpp(agent()).replace("100", "1" + "0" * 12),
}


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
@pytest.mark.parametrize("name", REFUSED)
def test_hostile_files_are_refused(tmp_path: Path, name: str, suffix: str) -> None:
    """A hostile file gives a FormatError with short messages, after little work."""
    with pytest.raises(FormatError) as caught:
        read_text(tmp_path, REFUSED[name](), suffix)
    assert 1 <= len(caught.value.problems) <= 20
    assert len(str(caught.value)) < 20 * (600 + len(str(tmp_path)))
    assert all(problem.line >= 1 for problem in caught.value.problems)


ACCEPTED: dict[str, Callable[[], str]] = {
    "a name of 5 MB": lambda: mpp(agent(name="n" * 5_000_000)),
    "3,000 tasks": lambda: mpp(agent(", ".join(task(f"t{k}") for k in range(3_000)))),
    "3,000 agents": lambda: mpp(", ".join(agent(task("t"), f"a{k}") for k in range(3_000))),
    "must_complete with 40 tasks with windows": lambda: mpp(
        agent(", ".join(task(f"t{k}", f', "window": [{k}, {k + 9}]') for k in range(40))),
        ', "must_complete": true',
    ),
    "must_complete with 25 tasks with windows": lambda: mpp(
        agent(", ".join(task(f"t{k}", f', "window": [{k % 5}, {k + 30}]') for k in range(25))),
        ', "must_complete": true',
    ),
}


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
@pytest.mark.parametrize("name", ACCEPTED)
def test_large_files_are_read(tmp_path: Path, name: str, suffix: str) -> None:
    """A large file that breaks no rule is read, with little work."""
    read_text(tmp_path, ACCEPTED[name](), suffix)


LONG_NUMBER = "1" * 6_000


@pytest.mark.parametrize("number", [LONG_NUMBER, f"0.{LONG_NUMBER}", f"1e{LONG_NUMBER}"])
@pytest.mark.parametrize("suffix", [".json", ".yaml"])
@pytest.mark.parametrize(
    "place",
    [
        ("horizon",),
        ("agents", 0, "tasks", 0, "duration"),
        ("agents", 0, "tasks", 0, "cost"),
        ("agents", 0, "tasks", 0, "revenue"),
        ("agents", 0, "tasks", 0, "window", 1),
        ("agents", 0, "tasks", 0, "delay", "probability"),
        ("agents", 0, "tasks", 0, "delay", "duration"),
        ("agents", 0, "name"),
        ("network", 0, "cost"),
        ("network", 0, "tasks", 0),
        ("must_complete",),
        ("format",),
    ],
)
def test_long_numbers(tmp_path: Path, place: tuple[Any, ...], number: str, suffix: str) -> None:
    """A number of 6,000 digits is refused wherever it stands, in a short message."""
    whole = task(
        "a", ', "revenue": 1, "window": [0, 1], "delay": {"probability": 0, "duration": 1}'
    )
    raw = json.loads(
        mpp(
            f"{agent(whole)}, {agent(task('b'), 'B')}",
            ', "must_complete": false, "network": [{"tasks": ["A/a", "B/b"], "cost": 1}]',
        )
    )
    inside = raw
    for step in place[:-1]:
        inside = inside[step]
    inside[place[-1]] = "HERE"
    with pytest.raises(FormatError) as caught:
        read_text(tmp_path, json.dumps(raw).replace('"HERE"', number), suffix)
    assert caught.value.problems[0].path == place
    assert len(str(caught.value)) < 1000


# Files that are no files


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    """A directory, a missing file and an impossible name give a FormatError with the reason."""
    with pytest.raises(FormatError, match=r"cannot be read: Is a directory"):
        read_problem(tmp_path)
    with pytest.raises(FormatError, match=r"missing\.json: cannot be read: No such file"):
        read_problem(tmp_path / "missing.json")
    with pytest.raises(FormatError, match="cannot be read"):
        read_problem("a\0b.json")
    with pytest.raises(FormatError, match="cannot be read"):
        read_problem(tmp_path / ("n" * 5000))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_no_permission(tmp_path: Path) -> None:
    """A file that must not be read gives a FormatError with the reason."""
    path = tmp_path / "secret.json"
    path.write_text(mpp(agent()))
    path.chmod(0)
    with pytest.raises(FormatError, match="cannot be read: Permission denied"):
        read_problem(path)


def test_no_permission_for_anybody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the system while a file is read becomes a FormatError with the reason."""

    def refuse(_: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(FormatError, match="cannot be read: Permission denied"):
        read_problem(tmp_path / "secret.json")


# Memory


@pytest.mark.parametrize(
    ("name", "suffix", "most"),
    [
        ("alias bomb", ".yaml", 10),
        ("deep lists", ".json", 10),
        ("a reference of 5 MB", ".json", 100),
    ],
)
def test_hostile_files_take_little_memory(
    tmp_path: Path, name: str, suffix: str, most: int
) -> None:
    """Refusing a hostile file takes memory in proportion to the file (at most this many MB)."""
    path = tmp_path / f"hostile{suffix}"
    path.write_text(str(REFUSED[name]()))
    tracemalloc.start()
    try:
        with pytest.raises(FormatError):
            read_problem(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < most * 1e6


def test_alias_bomb_in_a_small_process(tmp_path: Path) -> None:
    """Not even the parsers in C take much memory for an alias bomb."""
    resource = pytest.importorskip("resource")
    path = tmp_path / "bomb.yaml"
    path.write_text(bomb())
    code = (
        "import resource, sys, coreplan\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: coreplan.read_problem(sys.argv[1])\n"
        "except coreplan.FormatError: pass\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert resource
    assert int(done.stdout) < 50_000  # KB


# Mutations


@given(
    raw=problem_dicts(max_work=60),
    draw=st.randoms(use_true_random=False),
    suffix=st.sampled_from([".json", ".yaml"]),
)
def test_mutated_files_are_refused_or_solved(
    raw: Problem, draw: random.Random, suffix: str
) -> None:
    """A valid file with random changes is refused by a FormatError, or is a problem to solve."""
    for _ in range(draw.randint(1, 4)):
        mutate_structure(raw, draw)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"mutant{suffix}"
        text = json.dumps(raw, ensure_ascii=False)
        path.write_text(text, encoding="utf-8", errors="replace")
        try:
            problem = read_problem(path)
            if problem.horizon <= 10:
                with suppress(SolverError):  # numbers that are too large, or too much work
                    solve(problem, work_limit=1)
        except FormatError as error:
            assert 1 <= len(error.problems) <= 20
            positions = [(problem.line, problem.column) for problem in error.problems]
            assert positions == sorted(positions)
            assert positions[0] >= (1, 1)


@given(raw=infeasible_mpp_dicts())
def test_infeasible_problems_are_refused(raw: Problem) -> None:
    """What the judge finds infeasible under must_complete is refused, and the agents are named."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "infeasible.json"
        path.write_text(json.dumps(raw))
        with pytest.raises(FormatError) as caught:
            read_problem(path)
    places = [problem.place.partition(".tasks[")[0] for problem in caught.value.problems]
    bad = infeasible_agents(raw)
    names = [each["name"] for each in raw["agents"]]
    assert places == [f"agents[{names.index(name)}]" for name in bad]


# Writing


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that cannot be written as a whole stays as it was, and nothing else is left."""
    problem = MaintenanceProblem((Contractor("A", (Task("a", 1, 2),)),), 3)
    path = tmp_path / "problem.yaml"
    path.write_text("old")
    unwritable = MaintenanceProblem((Contractor("half \ud800"),), 3)
    with pytest.raises(FormatError, match="cannot be written"):
        write_problem(unwritable, path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        with pytest.raises(FormatError, match="cannot be written: No space left on device"):
            write_problem(problem, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    write_problem(problem, path)
    assert read_problem(path) == MaintenanceProblem(problem.contractors, 3)


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    """A directory, a missing folder and an impossible name give a FormatError with the reason."""
    problem = MaintenanceProblem((Contractor("A"),), 3)
    for target in (tmp_path, tmp_path / "none" / "p.json", "a\0b.json", tmp_path / ("n" * 5000)):
        with pytest.raises(FormatError, match="cannot be written"):
            write_problem(problem, target)
    assert list(tmp_path.iterdir()) == []


def test_long_file_names_can_be_written(tmp_path: Path) -> None:
    """A file name of the greatest length can be written."""
    problem = MaintenanceProblem((Contractor("A"),), 3)
    path = tmp_path / ("😀" * 62 + ".json")
    write_problem(problem, path)
    assert isinstance(read_problem(path), MaintenanceProblem)


@pytest.mark.skipif(os.name == "nt", reason="links and modes are different there")
def test_writing_keeps_links_and_modes(tmp_path: Path) -> None:
    """Writing through a link replaces the file that it points to, with the same permissions."""
    problem = MaintenanceProblem((Contractor("A"),), 3)
    path = tmp_path / "real.json"
    path.write_text("old")
    path.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(path)
    write_problem(problem, link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert isinstance(read_problem(path), MaintenanceProblem)


def test_large_durations_do_no_harm(tmp_path: Path) -> None:
    """Durations and windows far beyond the horizon are read and solved."""
    path = tmp_path / "large.json"
    more = ', "revenue": 5, "window": [0, 1e300], "delay": {"probability": 0.5, "duration": 1e300}'
    path.write_text(mpp(agent(task("a", more))).replace("100", "3"))
    assert solve(read_problem(path)).value == pytest.approx(1.5)
