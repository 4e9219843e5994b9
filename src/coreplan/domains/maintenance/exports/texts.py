"""Texts that are safe in every export: on one line, without characters that no format allows."""

from __future__ import annotations

import datetime
import re
from typing import Any

from coreplan.support.checks import found

# Control characters, halves of characters, and what XML 1.0 forbids.
_UNREADABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")


def readable(text: str) -> str:
    """A text with a mark in the place of each character that no format allows."""
    return _UNREADABLE.sub("\ufffd", text)


def plain(value: Any) -> str:
    r"""A value as one line of text, with single spaces and only readable characters.

    Examples
    --------
    >>> plain("  bridge\n deck "), plain(12)
    ('bridge deck', '12')
    """
    if isinstance(value, datetime.date):
        return value.isoformat()
    text = value if isinstance(value, str) else found(value)
    return " ".join(readable(text).split())


def cut(text: str, most: int) -> str:
    """Cut a text to a number of characters, and mark the cut."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
