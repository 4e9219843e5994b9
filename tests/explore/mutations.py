"""Changes of documents and bytes that make most of them wrong."""

from __future__ import annotations

import json
import random
from typing import Any

JUNK = [None, True, False, 0, 1, -1, 2.5, 1e308, 10**30, 100_001, "", "x", "a/b", [], {}, [[]],
        [None], {"": {}}, {"name": 1}, "r1", [0, 1], {"a": {"a": {"a": 1}}}]  # fmt: skip

WORDS = [
    *(b"{", b"}", b"[", b"]", b":", b",", b'"', b"'", b"\\", b"\\u", b"\\ud800", b"- ", b"&a "),
    *(b"*a", b"!!int ", b"|", b">", b"%YAML 1.2\n", b"---\n", b"...", b"<<: ", b"? ", b"#", b"\n"),
    *(b"\r\n", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\t", b"1e999", b"-0", b"0x1F", b".nan"),
    *(b".inf", b"1_0", b"9" * 30, b"null", b"~", b"true", b";", b"=", b"%", b"(", b")"),
    *(b"\xc2\x85", b"\xe2\x80\xa8", b"2026-02-30", b"1.5,2", b"1,5", b"30%", b"format"),
    *(b"horizon", b"stages", b"agents"),
]


def nodes(value: Any) -> list[tuple[Any, Any]]:
    """All places of a document, as (what it is in, key or position)."""
    found = []
    rest = [value]
    while rest:
        inside = rest.pop()
        keys = list(inside) if isinstance(inside, dict) else range(len(inside))
        for key in keys:
            found.append((inside, key))
            if isinstance(inside[key], dict | list):
                rest.append(inside[key])
    return found


def mutate_structure(document: Any, draw: random.Random) -> None:
    """Delete, duplicate, rename, copy or replace a part of a document."""
    places = nodes(document)
    if not places:
        return
    inside, key = draw.choice(places)
    kind = draw.choice(["replace", "delete", "duplicate", "rename", "copy"])
    if kind == "replace":
        inside[key] = draw.choice(
            [draw.choice(JUNK), chr(draw.randrange(1, 0xD800)), draw.uniform(-9, 9)]
        )
    elif kind == "delete":
        del inside[key]
    elif kind == "duplicate" and isinstance(inside, list):
        inside.insert(key, json.loads(json.dumps(inside[key])))
    elif kind == "rename" and isinstance(inside, dict):
        inside[draw.choice(["", "x", "name", "1", key + "s"])] = inside.pop(key)
    else:
        other, place = draw.choice(places)
        there = place in other if isinstance(other, dict) else place < len(other)
        inside[key] = json.loads(json.dumps(other[place])) if there else None


def mutate_bytes(content: bytes, draw: random.Random) -> bytes:
    """Insert, delete, copy, swap or flip somewhere in a file."""
    at = draw.randrange(len(content) + 1)
    end = min(len(content), at + draw.choice([1, 1, 2, 4, 16, 64]))
    kind = draw.choice(["word", "word", "delete", "copy", "flip", "cut", "repeat"])
    if kind == "word":
        return content[:at] + draw.choice(WORDS) + content[at:]
    if kind == "delete":
        return content[:at] + content[end:]
    if kind == "copy":
        other = draw.randrange(len(content) + 1)
        return content[:other] + content[at:end] + content[other:]
    if kind == "flip" and at < len(content):
        return content[:at] + bytes([content[at] ^ 1 << draw.randrange(8)]) + content[at + 1 :]
    if kind == "cut":
        return content[:at]
    return content[:at] + content[at:end] * draw.choice([2, 10, 300]) + content[end:]
