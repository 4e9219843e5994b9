"""`coreplan schema`: the JSON Schemas."""

from __future__ import annotations

import json

import jsonschema
import pytest

import coreplan
from cli_runs import Run

FORMATS = [
    "ti-mmdp/1",
    "ti-mmdp/2",
    "mpp/1",
    "result/1",
    "policy/1",
    "certificate/1",
    "schedule/1",
    "calendar/1",
    "bench/1",
]


@pytest.mark.parametrize("name", [*FORMATS, None])
def test_schema(run: Run, name: str | None) -> None:
    """`schema` prints a valid JSON Schema for each format, or for all in one."""
    code, out, err = run("schema", *([name] if name else []))
    assert (code, err) == (0, "")
    schema = json.loads(out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema == coreplan.formats.schema(name)


def test_schema_of_an_unknown_format(run: Run) -> None:
    """A format that does not exist is refused, with those that do."""
    code, out, err = run("schema", "mpp/2")
    assert (code, out) == (2, "")
    assert "mpp/1" in err
