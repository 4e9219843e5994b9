"""A strict JSON parser (RFC 8259) that keeps the position of each value and key."""

from __future__ import annotations

import re
from json import JSONDecoder
from typing import NoReturn

from coreplan.errors import PlaceStep, shorten
from coreplan.files.document import (
    DEEPEST,
    Node,
    ProblemLog,
    UnreadableError,
    as_written,
    found_at,
    read_number,
)

# The pattern recognises a string with escapes only by its quote; the string decoder reads the rest.
# A word is everything up to the next sign, so that a message can name all of it.
_TOKEN = re.compile(
    r'[ \t\n\r]*+(?:([{}\[\]:,])|("[^"\\\x00-\x1f]*+")|(")|([^ \t\n\r{}\[\]:,"]++))?'
)
_END, _SIGN, _PLAIN_STRING, _QUOTE, _WORD = range(5)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?")
_STRING_PART = re.compile(r'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))?')
_HALF_CHARACTER = re.compile(r"[\ud800-\udfff]")
_DECODER = JSONDecoder()
_LITERALS = {"true": True, "false": False, "null": None}

_VALUE, _FIRST_ITEM, _ITEM, _FIRST_KEY, _KEY, _COLON, _AFTER = (
    "a value",
    "a value or ']'",
    "another value",
    "a name in double quotes or '}'",
    "another name in double quotes",
    "':'",
    "the end of the file",
)


def parse_json(text: str, log: ProblemLog) -> Node:
    """Read a JSON text into a tree.

    Parameters
    ----------
    text
        The text, without a byte order mark, control characters or lone surrogates.
    log
        Receives the problems after which reading continues.

    Raises
    ------
    UnreadableError
        At the first syntax error.
    """
    return _Reader(text, log).read()


class _Reader:
    """The state while reading one text: the open parts, and what may come next."""

    def __init__(self, text: str, log: ProblemLog) -> None:
        self.text = text
        self.log = log
        self.open: list[Node] = []
        self.path: list[PlaceStep] = []
        self.line = 1
        self.line_start = 0
        self.counted = 0

    def read(self) -> Node:
        text = self.text
        match = _TOKEN.match
        root: Node | None = None
        expected = _VALUE
        end = 0
        while True:
            token = match(text, end)
            assert token is not None  # every part of the pattern may be empty
            group = token.lastindex or _END
            end = token.end()
            start = token.start(group) if group else end
            sign = text[start] if group == _SIGN else ""

            if expected == _AFTER:
                if group == _END and not self.open and root is not None:
                    return root
                expected = self.after_value(sign, start)
            elif expected == _COLON:
                if sign != ":":
                    self.refuse(start, expected)
                expected = _VALUE
            elif (sign == "}" and expected == _FIRST_KEY) or (
                sign == "]" and expected == _FIRST_ITEM
            ):
                self.close()
                expected = _AFTER
            elif expected in (_KEY, _FIRST_KEY):
                if group not in (_PLAIN_STRING, _QUOTE):
                    self.refuse(start, expected)
                position = self.position(start)
                key, end = self.string(start, end, group, self.path[:-1])
                self.add_key(key, position)
                expected = _COLON
            else:
                position = self.position(start)
                node = Node(position[0], position[1], None)
                self.attach(node)
                if sign == "{" or sign == "[":
                    if len(self.open) == DEEPEST:
                        raise UnreadableError(
                            f"lists and mappings are nested deeper than {DEEPEST}", position
                        )
                    node.value = {} if sign == "{" else []
                    self.open.append(node)
                    self.path.append("" if sign == "{" else -1)
                    expected = _FIRST_KEY if sign == "{" else _FIRST_ITEM
                else:
                    if group == _WORD:
                        node.value = self.word(token[_WORD], start)
                    elif group in (_PLAIN_STRING, _QUOTE):
                        node.value, end = self.string(start, end, group, self.path)
                    else:
                        self.refuse(start, expected)
                    node.text = as_written(text, start, end)
                    expected = _AFTER
                if root is None:
                    root = node

    def position(self, index: int) -> tuple[int, int]:
        """Line and column of an index; the indices of successive calls must not decrease.

        Counting continues from the last index: a fresh start each time would take quadratic time.
        """
        text, counted = self.text, self.counted
        feeds = text.count("\n", counted, index)
        returns = text.count("\r", counted, index)
        if feeds or returns:
            self.line += feeds + returns
            if feeds and returns:
                self.line -= text.count("\r\n", counted, index)
            last = max(text.rfind("\n", counted, index), text.rfind("\r", counted, index))
            self.line_start = last + 1
        self.counted = index
        return self.line, index - self.line_start + 1

    def attach(self, node: Node) -> None:
        """Put a new value into the innermost open list or mapping."""
        if not self.open:
            return
        inside = self.open[-1].value
        if isinstance(inside, list):
            self.path[-1] = len(inside)
            inside.append(node)
        elif isinstance(inside, dict):
            # The value of a repeated key is read for its own problems, but the first value stays.
            inside.setdefault(str(self.path[-1]), node)

    def add_key(self, key: str, position: tuple[int, int]) -> None:
        keys = self.open[-1].keys
        self.path[-1] = key
        if key in keys:
            message = f"the key {shorten(key)!r} is already on line {keys[key][0]}; remove one"
            self.log.add(self.path, message, position)
        else:
            keys[key] = position

    def close(self) -> None:
        self.open.pop()
        self.path.pop()

    def after_value(self, sign: str, start: int) -> str:
        if not self.open:
            self.refuse(start, _AFTER)
        mapping = self.open[-1].is_mapping
        closing = "}" if mapping else "]"
        if sign == ",":
            return _KEY if mapping else _ITEM
        if sign != closing:
            self.refuse(start, f"',' or {closing!r}")
        self.close()
        return _AFTER

    def word(self, word: str, start: int) -> bool | int | float | None:
        """Read a number, true, false or null."""
        if word in _LITERALS:
            return _LITERALS[word]
        if not _NUMBER.fullmatch(word):
            self.refuse(start, _VALUE)
        value, complaint = read_number(word)
        if complaint:
            self.log.add(self.path, complaint, self.position(start))
        return value

    def string(self, start: int, end: int, group: int, path: list[PlaceStep]) -> tuple[str, int]:
        """Read a string; `end` is its end if it has no escapes."""
        if group == _PLAIN_STRING:
            return self.text[start + 1 : end - 1], end
        try:
            value, end = _DECODER.raw_decode(self.text, start)
        except ValueError:
            self.refuse_string(start)
        half = _HALF_CHARACTER.search(value)
        if half:
            message = (
                f"the escape \\u{ord(half[0]):04x} is half of a pair that names one character; "
                "the other half is missing"
            )
            self.log.add(path, message, self.position(start))
            value = _HALF_CHARACTER.sub("\ufffd", value)
        return value, end

    def refuse_string(self, start: int) -> NoReturn:
        """Raise the error for the wrong string that begins at an index."""
        text, at = self.text, start + 1
        while (part := _STRING_PART.match(text, at)) and part.end() > at:
            at = part.end()
        if at == len(text) or text[at] in "\r\n":
            message = "this text is not closed; expected '\"' before the end of the line"
            raise UnreadableError(message, self.position(start))
        if text[at] == "\\":
            escape = shorten(re.split(r"[\s\"]", text[at : at + 6])[0] or "\\")
            message = (
                f"found the escape {escape}, which JSON does not have; "
                "write \\\\ for a backslash, or \\u and four hexadecimal digits"
            )
        else:
            message = f"found {found_at(text, at)} in a text; write it as an escape such as \\t"
        raise UnreadableError(message, self.position(at))

    def refuse(self, start: int, expected: str) -> NoReturn:
        """Raise the error for an unexpected part, with a hint for usual mistakes."""
        text = self.text
        token = _TOKEN.match(text, start)
        word = (token and token[_WORD]) or ""
        found = repr(shorten(word)) if word else found_at(text, start)
        hint = ""
        if expected == _KEY and text.startswith("}", start):
            hint = "; JSON allows no comma before '}'"
        elif expected == _ITEM and text.startswith("]", start):
            hint = "; JSON allows no comma before ']'"
        elif word.startswith(("#", "//", "/*")):
            hint = "; JSON allows no comments"
        elif word.startswith("'"):
            hint = "; JSON needs double quotes"
        elif re.fullmatch(r"-?0[0-9]+.*", word):
            hint = "; a number must not begin with a needless 0"
        elif word.lstrip("+-").lower() in ("nan", "inf", "infinity"):
            hint = "; a number must be finite"
        elif word.lower() in ("true", "false", "null", "none"):
            hint = "; JSON knows only true, false and null"
        raise UnreadableError(f"found {found}; expected {expected}{hint}", self.position(start))
