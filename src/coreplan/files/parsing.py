"""Reading JSON and YAML documents with the position of each value."""

from __future__ import annotations

from collections.abc import Callable

from coreplan.errors import Diagnostic
from coreplan.files.document import (
    Node,
    ProblemLog,
    UnreadableError,
    clean_text,
    is_json,
    looks_like_json,
)
from coreplan.files.json_text import parse_json


def parse_document(text: str | bytes, *, suffix: str = "") -> tuple[Node | None, list[Diagnostic]]:
    """Read a JSON or YAML document.

    Parameters
    ----------
    text
        The content of the file. Bytes must be UTF-8.
    suffix
        The ending of the file's name: ``.json``, ``.yaml`` or ``.yml``. For any other ending the
        content decides.

    Returns
    -------
    tuple
        The root node, or None if the text cannot be read to its end; and the problems found (at
        most 20). A text without a root has at least one problem.
    """
    try:
        clean = clean_text(text)
    except UnreadableError as stop:
        return None, [stop.problem]

    if not is_json(clean, suffix):
        return _attempt(_parse_yaml, clean)
    as_json = _attempt(parse_json, clean)
    if as_json[0] is not None or suffix.lower() == ".json":
        return as_json
    as_yaml = _attempt(_parse_yaml, clean)
    if as_yaml[0] is not None or not looks_like_json(clean):
        return as_yaml
    return as_json


def _attempt(
    parser: Callable[[str, ProblemLog], Node], text: str
) -> tuple[Node | None, list[Diagnostic]]:
    log = ProblemLog()
    try:
        return parser(text, log), log.problems
    except UnreadableError as stop:
        log.add(stop.path, stop.message, stop.position)
        return None, log.problems


def _parse_yaml(text: str, log: ProblemLog) -> Node:
    # The library that reads YAML is slow to import, and most files are JSON.
    from coreplan.files.yaml_text import parse_yaml

    return parse_yaml(text, log)
