"""Reads correct JSON fast, without positions; the reader with positions handles doubtful texts.

The scanner of Python's own library does the work. It accepts more than coreplan does, so this
module looks for these cases. Equal small mappings become one object: large files repeat them often.
"""

from __future__ import annotations

import re
from itertools import chain
from json import JSONDecoder
from typing import Any, NoReturn

from coreplan.files.document import DEEPEST, read_number

MOST_KEPT = 200_000
"""The most small mappings, and the most numbers, that are remembered to share them."""

_SMALL = 4
"""The most members of a mapping that is shared."""

# Halves of characters without their partners. A backslash before the escape may make it a plain
# text and leave the next half alone, so this case is doubtful, too.
_HALF_CHARACTER = re.compile(
    r"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD])[c-fC-F]"
    r"|(?<=\\\\u[dD]))"
)


class DoubtError(Exception):
    """The text may contain a mistake: it must be read again with positions."""


def read_quickly(text: str) -> Any:
    """Read a correct JSON text; raises a DoubtError for any other text.

    Parameters
    ----------
    text
        The text, without a byte order mark, control characters or lone surrogates.

    Returns
    -------
    object
        Dictionaries, lists, texts, numbers, booleans and None. Equal dictionaries without lists or
        dictionaries inside may be one object and must not be changed.
    """
    if _HALF_CHARACTER.search(text):
        raise DoubtError
    numbers = _Numbers()
    decoder = JSONDecoder(
        object_pairs_hook=_Mappings().take,
        parse_float=numbers.__getitem__,
        parse_int=numbers.__getitem__,
        parse_constant=_refuse,
    )
    try:
        value = decoder.decode(text)
    except (ValueError, RecursionError):
        raise DoubtError from None
    _check_depth(value)
    return value


class _Numbers(dict[str, int | float]):
    """Reads numbers; equal spellings give the same object."""

    def __missing__(self, text: str) -> int | float:
        value, complaint = read_number(text)
        if complaint:
            raise DoubtError
        if len(self) < MOST_KEPT:
            self[text] = value
        return value


class _Mappings:
    """Makes dictionaries; equal small ones are the same object."""

    def __init__(self) -> None:
        self._kept: dict[tuple[object, ...], dict[str, Any]] = {}

    def take(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):  # a key occurs twice
            raise DoubtError
        # 0.0 and -0.0 are equal, but must stay different.
        if len(pairs) > _SMALL or 0 in made.values():
            return made
        # 1, 1.0 and true are equal, but must stay different.
        key = (*pairs, *map(type, made.values()))
        try:
            known = self._kept.get(key)
        except TypeError:  # it contains a list or a dictionary
            return made
        if known is not None:
            return known
        if len(self._kept) < MOST_KEPT:
            self._kept[key] = made
        return made


def _refuse(_: str) -> NoReturn:
    """Refuse NaN and infinities, which JSON does not have."""
    raise DoubtError


def _check_depth(value: Any) -> None:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        if not level:
            return
        inside = chain.from_iterable(
            each.values() if type(each) is dict else each for each in level
        )
        level = [each for each in inside if type(each) is dict or type(each) is list]
    if level:
        raise DoubtError
