"""The campaigns of ``make explore``: every check can fail, shrinking works, seeds replay."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import random
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coreplan import Progress, Result, Status, solve
from coreplan.errors import Diagnostic as Mistake
from coreplan.files.document import Node
from coreplan.proof.verify import Verification, verify
from explore import certificates, checks, corpus, files, limits, problems, readers, signals
from explore.__main__ import main
from explore.campaign import Campaign, Case, failure_of
from explore.complaint import Complaint
from explore.drawing import draw_problem
from explore.fuzz import keep_finding
from explore.readers import (
    READERS,
    Reader,
    compare_quick_with_careful,
    compare_with_standard,
    read_content,
)
from explore.run import CAMPAIGNS, check_seed
from explore.shrinking import shorter, shrink, smaller_problems
from helpers import EAGER, coupled_team, from_file
from judge import Problem, count_joint_transitions, optimal_value

RAW: Problem = {
    "format": "ti-mmdp/1",
    "horizon": 2,
    "agents": [
        {"name": name, "initial": "s", "transitions": {"s": {"x": {"s": 1}, "y": {"s": 1}}}}
        for name in ("A", "B")
    ],
    "rewards": [
        {"scope": ["A"], "entries": [{"when": {"A": {"action": "x"}}, "value": 3}]},
        {
            "scope": ["A", "B"],
            "entries": [
                {"when": {"A": {"action": "x"}, "B": {"action": "x"}}, "value": -5},
                {"when": {"B": {"action": "x"}}, "value": 1},
            ],
        },
    ],
}
OPTIMUM = 6.0


def solved() -> Result:
    """The right answer."""
    return solve(from_file(RAW), threads=1)


def complains(check: str, call: Callable[..., object], *arguments: Any) -> None:
    """A call has to complain, and about this check."""
    with pytest.raises(Complaint) as caught:
        call(*arguments)
    assert caught.value.check == check


# -- every check can fail -------------------------------------------------------------------------


def test_the_right_answer_passes() -> None:
    """The checks have nothing to say of a right answer."""
    assert optimal_value(RAW) == OPTIMUM
    checks.check_result(RAW, OPTIMUM, solved())
    checks.check_solved(RAW, solved())


@pytest.mark.parametrize(
    ("check", "wrong"),
    [
        ("lower bound", {"value": 6.1, "lower_bound": 6.1, "upper_bound": 6.1}),
        ("upper bound", {"value": 5.9, "lower_bound": 5.9, "upper_bound": 5.9}),
        ("policy", {"policy": None}),
    ],
)
def test_wrong_results_are_noticed(check: str, wrong: dict[str, Any]) -> None:
    """A result that claims too much is complained about."""
    complains(check, checks.check_result, RAW, OPTIMUM, dataclasses.replace(solved(), **wrong))


def test_a_policy_that_is_worth_less_is_noticed() -> None:
    """A policy has to be worth what the result says, and evaluate to what it is worth."""
    idle = copy.deepcopy(RAW)
    idle["rewards"][0]["entries"][0]["value"] = -3
    idle["rewards"][1]["entries"][1]["value"] = 7
    policy = solve(from_file(idle), threads=1).policy
    complains(
        "policy value",
        checks.check_result,
        RAW,
        OPTIMUM,
        dataclasses.replace(solved(), policy=policy),
    )
    assert policy is not None
    less = dataclasses.replace(
        solved(),
        value=2.0,
        lower_bound=2.0,
        upper_bound=6.0,
        status=Status.TIME_LIMIT,
        policy=policy,
    )
    complains("evaluation", checks.check_result, RAW, OPTIMUM, less)


def test_a_gap_that_nothing_explains_is_noticed() -> None:
    """Without a limit no gap may stay, unless rounding or probabilities explain it."""
    open_gap = dataclasses.replace(solved(), value=5.0, lower_bound=5.0, status=Status.GAP_LIMIT)
    complains("not solved", checks.check_solved, RAW, open_gap)
    off = copy.deepcopy(RAW)
    off["agents"][0]["transitions"]["s"]["x"]["s"] = 1 - 9e-10
    assert checks.explained_gap(off) > 100 * checks.explained_gap(RAW)


@pytest.mark.parametrize(
    ("check", "bounds"),
    [
        ("lower bound on the way", [(7.0, 8.0)]),
        ("upper bound on the way", [(0.0, 9.0), (0.0, 5.0)]),
        ("bounds get worse", [(1.0, 9.0), (0.0, 9.0)]),
    ],
)
def test_wrong_reports_are_noticed(check: str, bounds: list[tuple[float, float]]) -> None:
    """A bound reported on the way that does not hold, or gets worse, is complained about."""
    seen = [Progress(0.1, "search", lower, upper, 0, 0) for lower, upper in bounds]
    complains(check, checks.check_progress, RAW, OPTIMUM, seen)


@pytest.mark.parametrize(
    ("check", "wrong"),
    [
        ("unsound upper", {"upper": 5.9}),
        ("unsound lower", {"lower": 6.1}),
        ("unsound claim", {"upper_claimed": 5.5}),
    ],
)
def test_unsound_proofs_are_noticed(check: str, wrong: dict[str, Any], tmp_path: Path) -> None:
    """A proof of what does not hold is complained about."""
    found, _ = _verified(tmp_path)
    checks.check_soundness(RAW, OPTIMUM, found)
    complains(check, checks.check_soundness, RAW, OPTIMUM, dataclasses.replace(found, **wrong))


@pytest.mark.parametrize(
    ("check", "wrong"),
    [
        ("not confirmed", {"upper_proven": False}),
        ("other claims", {"upper_claimed": 5.75}),
        ("weaker upper", {"upper": 6.5}),
        ("weaker lower", {"lower": 5.5}),
    ],
)
def test_weak_proofs_are_noticed(check: str, wrong: dict[str, Any], tmp_path: Path) -> None:
    """A certificate of the engine that proves less than the result is complained about."""
    found, result = _verified(tmp_path)
    checks.check_proof(RAW, result, found)
    complains(check, checks.check_proof, RAW, result, dataclasses.replace(found, **wrong))


def _verified(folder: Path) -> tuple[Verification, Result]:
    path = folder / "c.json"
    problem = from_file(RAW)
    result = solve(problem, threads=1, certificate=path)
    return verify(problem, path), result


def test_damage_changes_certificates(tmp_path: Path) -> None:
    """Every kind of damage changes some certificate, so none is idle."""
    path = tmp_path / "c.json"
    options = {"threads": 1, "exact": False, "work_limit": 5, **EAGER}
    solve(from_file(coupled_team(0)), certificate=path, **options)
    text = path.read_text(encoding="utf-8")
    for kind in certificates.DAMAGES:
        changed = 0
        for seed in range(20):
            document = json.loads(text)
            kind(document, random.Random(seed))
            changed += json.dumps(document) != json.dumps(json.loads(text))
        assert changed, kind


def test_mistakes_of_readers_are_noticed() -> None:
    """An exception that escapes a reader, a long message and too much work are complained about."""

    def reader(read: Callable[[Path], object]) -> Reader:
        return Reader("broken", (".json",), read, lambda: [b"{}"])

    with pytest.raises(ZeroDivisionError):
        read_content(reader(lambda _: 1 // 0), b"{}", ".json")
    complains("work", files.bounded, lambda: [len("") for _ in range(2_100_000)], 0)
    complains("memory", files.bounded, lambda: bytes(100_000_000), 0)
    complains("exit code", checks.check_ended, 1, "", "")
    complains("traceback", checks.check_ended, 0, "", "Traceback (most recent call last):")
    complains("internal error", checks.check_ended, 1, "", "internal error: KeyError")


def test_tracebacks_are_told_without_folders() -> None:
    """What goes to the corpus says where a traceback comes from, but names no folders."""
    err = 'Traceback:\n  File "/home/me/a.py", line 3, in x\n  File "/b.py", line 4\nKeyError: 1\n'
    assert checks.traceback_in_words(err) == "KeyError: 1 (a.py:3, b.py:4)"


@pytest.mark.parametrize(
    "content", [b"{}", b"[1, 2.5, -0, 1e999]", b'{"a": 1, "a": 2}', b"[NaN]", b"[1,]", b"\xff", b""]
)
def test_json_is_judged_as_python_does(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison with Python's parser holds, and notices a parser that accepts anything."""
    compare_with_standard(content)
    if content not in (b"{}", b"[1, 2.5, -0, 1e999]", b'{"a": 1, "a": 2}'):
        monkeypatch.setattr(readers, "parse_document", lambda *_, **__: (Node(1, 1, {}), []))
        complains("json accepted", compare_with_standard, content)


def test_values_that_differ_from_pythons_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parser that reads other values, or refuses sound JSON, is complained about."""
    monkeypatch.setattr(readers, "parse_document", lambda *_, **__: (Node(1, 1, 2), []))
    complains("json values", compare_with_standard, b"1")
    monkeypatch.setattr(readers, "parse_document", lambda *_, **__: (None, [Mistake((), "no")]))
    complains("json refused", compare_with_standard, b"1")


def test_a_quick_parser_that_differs_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The quick parser must not accept what the careful one refuses, nor read other values."""
    for content in (b'{"a": [1, 2.5]}', b"[1,]", b'{"a": 1, "a": 2}', b"[1e999]"):
        compare_quick_with_careful(content)
    monkeypatch.setattr(readers, "read_quickly", lambda _: [1])
    complains("quick json accepted", compare_quick_with_careful, b"[1,]")
    complains("quick json values", compare_quick_with_careful, b"[2]")


def test_interrupted_processes_are_judged(tmp_path: Path) -> None:
    """Tracebacks of the package, half a JSON value and half a file are complained about."""
    signals.check_interrupted(-signal.SIGINT, "", "", True)
    signals.check_interrupted(1, "", "Traceback: Python itself", True)
    traceback = f'Traceback (most recent call last):\n  File "{signals.SOURCE}/x.py"'
    complains("traceback", signals.check_interrupted, 130, "", traceback, True)
    complains("json", signals.check_interrupted, 0, '{"format": ', "", True)
    complains("no result", signals.check_interrupted, 0, "", "", True)
    complains("exit code", signals.check_interrupted, 1, "", "", False)
    problem = tmp_path / "problem.json"
    problem.write_text(json.dumps(RAW), encoding="utf-8")
    folder = tmp_path / "outputs"
    folder.mkdir()
    policy = solved().policy
    assert policy is not None
    policy.save(folder / "policy.json")
    signals.check_files(problem, folder)
    whole = (folder / "policy.json").read_bytes()
    (folder / "policy.json").write_bytes(whole[: len(whole) // 2])
    complains("half a file", signals.check_files, problem, folder)
    (folder / "policy.json").unlink()
    (folder / ".policy.json.tmp").touch()
    complains("left behind", signals.check_files, problem, folder)


def test_an_endless_solver_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that only a limit stops is complained about."""
    stopped = dataclasses.replace(solved(), status=Status.TIME_LIMIT)
    monkeypatch.setattr(problems, "solve", lambda *_, **__: stopped)
    case = {"problem": RAW, "solvers": [["core", {}]], "patience": 60.0}
    complains("core: endless", problems.check, case)
    problems.check({**case, "patience": 0.0})


def test_limits_notice_a_wrong_status(monkeypatch: pytest.MonkeyPatch) -> None:
    """A result that says a limit struck that was not set is complained about."""
    for status in (Status.MEMORY_LIMIT, Status.INTERRUPTED):
        wrong = dataclasses.replace(solved(), status=status)
        monkeypatch.setattr(limits, "solve", lambda *_, wrong=wrong, **__: wrong)
        case = {"problem": RAW, "algorithm": "core", "options": {}, "stops": {}}
        complains("status", limits.check, case)


# -- drawing and shrinking ------------------------------------------------------------------------


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_seeds_give_the_same_case(name: str) -> None:
    """A case is drawn from its seed alone, can be written as JSON, and passes its checks."""
    campaign = CAMPAIGNS[name]
    case = campaign.draw(3)
    assert campaign.draw(3) == case == json.loads(json.dumps(case))
    assert any(campaign.draw(seed) != case for seed in range(4, 8))


def test_problems_of_all_kinds_are_drawn() -> None:
    """Problems are sound, small, and among them are those that failed before."""
    kinds: Counter[str] = Counter()
    for number in range(80):
        raw = draw_problem(random.Random(number), number)
        from_file(raw)
        assert count_joint_transitions(raw) <= 2500
        kinds[raw["format"]] += 1
        kinds["one agent"] += len(raw["agents"]) == 1
        kinds["one stage"] += raw["horizon"] == 1
        kinds["masses"] += checks.explained_gap(raw) > 50 * checks.rounding(raw)
        kinds["always"] += any(
            parts == {}
            for entry in raw.get("rewards", [])
            for each in entry["entries"]
            for parts in each.get("when", {}).values()
        )
    assert all(kinds.values()), kinds


def test_problems_are_shrunk() -> None:
    """A failing problem is made as small as it can be, as long as the same check fails."""

    def check(case: Case) -> None:
        raw = case["problem"]
        from_file(raw)
        if any(abs(entry["value"]) > 100 for f in raw["rewards"] for entry in f["entries"]):
            raise Complaint("too large", "a reward above 100")

    raw = coupled_team(1)
    raw["rewards"][0]["entries"].append({"value": 123.456})
    case = {"problem": raw, "solvers": [["dp", {}]], "patience": 0.0}
    campaign = Campaign("toy", lambda _: case, check, problems.smaller)
    complaint = failure_of(campaign, case)
    assert complaint is not None
    small, still = shrink(campaign, case, complaint, seconds=math.inf)
    assert still.check == "too large"
    assert len(small["problem"]["agents"]) == 1
    assert small["problem"]["horizon"] == 1
    assert small["problem"]["rewards"][0]["entries"] == [{"value": 120.0}]
    assert len(small["problem"]["rewards"]) == 1


def test_shrinking_keeps_to_the_same_failure() -> None:
    """A smaller case that fails in another way is not taken."""

    def check(case: Case) -> None:
        if len(case["items"]) < 3:
            raise ValueError("another failure")
        raise Complaint("long", "three items or more")

    campaign = Campaign(
        "toy", lambda _: {}, check, lambda case: ({"items": i} for i in shorter(case["items"]))
    )
    small, complaint = shrink(
        campaign, {"items": list(range(40))}, Complaint("long", ""), seconds=math.inf
    )
    assert len(small["items"]) == 3
    assert complaint.check == "long"
    crash = failure_of(campaign, {"items": []})
    assert crash is not None
    assert crash.check == "crash ValueError"


def test_smaller_problems_differ() -> None:
    """No step of shrinking gives the same problem again, so that it comes to an end."""
    for number in range(6):
        raw = draw_problem(random.Random(number), number)
        before = json.dumps(raw)
        assert all(made != raw for made in smaller_problems(raw))
        assert json.dumps(raw) == before


# -- running and remembering ----------------------------------------------------------------------


def test_failures_are_saved_and_replayed(tmp_path: Path) -> None:
    """A failure is said, shrunk and appended once, in a line from which it can be replayed."""

    def check(case: Case) -> None:
        if 7 in case["items"]:
            raise Complaint("seven", "found 7")

    campaign = Campaign(
        "toy",
        lambda seed: {"items": list(range(seed))},
        check,
        lambda case: ({"items": i} for i in shorter(case["items"])),
    )
    path = tmp_path / "corpus.jsonl"
    said: list[str] = []
    for seed in (5, 20, 30):
        check_seed(campaign, seed, Counter(), path, said.append)
    [line] = corpus.read_corpus(path)
    assert (line["campaign"], line["check"], line["seed"]) == ("toy", "seven", 20)
    assert corpus.case_of(line) == {"items": [7]}
    assert failure_of(campaign, corpus.case_of(line)) is not None
    assert any("--replay 20" in each for each in said)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command replays a seed, runs campaigns, and refuses names that it does not know."""
    path = tmp_path / "corpus.jsonl"
    assert main(["--only", "files", "--replay", "1", "--corpus", str(path)]) == 0
    assert main(["--only", "files", "--minutes", "0", "--seed", "1", "--corpus", str(path)]) == 0
    assert "files: seeds from 1" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--only", "nothing"])


def test_findings_of_the_fuzzer_are_kept(tmp_path: Path) -> None:
    """Of each kind of finding the smallest input is kept, with its traceback."""
    for content in (b"abc", b"ab", b"abcd"):
        try:
            raise KeyError("x")
        except KeyError as error:
            keep_finding(tmp_path, content, error)
    [path] = tmp_path.glob("*.bin")
    assert path.read_bytes() == b"ab"
    assert "KeyError" in path.with_suffix(".txt").read_text(encoding="utf-8")


def test_samples_are_sound() -> None:
    """What readers start from can be read, so that mutations begin near what is right."""
    for reader in READERS.values():
        assert reader.samples()


@pytest.mark.parametrize(
    "line",
    [line for line in corpus.read_corpus() if "campaign" in line],
    ids=lambda line: line["why"][:60],
)
def test_corpus(line: dict[str, Any]) -> None:
    """What once failed in a campaign passes its checks."""
    assert failure_of(CAMPAIGNS[line["campaign"]], corpus.case_of(line)) is None
