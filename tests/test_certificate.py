"""Files in the format certificate/1: what is written is read, and what is broken is refused."""

from __future__ import annotations

import base64
import copy
import gzip
import json
import random
import zlib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certificates import identity_classes, make_certificate, random_clusters, reduced_classes
from coreplan import CoreplanError, FormatError, ModelError, cli
from coreplan.policies.saved_arrays import pack
from coreplan.proof.certificate import (
    AgentClasses,
    Certificate,
    certificate_to_dict,
    index_problem,
    read_certificate,
    write_certificate,
)
from coreplan.proof.verify import verify
from helpers import from_file, random_mpp
from strategies import problem_dicts

PROBLEM = from_file(random_mpp(3, 1, 4))


def example() -> Certificate:
    """A certificate that has something of everything."""
    agents = reduced_classes(PROBLEM)
    indexed = index_problem(PROBLEM)
    for seed in range(100):
        draw = random.Random(seed)
        clusters = random_clusters(indexed, agents, draw, lambda d: d.uniform(-1, 1))
        if any(pair.value.size for cluster in clusters for pair in cluster.pairs):
            break
    return make_certificate(PROBLEM, clusters, agents=agents)


EXAMPLE = example()
DOCUMENT = certificate_to_dict(EXAMPLE)
OPTIMUM = EXAMPLE.lower


def assert_same(left: Certificate, right: Certificate) -> None:
    """Two certificates say the same."""
    assert (left.lower, left.upper, left.history) == (right.lower, right.upper, right.history)
    assert left.indexed.stage == right.indexed.stage
    for one, other in zip(left.agents, right.agents, strict=True):
        for each in fields(AgentClasses):
            assert np.array_equal(getattr(one, each.name), getattr(other, each.name)), each.name
    for mine, theirs in zip(left.clusters, right.clusters, strict=True):
        assert (mine.agents, mine.wide) == (theirs.agents, theirs.wide)
        for a, b in zip(mine.shares, theirs.shares, strict=True):
            assert (a is None) == (b is None)
            assert a is None or b is None or np.array_equal(a, b)
        for p, q in zip(mine.pairs, theirs.pairs, strict=True):
            assert p.agents == q.agents
            for key in ("layer", "after_first", "after_second", "value"):
                assert np.array_equal(getattr(p, key), getattr(q, key))


@given(raw=problem_dicts(), seed=st.integers(0, 2**32), name=st.sampled_from(["c.json", "c.gz"]))
def test_round_trip(
    raw: dict[str, Any], seed: int, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What was written is read again, compressed or not, and verified with the same bounds."""
    problem = from_file(raw)
    agents = reduced_classes(problem)
    indexed = index_problem(problem)
    clusters = random_clusters(indexed, agents, random.Random(seed), lambda d: d.gauss(0, 10))
    certificate = make_certificate(problem, clusters, agents=agents)
    path = tmp_path_factory.mktemp("certificate") / name
    write_certificate(certificate, path)
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == (name == "c.gz")
    again = read_certificate(path, problem)
    assert_same(again, certificate)
    first, second = verify(problem, certificate), verify(problem, path)
    assert (first.lower, first.upper) == (second.lower, second.upper)


def test_round_trip_without_policy(tmp_path: Path) -> None:
    """A certificate needs no policy; where everybody stands is written all the same."""
    state = {
        "C0": {"done": [], "doing": "w0", "remaining": 1},
        "C1": {"done": ["w0"]},
        "C2": {"done": []},
    }
    indexed = index_problem(PROBLEM, stage=1, state=state)
    bare = replace(EXAMPLE, policy=None)
    write_certificate(bare, tmp_path / "c.json")
    assert_same(read_certificate(tmp_path / "c.json", PROBLEM), bare)
    agents = tuple(identity_classes(each, 1, 4) for each in indexed.agents)
    written = certificate_to_dict(replace(bare, indexed=indexed, agents=agents, clusters=()))
    assert written["stage"] == 1
    assert written["start"]["C0"] == {"done": [], "doing": "w0", "remaining": 1}
    assert index_problem(PROBLEM, stage=1, state=written["start"]).stage == 1
    with pytest.raises(ModelError, match="stage is 9"):
        index_problem(PROBLEM, stage=9)


def test_unwritable(tmp_path: Path) -> None:
    """A file that cannot be written is an error of the usual kind."""
    for name in ("c.json", "c.json.gz"):
        with pytest.raises(FormatError, match="cannot be written"):
            write_certificate(EXAMPLE, tmp_path / "missing" / name)


def changed(path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    """The example with one value replaced; without it, if the value is `...`."""
    document = copy.deepcopy(DOCUMENT)
    inner: Any = document
    for step in path[:-1]:
        inner = inner[step]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return document


CLUSTER = next(k for k, c in enumerate(EXAMPLE.clusters) if any(p.value.size for p in c.pairs))
PAIR = next(k for k, p in enumerate(EXAMPLE.clusters[CLUSTER].pairs) if p.value.size)
OF_PAIR = ("clusters", CLUSTER, "pairs", PAIR)
COUNT = len(EXAMPLE.clusters[CLUSTER].pairs[PAIR].value)
CLASSES = EXAMPLE.agents[0]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("format",), "policy/1", "expected certificate/1"),
        (("upper",), ..., "needs the key 'upper'"),
        (("upper",), "much", "expected a bound, a finite number"),
        (("lower",), True, "expected a bound, a finite number"),
        (("extra",), 1, "has no key 'extra'"),
        (("problem_sha256",), "0", "belongs to another problem"),
        (("horizon",), 5, "horizon is 5"),
        (("stage",), 4, "stage is 4"),
        (("stage",), 1, "this part is inconsistent"),
        (("history",), 1, "expected true or false"),
        (("start",), {}, "the joint state lacks agent"),
        (("agents",), [], "one item for each of 3 agents"),
        (("agents", 0), 3, "this part is inconsistent"),
        (("agents", 0, "name"), "C9", "has another name or other actions"),
        (("agents", 0, "extra"), 1, "unknown key 'extra' of an agent"),
        (("agents", 0, "after"), ..., "the key 'after' is missing"),
        (("agents", 0, "states", 0), "nowhere", "'nowhere' is missing"),
        (("agents", 0, "state"), "%", "not a zlib-compressed array"),
        (("agents", 0, "class_of"), pack(np.zeros(3, np.uint32)), "expected an array of"),
        (("agents", 0, "class_of"), pack(CLASSES.class_of + 9), "names an unknown class"),
        (("agents", 0, "class_count"), pack(CLASSES.class_count + 9), "more classes than states"),
        (("agents", 0, "action_of"), pack(CLASSES.action_of + 9), "names an unknown action"),
        (
            ("agents", 0, "layer_begin"),
            pack(CLASSES.layer_begin[::-1]),
            "layer_begin is not an ascending list",
        ),
        (("agents", 0, "action_begin"), pack(0 * CLASSES.action_begin), "has no actions"),
        (("clusters",), 3, "expected clusters, a list"),
        (("clusters", 0), [], "this part is inconsistent"),
        (("clusters", 0, "agents"), [2, 1], "expected ascending numbers"),
        (("clusters", 0, "agents"), [0, 7], "numbers from 0 to 2"),
        (("clusters", 0, "agents"), [], "needs at least one agent"),
        (("clusters", 0, "shares"), [], "one item for each agent"),
        (("clusters", 0, "wide"), [0], "looks at fewer than three agents"),
        (("clusters", 0, "wide"), [True], "expected a list of numbers"),
        (("clusters", 0, "more"), 1, "unknown key 'more' of a cluster"),
        ((*OF_PAIR, "agents"), [0], "this part is inconsistent"),
        ((*OF_PAIR, "count"), COUNT + 1, f"an array of {COUNT + 1} numbers"),
        ((*OF_PAIR, "count"), -1, "count is -1"),
        ((*OF_PAIR, "layer"), pack(np.full(COUNT, 99)), "found an unknown layer"),
        ((*OF_PAIR, "after_first"), pack(np.full(COUNT, 10**9)), "no action of the layer"),
        (
            (*OF_PAIR, "value"),
            pack(np.full(COUNT, np.nan).view("<u4")),
            "value: expected finite numbers",
        ),
        (("policy",), {}, "policy: the document needs the key 'format'"),
        (("policy", "local"), [], "policy: the policy is inconsistent"),
        (("policy", "stage"), 1, "policy"),
    ],
)
def test_broken_certificates(
    path: tuple[str | int, ...], value: Any, message: str, tmp_path: Path
) -> None:
    """What breaks the format is refused, with the place."""
    file = tmp_path / "c.json"
    file.write_text(json.dumps(changed(path, value)), encoding="utf-8")
    with pytest.raises(FormatError) as error:
        read_certificate(file, PROBLEM)
    assert message in str(error.value)
    assert str(error.value).startswith(f"{file}")


def test_entries_are_counted_once(tmp_path: Path) -> None:
    """An interaction of three agents that two clusters count is refused."""
    raw = random_mpp(3, 1, 3)
    raw["network"].append({"tasks": ["C0/w0", "C1/w0", "C2/w0"], "cost": 7})
    problem = from_file(raw)
    document = certificate_to_dict(make_certificate(problem))
    assert len(document["clusters"][0]["wide"]) == 1
    document["clusters"] *= 2
    (tmp_path / "c.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(FormatError, match="counted twice, first by the cluster at position 0"):
        read_certificate(tmp_path / "c.json", problem)
    document["clusters"][1] = document["clusters"][1] | {"agents": [0, 1], "shares": [None, None]}
    (tmp_path / "c.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(FormatError, match="lacks an agent that entry"):
        read_certificate(tmp_path / "c.json", problem)


def test_broken_compression(tmp_path: Path) -> None:
    """A file that only begins like a compressed one is refused."""
    whole = gzip.compress(json.dumps(DOCUMENT).encode())
    for content in (whole[:1000], whole[:-4], whole[:30] + b"x" * 50, b"\x1f\x8b"):
        (tmp_path / "c.json.gz").write_bytes(content)
        with pytest.raises(FormatError, match="the gzip data are damaged"):
            read_certificate(tmp_path / "c.json.gz", PROBLEM)


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2**33),
    st.floats(allow_nan=False),
    st.text(max_size=5),
    st.lists(st.integers(-1, 5), max_size=3),
    st.dictionaries(st.sampled_from(["agents", "x"]), st.none()),
    st.lists(st.integers(0, 2**32 - 1), max_size=40).map(
        lambda numbers: pack(np.array(numbers, dtype=np.uint32))
    ),
)


@given(data=st.data())
def test_mutilated_certificates_never_end_in_a_traceback(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever is changed: an error that says what is wrong, or a report that is right."""
    document = copy.deepcopy(DOCUMENT)
    inner: Any = document
    while True:
        steps = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
        step = data.draw(st.sampled_from(steps))
        below = inner[step]
        if isinstance(below, dict | list) and below and data.draw(st.integers(0, 5)):
            inner = below
            continue
        break
    kind = data.draw(st.sampled_from(["junk", "delete", "cut", "numbers", "numbers", "numbers"]))
    if kind == "delete":
        del inner[step]
    elif kind == "cut" and isinstance(below, str):
        inner[step] = below[: data.draw(st.integers(0, len(below)))]
    elif kind == "numbers" and isinstance(below, str) and below.startswith("eJ"):
        numbers = np.frombuffer(zlib.decompress(base64.b64decode(below)), dtype="<u4").copy()
        if len(numbers):
            at = data.draw(st.integers(0, len(numbers) - 1))
            numbers[at] = data.draw(st.integers(0, 6) | st.integers(0, 2**32 - 1))
        inner[step] = pack(numbers)
    else:
        inner[step] = data.draw(JUNK)
    file = tmp_path_factory.mktemp("mutilated") / "c.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    try:
        report = verify(PROBLEM, file)
    except CoreplanError as error:
        assert str(error)
    else:
        assert report.lower is None or report.lower <= OPTIMUM + 1e-9
        assert report.upper is None or report.upper >= OPTIMUM - 1e-9


def test_errors_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints the place of what is wrong and ends with 2."""
    from coreplan import write_problem

    write_problem(PROBLEM, tmp_path / "p.json")
    broken = changed(("agents", 1, "after"), "?")
    (tmp_path / "c.json").write_text(json.dumps(broken, indent=1), encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        cli.main(["verify", str(tmp_path / "p.json"), str(tmp_path / "c.json")])
    assert ended.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "agents[1]: this part is inconsistent: after: not a zlib-compressed" in printed.err
    assert "Traceback" not in printed.err
