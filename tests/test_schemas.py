"""The JSON Schemas: valid themselves, and of one mind with the readers where they can see."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest
from hypothesis import given

from coreplan import FormatError, ModelError, solve
from coreplan.bench.config import read_config
from coreplan.files.reading import read_document
from coreplan.files.schemas import FORMATS
from coreplan.formats import schema
from coreplan.proof.certificate import certificate_to_dict
from group_rules import random_groups
from helpers import from_file, random_mpp
from judge import Problem
from strategies import aggregate_dicts, infeasible_mpp_dicts, problem_dicts, staged_dicts
from test_formats_problem import PEAK, ROAD, ROBOTS
from test_formats_result import EXAMPLE as RESULT
from test_policy import policy_of

SCHEDULE = '{"format": "schedule/1", "Alpha": {"a1": 0}, "Beta": {"b1": 3}}'
CALENDAR = '{"format": "calendar/1", "start": "2026-03-02", "step": "day"}'
BENCH = """{
  "format": "bench/1", "name": "small", "seed": 1,
  "limits": {"time": 10, "memory": null, "clock": "processor"},
  "solvers": {"ours": {"algorithm": "core", "options": {"threads": 1}}, "dp": {"algorithm": "dp"}},
  "sets": [
    {"set": "rand3", "count": 3, "solvers": ["ours"], "limits": {"time": 1.5}},
    {"set": "mpp", "parameters": {"agents": [2, 3], "network": "pairs"}}
  ]
}"""
FILES = {
    "ti-mmdp/1": ROBOTS,
    "ti-mmdp/2": PEAK,
    "mpp/1": ROAD,
    "result/1": RESULT,
    "schedule/1": SCHEDULE,
    "calendar/1": CALENDAR,
    "bench/1": BENCH,
}
PROJECT = Path(__file__).parents[1]


def validate(document: Any, name: str | None) -> None:
    """Check a document against the schema of a format, or of all."""
    jsonschema.Draft202012Validator(schema(name)).validate(document)


def broken(name: str, path: list[Any], junk: Any) -> Any:
    """The example of a format with something else at one place."""
    document = json.loads(FILES[name])
    inside = document
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = junk
    return document


@pytest.mark.parametrize("name", [None, *FORMATS])
def test_schemas_are_schemas(name: str | None) -> None:
    """Every schema is a valid schema of the draft that it names."""
    jsonschema.Draft202012Validator.check_schema(schema(name))
    assert schema(name)["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_schemas_are_the_callers_own() -> None:
    """A schema can be changed without an effect on the next one."""
    schema("mpp/1").clear()
    schema()["oneOf"].clear()
    assert schema("mpp/1")["title"] == "mpp/1: the maintenance planning problem"
    assert len(schema()["oneOf"]) == len(FORMATS)


def test_unknown_formats() -> None:
    """A format that does not exist is refused, with the nearest one that does."""
    with pytest.raises(ModelError, match="did you mean 'mpp/1'"):
        schema("mmp/1")


@pytest.mark.parametrize("name", FILES)
def test_examples_are_valid(name: str) -> None:
    """An example of each format is valid by its schema and by the one for all, and by no other."""
    document = json.loads(FILES[name])
    for other in [None, *FORMATS]:
        if other in (None, name):
            validate(document, other)
        else:
            with pytest.raises(jsonschema.ValidationError):
                validate(document, other)


@given(
    raw=problem_dicts(max_work=60)
    | infeasible_mpp_dicts()
    | aggregate_dicts(max_work=60)
    | staged_dicts(max_work=60)
)
def test_random_problems_are_valid(raw: Problem) -> None:
    """Problems that keep the rules of shape are valid by the schema for all formats."""
    validate(raw, None)


def test_saved_policies_are_valid(tmp_path: Path) -> None:
    """A saved policy is valid by its schema and by the one for all."""
    policy = solve(from_file(json.loads(ROAD))).policy
    assert policy is not None
    path = tmp_path / "policy.json"
    policy.save(path)
    document = json.loads(path.read_text())
    validate(document, "policy/1")
    validate(document, None)
    for key in document:
        without = {each: value for each, value in document.items() if each != key}
        with pytest.raises(jsonschema.ValidationError):
            validate(without, "policy/1")
    for change in ({"teams": 3}, {"agents": []}, {"problem_sha256": "x"}, {"stage": -1}, {"x": 1}):
        with pytest.raises(jsonschema.ValidationError):
            validate({**document, **change}, "policy/1")


def test_saved_rules_of_groups_are_valid(tmp_path: Path) -> None:
    """With classes of its own or without, and as it was written before there were any."""
    plain = policy_of(from_file(random_mpp(3, 1, 5)), algorithm="core-2016")
    for policy in (plain, random_groups(plain, Random(1))):
        path = tmp_path / "policy.json"
        policy.save(path)
        document = json.loads(path.read_text())
        validate(document, "policy/1")
        del document["groups"]["reduced"]
        validate(document, "policy/1")
        for key in document["groups"]:
            groups = {each: value for each, value in document["groups"].items() if each != key}
            with pytest.raises(jsonschema.ValidationError):
                validate({**document, "groups": groups}, "policy/1")


def test_configurations_are_valid() -> None:
    """The configurations that come with the project are valid."""
    files = [*(PROJECT / "examples/bench").glob("*.yaml"), *(PROJECT / "benchmarks").glob("*.yaml")]
    assert len(files) >= 4
    for path in files:
        validate(read_document(path, lambda document: document.root), "bench/1")


def test_broken_configurations_are_refused_by_the_reader(tmp_path: Path) -> None:
    """What the schema of configurations refuses, the reader refuses as well."""
    path = tmp_path / "bench.json"
    path.write_text(BENCH, encoding="utf-8")
    assert [each.set for each in read_config(path).sets] == ["rand3", "mpp"]
    for name, place, junk in BROKEN:
        if name == "bench/1":
            path.write_text(json.dumps(broken(name, place, junk)), encoding="utf-8")
            with pytest.raises(FormatError):
                read_config(path)


BROKEN: list[tuple[str, list[Any], Any]] = [
    ("ti-mmdp/1", ["format"], "ti-mmdp/0"),
    ("ti-mmdp/1", ["horizon"], 0),
    ("ti-mmdp/1", ["horizon"], 100_001),
    ("ti-mmdp/1", ["horizon"], 2.5),
    ("ti-mmdp/1", ["horizon"], "3"),
    ("ti-mmdp/1", ["horizon"], True),
    ("ti-mmdp/1", ["unknown"], 1),
    ("ti-mmdp/1", ["agents"], []),
    ("ti-mmdp/1", ["agents", 0, "name"], ""),
    ("ti-mmdp/1", ["agents", 0, "name"], 1),
    ("ti-mmdp/1", ["agents", 0, "initial"], None),
    ("ti-mmdp/1", ["agents", 0, "extra"], None),
    ("ti-mmdp/1", ["agents", 0, "transitions", "s0", "go", "s1"], -0.1),
    ("ti-mmdp/1", ["agents", 0, "transitions", "s0", "go", "s1"], "0.8"),
    ("ti-mmdp/1", ["agents", 0, "transitions", "s0", "go"], {}),
    ("ti-mmdp/1", ["agents", 0, "transitions", "s0", ""], {"s0": 1}),
    ("ti-mmdp/1", ["agents", 0, "features", "s1", "done"], None),
    ("ti-mmdp/1", ["rewards", 0, "scope"], []),
    ("ti-mmdp/1", ["rewards", 0, "scope"], ["r1", "r1"]),
    ("ti-mmdp/1", ["rewards", 0, "entries", 0, "value"], None),
    ("ti-mmdp/1", ["rewards", 0, "entries", 0, "value"], True),
    ("ti-mmdp/1", ["rewards", 0, "entries", 0, "stages"], [-1]),
    ("ti-mmdp/1", ["rewards", 0, "entries", 0, "stages"], 0),
    ("ti-mmdp/1", ["rewards", 0, "entries", 0, "when", "r1", "action"], []),
    ("ti-mmdp/1", ["rewards", 0, "entries", 0, "when", "r1", "action"], {"a": 1}),
    ("ti-mmdp/1", ["rewards", 0, "entries", 0, "when", "r1", "state"], []),
    ("ti-mmdp/1", ["rewards", 0, "entries", 0, "when", "r1", "next"], {"done": None}),
    ("ti-mmdp/1", ["rewards", 0, "entries", 0, "when", "r1", "then"], "s0"),
    ("ti-mmdp/2", ["format"], "ti-mmdp/1"),
    ("ti-mmdp/2", ["aggregates"], {}),
    ("ti-mmdp/2", ["aggregates", 0, "name"], ""),
    ("ti-mmdp/2", ["aggregates", 0, "extra"], 1),
    ("ti-mmdp/2", ["aggregates", 0, "step"], 0),
    ("ti-mmdp/2", ["aggregates", 0, "stages"], [-1]),
    ("ti-mmdp/2", ["aggregates", 0, "amounts", 0, "amount"], -1),
    ("ti-mmdp/2", ["aggregates", 0, "amounts", 0, "when"], {}),
    ("ti-mmdp/2", ["aggregates", 0, "amounts", 0, "when"], {"r1": {}, "r2": {}}),
    ("ti-mmdp/2", ["aggregates", 0, "amounts", 0, "when", "r1"], {"next": "s1"}),
    ("ti-mmdp/2", ["aggregates", 0, "value"], {}),
    ("ti-mmdp/2", ["aggregates", 0, "value"], {"table": [1, 2, 3, 4], "points": [[0, 0]]}),
    ("ti-mmdp/2", ["aggregates", 0, "value"], {"table": []}),
    ("ti-mmdp/2", ["aggregates", 0, "value", "points"], []),
    ("ti-mmdp/2", ["aggregates", 0, "value", "points", 0], [0]),
    ("ti-mmdp/2", ["aggregates", 0, "value", "points", 0], [0, None]),
    ("mpp/1", ["horizon"], 0),
    ("mpp/1", ["must_complete"], "yes"),
    ("mpp/1", ["agents"], []),
    ("mpp/1", ["agents", 0, "name"], "a/b"),
    ("mpp/1", ["agents", 0, "tasks", 0, "name"], "a/b"),
    ("mpp/1", ["agents", 0, "tasks", 0, "duration"], 0),
    ("mpp/1", ["agents", 0, "tasks", 0, "duration"], 1.5),
    ("mpp/1", ["agents", 0, "tasks", 0, "cost"], None),
    ("mpp/1", ["agents", 0, "tasks", 0, "cost"], ["1"]),
    ("mpp/1", ["agents", 0, "tasks", 0, "delay", "probability"], 1.1),
    ("mpp/1", ["agents", 0, "tasks", 0, "delay", "duration"], 0),
    ("mpp/1", ["agents", 0, "tasks", 0, "delay"], {}),
    ("mpp/1", ["agents", 0, "tasks", 0, "window"], [1]),
    ("mpp/1", ["agents", 0, "tasks", 0, "window"], [-1, 1]),
    ("mpp/1", ["agents", 0, "tasks", 0, "window"], None),
    ("mpp/1", ["network", 0, "tasks"], ["Alpha/a1"]),
    ("mpp/1", ["network", 0, "tasks"], ["Alpha/a1", "Alpha/a1"]),
    ("mpp/1", ["network", 0, "tasks"], ["Alpha/a1", "b1"]),
    ("result/1", ["status"], "done"),
    ("result/1", ["objective"], "central"),
    ("result/1", ["value"], None),
    ("result/1", ["gap"], -1),
    ("result/1", ["seconds"], -1),
    ("result/1", ["statistics", "crg_nodes"], "many"),
    ("schedule/1", ["Alpha"], 3),
    ("schedule/1", ["Alpha", "a1"], -1),
    ("schedule/1", ["Alpha", "a1"], "0"),
    ("schedule/1", ["Alpha", "a1"], None),
    ("calendar/1", ["start"], 2026),
    ("calendar/1", ["start"], ""),
    ("calendar/1", ["step"], "month"),
    ("calendar/1", ["end"], "2026-04-02"),
    ("calendar/1", ["closed"], {"from": "2026-04-02"}),
    ("calendar/1", ["closed"], [{"to": "2026-04-02"}]),
    ("calendar/1", ["closed"], [{"from": "2026-04-02", "no": "stop"}]),
    ("calendar/1", ["closed"], [{"from": "2026-04-02", "name": 1}]),
    ("calendar/1", ["closed"], [{"from": "2026-04-02", "until": "2026-04-03"}]),
    ("bench/1", ["sed"], 1),
    ("bench/1", ["seed"], -1),
    ("bench/1", ["seed"], 1.5),
    ("bench/1", ["name"], 7),
    ("bench/1", ["limits", "time"], 0),
    ("bench/1", ["limits", "time"], None),
    ("bench/1", ["limits", "memory"], "much"),
    ("bench/1", ["limits", "space"], 1),
    ("bench/1", ["limits", "clock"], "sun"),
    ("bench/1", ["limits", "clock"], None),
    ("bench/1", ["solvers"], {}),
    ("bench/1", ["solvers", ""], {"algorithm": "dp"}),
    ("bench/1", ["solvers", "dp"], "dp"),
    ("bench/1", ["solvers", "dp"], {}),
    ("bench/1", ["solvers", "ours", "options", "threads"], [1]),
    ("bench/1", ["solvers", "ours", "options", "threads"], None),
    ("bench/1", ["sets"], []),
    ("bench/1", ["sets", 0, "set"], None),
    ("bench/1", ["sets", 0, "count"], 0),
    ("bench/1", ["sets", 0, "count"], 1_000_001),
    ("bench/1", ["sets", 0, "solvers"], []),
    ("bench/1", ["sets", 0, "solvers"], ["ours", "ours"]),
    ("bench/1", ["sets", 0, "limits"], 30),
    ("bench/1", ["sets", 1, "parameters"], ["agents"]),
]


@pytest.mark.parametrize(("name", "path", "junk"), BROKEN)
def test_broken_files_are_refused(name: str, path: list[Any], junk: Any) -> None:
    """What the readers refuse for its shape, the schemas refuse as well."""
    for each in (name, None):
        with pytest.raises(jsonschema.ValidationError):
            validate(broken(name, path, junk), each)


@pytest.mark.parametrize("exact", [True, False])
def test_certificates_fit_their_schema(exact: bool) -> None:
    """Whatever a certificate rests on: tables, clusters, records of a search."""
    for size in ((2, 2, 5), (4, 3, 9)):
        certificate = solve(from_file(random_mpp(*size)), exact=exact, certificate=True).certificate
        assert certificate is not None
        document = json.loads(json.dumps(certificate_to_dict(certificate)))
        validate(document, "certificate/1")
        validate(document, None)
        for key in schema("certificate/1")["required"]:
            with pytest.raises(jsonschema.ValidationError):
                validate({name: part for name, part in document.items() if name != key}, None)
