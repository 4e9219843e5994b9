"""Certificates of searched problems: what records prove, and that nothing makes them prove more."""

from __future__ import annotations

import copy
import json
import logging
import random
import tempfile
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certificates import identity_classes, make_certificate, random_clusters, reduced_classes
from coreplan import FormatError, cli, solve, write_problem
from coreplan.policies.saved_arrays import pack
from coreplan.proof import search as checker
from coreplan.proof.certificate import (
    Certificate,
    GroupRecords,
    Search,
    certificate_to_dict,
    index_problem,
    read_certificate,
    write_certificate,
)
from coreplan.proof.verify import Verification, verify
from coreplan.solving.engine import certify
from coreplan.solving.tuning import Tuning
from helpers import from_file, random_mpp, scale
from judge import optimal_value
from strategies import problem_dicts


def searched(raw: dict[str, Any], **options: Any) -> tuple[Certificate, float]:
    """What `core` hands out if it has to search, and its upper bound."""
    problem = from_file(raw)
    options = {"exact": False, "threads": 1, "tuning": Tuning(search_cluster=2), **options}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "proof.json.gz"
        result = solve(problem, algorithm="core", certificate=path, **options)
        assert result.upper_bound is not None
        return read_certificate(path, problem), result.upper_bound


def check_contains(found: Verification, raw: dict[str, Any]) -> None:
    """The proven interval contains the optimum."""
    optimum = DAMAGED_OPTIMUM if raw is DAMAGED else optimal_value(raw)
    tolerance = 1e-13 * scale(raw)
    assert found.lower is None or found.lower <= optimum + tolerance
    assert found.upper is None or found.upper >= optimum - tolerance


def count(certificate: Certificate) -> int:
    """How many records there are."""
    return sum(len(each.layer) for each in certificate.search.groups) if certificate.search else 0


def wide_mpp() -> dict[str, Any]:
    """Four contractors who hinder each other in pairs, and three of them together."""
    raw = random_mpp(4, 1, 6, 4)
    raw["network"] = [
        *(
            {"tasks": [f"C{i}/w0", f"C{j}/w0"], "cost": 9 + i + j}
            for i in range(4)
            for j in range(i)
        ),
        {"tasks": ["C0/w0", "C1/w0", "C2/w0"], "cost": 40},
        {"tasks": ["C1/w0", "C2/w0", "C3/w0"], "cost": 25},
    ]
    return raw


def lucky_team(outcomes: int, horizon: int) -> dict[str, Any]:
    """Four agents who gain and lose by each other, and are scattered by every step."""
    names = "abcd"
    states = [f"s{k}" for k in range(outcomes)]
    draw = random.Random(5)

    def law() -> dict[str, float]:
        weights = [draw.randint(1, 4) for _ in states]
        return {s: w / sum(weights) for s, w in zip(states, weights, strict=True)}

    agents = [
        {
            "name": name,
            "initial": "s0",
            "transitions": {s: {"go": law(), "run": law()} for s in states},
        }
        for name in names
    ]
    scopes = [*combinations(names, 2), ("a", "b", "c")]
    rewards = [
        {
            "scope": list(scope),
            "entries": [
                {
                    "when": {i: {"state": draw.choice(states), "action": "go"} for i in scope},
                    "value": draw.randint(-9, 9),
                }
                for _ in range(4)
            ],
        }
        for scope in scopes
    ]
    rewards += [
        {
            "scope": [i],
            "entries": [
                {"when": {i: {"state": s, "action": "go"}}, "value": draw.randint(-3, 3)}
                for s in states
            ],
        }
        for i in names
    ]
    return {
        "format": "ti-mmdp/1",
        "name": "lucky",
        "horizon": horizon,
        "agents": agents,
        "rewards": rewards,
    }


PROBLEMS: dict[str, dict[str, Any]] = {
    **{f"mpp {seed}": random_mpp(3, 2, 6, seed) for seed in range(3)},
    "four agents": random_mpp(4, 1, 5, 2),
    "wide": wide_mpp(),
    "many outcomes": lucky_team(3, 3),
}


@pytest.mark.parametrize("name", sorted(PROBLEMS))
@pytest.mark.parametrize("ideas", [{}, {"tables": False}, {"tables": False, "skip": False}])
def test_what_the_search_found_is_proven(name: str, ideas: dict[str, bool]) -> None:
    """The upper bound that a search found is claimed and confirmed."""
    raw = PROBLEMS[name]
    certificate, upper = searched(raw, work_limit=10, **ideas)
    found = verify(from_file(raw), certificate)
    assert found.confirmed, str(found)
    assert found.upper_claimed == upper
    assert found.records == count(certificate)
    assert found.records_wrong == 0
    check_contains(found, raw)
    if found.records:
        bare = verify(from_file(raw), replace(certificate, search=None))
        assert bare.upper is not None and found.upper is not None
        assert bare.upper >= found.upper - 1e-9 * scale(raw)


def test_there_are_records_to_check() -> None:
    """The problems above need records, also where outcomes are revealed one at a time."""
    for name in ("mpp 0", "wide", "many outcomes"):
        certificate, _ = searched(PROBLEMS[name], work_limit=10, tables=False)
        assert count(certificate) > 0, name
        found = verify(from_file(PROBLEMS[name]), certificate)
        bare = verify(from_file(PROBLEMS[name]), replace(certificate, search=None))
        assert not bare.upper_proven, name
        assert "all confirmed" in str(found)
        assert found.to_dict()["records"] == count(certificate)


@settings(max_examples=40)
@given(raw=problem_dicts(), tables=st.booleans(), split=st.booleans(), skip=st.booleans())
def test_random_problems(raw: dict[str, Any], tables: bool, split: bool, skip: bool) -> None:
    """What a search claims is confirmed, and the optimum lies within the bounds."""
    certificate, upper = searched(raw, work_limit=0.2, tables=tables, split=split, skip=skip)
    found = verify(from_file(raw), certificate)
    assert found.confirmed, str(found)
    assert certificate.upper >= upper
    check_contains(found, raw)


# -- nothing makes it prove too much --------------------------------------------------------------


def some_search(agents: Any, draw: random.Random) -> Search:
    """Records of any groups in any classes that claim anything."""
    everyone = range(len(agents))
    layers = len(agents[0].class_count)
    groups = []
    for size in everyone:
        for who in combinations(everyone, size + 1):
            if draw.random() < 0.6:
                layer = np.array([draw.randrange(layers) for _ in range(draw.randint(1, 30))])
                classes = [[draw.randrange(agents[i].class_count[t]) for i in who] for t in layer]
                least = [draw.choice([-1e6, 0.0, draw.uniform(-9, 9), 1e6]) for _ in layer]
                groups.append(
                    GroupRecords(
                        who,
                        layer.astype(np.uint32),
                        np.array(classes, dtype=np.uint32).reshape(len(layer), len(who)),
                        np.array(least),
                    )
                )
    sets = [who for size in everyone for who in combinations(everyone, size + 1)]
    return Search(tuple(groups), tuple(who for who in sets if draw.random() < 0.3))


@given(raw=problem_dicts(), seed=st.integers(0, 2**32), reduced=st.booleans())
def test_no_records_make_the_bound_wrong(raw: dict[str, Any], seed: int, reduced: bool) -> None:
    """Whatever the records, the claims, the solved sets and the shares: the bound is valid."""
    problem = from_file(raw)
    indexed = index_problem(problem)
    agents = (
        reduced_classes(problem)
        if reduced
        else [identity_classes(each, 0, problem.horizon) for each in indexed.agents]
    )
    draw = random.Random(seed)
    clusters = random_clusters(indexed, agents, draw, lambda d: d.choice([0.0, d.gauss(0, 10)]))
    certificate = make_certificate(problem, clusters, agents=agents)
    bare = verify(problem, certificate)
    found = verify(problem, replace(certificate, search=some_search(agents, draw)))
    check_contains(found, raw)
    assert bare.upper is not None and found.upper is not None
    assert found.upper <= bare.upper + 1e-9 * scale(raw)
    if found.records_wrong:
        assert not found.upper_proven


DAMAGED = wide_mpp()
DAMAGED_OPTIMUM = optimal_value(DAMAGED)
WHOLE, _ = searched(DAMAGED, work_limit=10, tables=False)
PROBLEM = from_file(DAMAGED)
TEXT = json.dumps(certificate_to_dict(WHOLE))


def rebuilt(groups: list[GroupRecords]) -> Certificate:
    """The damaged problem's certificate with other records."""
    assert WHOLE.search is not None
    return replace(WHOLE, search=replace(WHOLE.search, groups=tuple(groups)))


@given(data=st.data())
def test_damage_is_noticed(data: st.DataObject) -> None:
    """A record that claims too much is found; one that is missing, or another share, only costs."""
    assert WHOLE.search is not None
    groups = list(WHOLE.search.groups)
    g = data.draw(st.integers(0, len(groups) - 1))
    group = groups[g]
    r = data.draw(st.integers(0, len(group.layer) - 1))
    kind = data.draw(st.sampled_from(["claim", "drop", "drop layer", "class", "share", "solved"]))
    certificate = WHOLE
    if kind == "claim":
        least = group.least.copy()
        least[r] += data.draw(st.floats(1e-3, 1e9))
        groups[g] = replace(group, least=least)
        certificate = rebuilt(groups)
    elif kind in ("drop", "drop layer"):
        kept = np.arange(len(group.layer)) != r
        if kind == "drop layer":
            kept = group.layer != group.layer[r]
        groups[g] = GroupRecords(
            group.agents, group.layer[kept], group.classes[kept], group.least[kept]
        )
        certificate = rebuilt(groups)
    elif kind == "class":
        place = data.draw(st.integers(0, len(group.agents) - 1))
        most = WHOLE.agents[group.agents[place]].class_count[group.layer[r]]
        classes = group.classes.copy()
        classes[r, place] = data.draw(st.integers(0, int(most) - 1))
        groups[g] = replace(group, classes=classes)
        certificate = rebuilt(groups)
    elif kind == "share":
        clusters = list(WHOLE.clusters)
        c = data.draw(st.integers(0, len(clusters) - 1))
        shares = list(clusters[c].shares)
        m = data.draw(st.integers(0, len(shares) - 1))
        given_share = shares[m]
        if given_share is not None:
            changed = given_share.copy()
            changed[data.draw(st.integers(0, len(changed) - 1))] += data.draw(st.floats(-99, 99))
            shares[m] = changed
        clusters[c] = replace(clusters[c], shares=tuple(shares))
        certificate = replace(WHOLE, clusters=tuple(clusters))
    else:
        solved = data.draw(st.lists(st.sets(st.integers(0, 3), min_size=1), max_size=3))
        named = tuple(tuple(sorted(each)) for each in solved)
        certificate = replace(WHOLE, search=replace(WHOLE.search, solved=named))
    found = verify(PROBLEM, certificate)
    check_contains(found, DAMAGED)
    if kind == "claim":
        assert found.records_wrong in (0, 1)
        assert found.upper_proven == (found.records_wrong == 0)


def test_a_claim_that_is_far_too_high() -> None:
    """It is named, the bound does not rest on it, and the certificate is not confirmed."""
    assert WHOLE.search is not None
    first = WHOLE.search.groups[0]
    least = first.least.copy()
    least[0] += 1e7
    found = verify(PROBLEM, rebuilt([replace(first, least=least), *WHOLE.search.groups[1:]]))
    whole = verify(PROBLEM, WHOLE)
    assert found.upper == whole.upper
    assert found.records_wrong == 1
    assert not found.confirmed
    assert any("more than it proves" in note for note in found.notes)
    assert f"{found.records - 1:,} of {found.records:,} confirmed" in str(found)


def test_records_that_do_not_fit_together() -> None:
    """Records made by hand that make no sense prove nothing."""
    assert WHOLE.search is not None
    group = WHOLE.search.groups[0]
    for changed in (
        replace(group, agents=group.agents[::-1]),
        replace(group, layer=group.layer + 99),
        replace(group, least=group.least[1:]),
    ):
        found = verify(PROBLEM, rebuilt([changed]))
        assert found.upper is not None
        assert any("prove nothing: they are inconsistent" in note for note in found.notes)
        check_contains(found, DAMAGED)


def test_large_records_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record with too many combinations is not looked at; the clusters' bound remains."""
    monkeypatch.setattr(checker, "MOST_COMBINATIONS", 1)
    found = verify(PROBLEM, WHOLE)
    assert not found.upper_proven
    assert any("combinations of actions or outcomes, more than 1" in note for note in found.notes)
    check_contains(found, DAMAGED)


def test_batches_and_large_numbers_of_joint_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records are taken a few at a time, whatever the numbers; the bound is the same."""
    whole = verify(PROBLEM, WHOLE)
    monkeypatch.setattr(checker, "CELLS_AT_ONCE", 50)
    assert verify(PROBLEM, WHOLE).upper == whole.upper
    monkeypatch.setattr(checker, "CELLS_AT_ONCE", 10**6)
    monkeypatch.setattr(checker, "MOST_CODE", 10)
    assert verify(PROBLEM, WHOLE).upper == whole.upper


# -- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "value", "message"),
    [
        ("MOST_RECORDS", 1, "records, more than 1"),
        ("MOST_COMBINATIONS", 1, "combinations of actions or outcomes, more than 1"),
        ("MOST_WORK", 1.0, "combinations to check, more than 1"),
        ("MOST_EXPANDED", 0, "records, more than 0"),
    ],
)
def test_proofs_that_are_too_long(
    limit: str,
    value: float,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Then the certificate claims what the clusters show, and the log says so."""
    monkeypatch.setattr(certify, limit, value)
    with caplog.at_level(logging.WARNING, logger="coreplan"):
        certificate, upper = searched(DAMAGED, work_limit=10, tables=False)
    assert certificate.search is None
    assert certificate.upper > upper
    assert verify(PROBLEM, certificate).confirmed
    assert message in caplog.text
    assert "the certificate proves a weaker bound (" in caplog.text


def test_round_trip(tmp_path: Path) -> None:
    """Records that were written are read again; certificates without them stay what they were."""
    for name in ("c.json", "c.json.gz"):
        write_certificate(WHOLE, tmp_path / name)
        again = read_certificate(tmp_path / name, PROBLEM)
        assert again.search is not None and WHOLE.search is not None
        assert again.search.solved == WHOLE.search.solved
        for one, other in zip(again.search.groups, WHOLE.search.groups, strict=True):
            assert one.agents == other.agents
            for key in ("layer", "classes", "least"):
                assert np.array_equal(getattr(one, key), getattr(other, key))
    write_certificate(replace(WHOLE, search=None), tmp_path / "old.json")
    assert "search" not in json.loads((tmp_path / "old.json").read_text(encoding="utf-8"))
    assert read_certificate(tmp_path / "old.json", PROBLEM).search is None


GROUP = ("groups", 0)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ((), 3, "search: this part is inconsistent: expected the keys"),
        ((), None, "expected the keys"),
        (("extra",), 3, "expected the keys"),
        (("groups",), 3, "expected lists"),
        (("solved",), 3, "expected lists"),
        (("solved",), [[1, 0]], "solved: expected ascending numbers"),
        (("solved",), [[7]], "solved: expected a list of numbers from 0 to 3"),
        (GROUP, 3, "search.groups[0]"),
        ((*GROUP, "agents"), [], "a group needs at least one agent"),
        ((*GROUP, "agents"), [2, 1, 0], "expected ascending numbers"),
        ((*GROUP, "count"), -1, "count is -1"),
        ((*GROUP, "count"), 10**9, "expected an array of"),
        ((*GROUP, "extra"), 1, "unknown key 'extra' of a group"),
        ((*GROUP, "layer"), "?", "layer: not a zlib-compressed array"),
        ((*GROUP, "least"), pack(np.full(2, np.nan).view("<u4")), "search.groups[0]"),
    ],
)
def test_broken_records(
    path: tuple[str | int, ...], value: Any, message: str, tmp_path: Path
) -> None:
    """What breaks the format is refused, with the place."""
    document = json.loads(TEXT)
    inner: Any = document
    steps = ("search", *path)
    for step in steps[:-1]:
        inner = inner[step]
    inner[steps[-1]] = value
    (tmp_path / "c.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(FormatError) as error:
        read_certificate(tmp_path / "c.json", PROBLEM)
    assert message in str(error.value)


def test_classes_and_layers_that_there_are_not(tmp_path: Path) -> None:
    """Records of layers or classes that do not exist are refused; so are infinite claims."""
    document = json.loads(TEXT)
    group = document["search"]["groups"][0]
    number, width = group["count"], len(group["agents"])
    for key, array, message in (
        ("layer", np.full(number, 99, np.uint32), "found an unknown layer"),
        (
            "classes",
            np.full(number * width, 10**6, np.uint32),
            "the layer lacks a class that is listed",
        ),
        ("least", np.full(number, np.inf).view("<u4"), "expected finite numbers"),
    ):
        broken = copy.deepcopy(document)
        broken["search"]["groups"][0][key] = pack(array)
        (tmp_path / "c.json").write_text(json.dumps(broken), encoding="utf-8")
        with pytest.raises(FormatError, match=message):
            read_certificate(tmp_path / "c.json", PROBLEM)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`coreplan verify` says how many records were checked, in words and as JSON."""
    write_problem(PROBLEM, tmp_path / "p.json")
    write_certificate(WHOLE, tmp_path / "c.json.gz")
    arguments = ["verify", str(tmp_path / "p.json"), str(tmp_path / "c.json.gz")]
    for more in ([], ["--json"]):
        with pytest.raises(SystemExit) as ended:
            cli.main([*arguments, *more])
        assert ended.value.code == 0
        printed = capsys.readouterr().out
        if more:
            assert json.loads(printed)["records"] == count(WHOLE)
            assert json.loads(printed)["records_wrong"] == 0
        else:
            assert f"{count(WHOLE):,}, all confirmed" in printed
