"""Reads sound JSON fast, without positions; what is doubtful is left to the reader with positions.

The scanner of Python's own library does the work. It accepts more than we do, so all that it would
let pass is looked for here. Equal small mappings are kept once: large files repeat them very often.
"""

from __future__ import annotations

import re
from itertools import chain
from json import JSONDecoder
from typing import Any, NoReturn

from coreplan.files.document import DEEPEST, read_number

MOST_KEPT = 200_000
"""How many small mappings, and how many numbers, are remembered in order to keep each once."""

_SMALL = 4
"""How many members a mapping may have to be kept once."""

# Halves of characters outside of pairs. A backslash before the escape may make it a plain text and
# leave the half after it alone, so that is doubtful, too.
_HALF_CHARACTER = re.compile(
    r"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD])[c-fC-F]"
    r"|(?<=\\\\u[dD]))"
)


class DoubtError(Exception):
    """Something may be wrong: the document has to be read with positions."""


def read_quickly(text: str) -> Any:
    """The value of a JSON text in which nothing is wrong; raises a DoubtError for any other text.

    Parameters
    ----------
    text
        The text, without a byte order mark, control characters or lone surrogates.

    Returns
    -------
    object
        Dictionaries, lists, texts, numbers, booleans and None. Equal dictionaries that hold no
        lists or dictionaries may be one object and must not be changed.
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
    """Numbers by their spelling."""

    def __missing__(self, text: str) -> int | float:
        value, complaint = read_number(text)
        if complaint:
            raise DoubtError
        if len(self) < MOST_KEPT:
            self[text] = value
        return value


class _Mappings:
    """Makes dictionaries; equal small ones are the same."""

    def __init__(self) -> None:
        self._kept: dict[tuple[object, ...], dict[str, Any]] = {}

    def take(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):  # a key is there twice
            raise DoubtError
        # 0.0 and -0.0 are equal, but not the same.
        if len(pairs) > _SMALL or 0 in made.values():
            return made
        # 1, 1.0 and true are equal, but not the same.
        key = (*pairs, *map(type, made.values()))
        try:
            known = self._kept.get(key)
        except TypeError:  # a list or a dictionary is in it
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
