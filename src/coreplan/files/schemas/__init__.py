"""JSON Schemas (draft 2020-12) of the file formats.

They describe the shape of files, for editors and other programs. A schema cannot express every rule
(names must exist, probabilities must add up to 1); the readers check the rest.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from coreplan.errors import ModelError
from coreplan.support.checks import unknown_name

FORMATS = {
    "ti-mmdp/1": "ti-mmdp-1.json",
    "ti-mmdp/2": "ti-mmdp-2.json",
    "mpp/1": "mpp-1.json",
    "result/1": "result-1.json",
    "policy/1": "policy-1.json",
    "certificate/1": "certificate-1.json",
    "schedule/1": "schedule-1.json",
    "calendar/1": "calendar-1.json",
    "bench/1": "bench-1.json",
}


def schema(name: str | None = None) -> dict[str, Any]:
    """The JSON Schema of a format, or of a file of any format if no name is given.

    Examples
    --------
    >>> schema("mpp/1")["title"]
    'mpp/1: the maintenance planning problem'
    """
    if name is None:
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "A file of coreplan",
            "type": "object",
            "required": ["format"],
            "oneOf": [schema(each) for each in FORMATS],
        }
    if name not in FORMATS:
        raise ModelError(unknown_name(name, "format", list(FORMATS), "coreplan"))
    text = files(__package__).joinpath(FORMATS[name]).read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded
