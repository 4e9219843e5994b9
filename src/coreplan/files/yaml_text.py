"""Builds a tree from YAML by the core rules of YAML 1.2, without tags."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, cast

import yaml

from coreplan.errors import PlaceStep, shorten
from coreplan.files.document import (
    DEEPEST,
    Node,
    ProblemLog,
    UnreadableError,
    as_written,
    found_at,
    position_of,
    read_number,
)

LEAST_EXPANSION = 20_000
"""The number of nodes to which aliases may always expand, even in a short file."""

_LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# Forbidden in addition to the rules of YAML: a byte order mark inside the text, which editors do
# not show, and line breaks of YAML 1.1 only, which could end a comment invisibly.
_FORBIDDEN = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_TRUE = frozenset(("true", "True", "TRUE"))
_FALSE = frozenset(("false", "False", "FALSE"))
_NUMBER = re.compile(
    r"[-+]?(?:\.[0-9]++|[0-9]++(?:\.[0-9]*+)?)(?:[eE][-+]?[0-9]++)?"
    r"|0o[0-7]++|0x[0-9a-fA-F]++|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_SPACE = r"[ \t\r\n]++|#[^\r\n]*+"
_BLANK = re.compile(f"(?:{_SPACE})*+")
_BLANK_OR_END = re.compile(rf"(?:{_SPACE}|\.\.\.(?![^ \t\r\n]))*+")
_VERSION = re.compile(r"%YAML[ \t]+1\.2[ \t]*(?:[ \t]#[^\r\n]*)?(?=[\r\n]|\Z)")
_PROPERTIES = re.compile(rf"(?:&[^ \t\r\n]++|![^ \t\r\n]*+|{_SPACE})*+")
_HALF_CHARACTER = re.compile(r"[\ud800-\udfff]")

# Fragments of the parsers' own messages, and the messages that replace them. If the last part is
# true, the mistake began at an earlier position, which the message then names.
_SAID: tuple[tuple[str, str, bool], ...] = (
    ("expected ':'", "expected ':' after this name", True),
    ("mapping values are not", "found ':' where no value can begin; check the indentation, and "
     "put a text that contains ': ' in quotes", False),
    ("entries are not", "found '-' where no list item can begin; put it on a line of its own, "
     "or put the text in quotes", False),
    ("mapping keys are not", "found '?' where no name can begin; put the text in quotes", False),
    ("tab character", "found a tab; indent with spaces", False),
    ("start any token", "found {found}, but no value can begin with it; put the text in quotes",
     False),
    ("unexpected end of stream", "this quoted text is not closed; expected a closing quote", True),
    ("unexpected document", "this quoted text is not closed before line {line}, which "
     "separates documents", True),
    ("unknown escape", "found an escape that YAML does not have; write \\\\ for a backslash, or "
     "put the text in single quotes", False),
    ("hexdecimal", "found {found}; expected hexadecimal digits in this escape", False),
    ("hexadecimal", "found {found}; expected hexadecimal digits in this escape", False),
    ("escape code", "this escape names no character", False),
    ("alphabetic or numeric", "found {found}; expected a name of letters and digits after '&' or "
     "'*'; put the text in quotes if no anchor or alias is meant", False),
    ("indentation indicator", "found {found} after '|' or '>'; expected the end of the line",
     False),
    ("line break", "found {found}; expected the end of the line", False),
    ("document start", "found {found}; expected a line '---' after '%YAML'", False),
    ("',' or ']'", "found {found}; expected ',' or ']' in the list that begins on line {start}",
     False),
    ("',' or '}'", "found {found}; expected ',' or '}}' in the mapping that begins on line "
     "{start}", False),
    ("node content", "found {found}; expected a value", False),
    ("expected key", "found {found}; expected a name and ':', indented as in the mapping that "
     "begins on line {start}", False),
    ("'-' indicator", "found {found}; expected '-', indented as in the list that begins on line "
     "{start}", False),
    ("block end", "found {found}; expected the indentation of the part that begins on line "
     "{start}", False),
)  # fmt: skip


def parse_yaml(text: str, log: ProblemLog) -> Node:
    """Read a YAML text into a tree.

    Parameters
    ----------
    text
        The text, without a byte order mark, control characters or lone surrogates.
    log
        Receives the problems after which reading continues.

    Raises
    ------
    UnreadableError
        At the first syntax error, an alias without an anchor or with too much content, or nesting
        that is too deep.
    """
    bad = _FORBIDDEN.search(text)
    if bad:
        raise UnreadableError(
            f"found the character U+{ord(bad[0]):04X}, which YAML does not allow here; in a text "
            f"in double quotes it can be written \\u{ord(bad[0]):04x}",
            position_of(text, bad.start()),
        )
    _check_directives(text)
    builder = _Builder(text, log)
    parsed = cast("Generator[yaml.Event, None, None]", yaml.parse(text, Loader=_LOADER))
    try:
        with closing(parsed) as events:
            for event in events:
                if isinstance(event, yaml.DocumentEndEvent):
                    # The rest is checked here, so that no second document is ever parsed.
                    _check_tail(text, event, log)
                    break
                builder.take(event)
    except yaml.YAMLError as error:
        raise _in_plain_words(text, error) from None
    except (ValueError, OverflowError):
        # The parser in pure Python does not check the character of the escape \U.
        raise UnreadableError("an escape \\U in a quoted text names no character", (1, 1)) from None
    if builder.root is None or (builder.root.value is None and not builder.root.text):
        raise UnreadableError("the document is empty; expected keys and values", (1, 1))
    return builder.root


@dataclass(slots=True)
class _Target:
    """The target of an alias; `size` is 0 until the target is complete."""

    node: Node
    size: int = 1
    height: int = 0


@dataclass(slots=True)
class _Open:
    """A list or mapping that is not complete yet."""

    node: Node
    target: _Target
    start: int
    nodes_before: int
    is_key: bool
    key: str | None = None
    height: int = 1


class _Builder:
    """Turns the events of one document into nodes, with its own stack."""

    def __init__(self, text: str, log: ProblemLog) -> None:
        self.text = text
        self.log = log
        self.root: Node | None = None
        self.open: list[_Open] = []
        self.anchors: dict[str, _Target] = {}
        # Aliases count each time they are used, because every reader of the tree walks them again.
        self.nodes = 0
        self.most_nodes = max(LEAST_EXPANSION, len(text))

    def take(self, event: Any) -> None:
        """Add the content of one event."""
        position = (event.start_mark.line + 1, event.start_mark.column + 1)
        if isinstance(event, yaml.ScalarEvent):
            self.scalar(event, position)
        elif isinstance(event, yaml.AliasEvent):
            self.alias(event, position)
        elif isinstance(event, yaml.CollectionStartEvent):
            self.begin(event, position)
        elif isinstance(event, yaml.CollectionEndEvent):
            self.end(event)

    def path(self) -> list[PlaceStep]:
        """The path of the next value; inside a key, the path of its mapping."""
        steps: list[PlaceStep] = []
        for part in self.open:
            if part.is_key:
                break
            if isinstance(part.node.value, list):
                steps.append(len(part.node.value))
            elif part.key is not None:
                steps.append(part.key)
        return steps

    def key_is_next(self) -> bool:
        """Whether the next node is the key of a mapping."""
        return bool(self.open) and self.open[-1].key is None and self.open[-1].node.is_mapping

    def scalar(self, event: Any, position: tuple[int, int]) -> None:
        start = self.skip_properties(event, position)
        written = as_written(self.text, start, event.end_mark.index).rstrip("\r\n")
        node = Node(*position, event.value, written)
        if not event.style:
            node.value, complaint = _resolve(event.value)
            if complaint and not self.key_is_next():
                self.log.add(self.path(), complaint, position)
        elif _HALF_CHARACTER.search(event.value):
            raise UnreadableError("an escape in this text names half of a character", position)
        if event.anchor is not None:
            self.anchors[event.anchor] = _Target(node)
        self.nodes += 1
        if self.key_is_next():
            self.take_key(node, event.value, position)
        else:
            self.attach(node)

    def alias(self, event: Any, position: tuple[int, int]) -> None:
        name = shorten(event.anchor)
        target = self.anchors.get(event.anchor)
        if target is None:
            message = f"the alias *{name} has no anchor &{name} before it"
            raise UnreadableError(message, position, self.path())
        if target.size == 0:
            message = f"the alias *{name} refers to a value that contains it"
            raise UnreadableError(message, position, self.path())
        if self.key_is_next():
            value = target.node.value
            key = value if isinstance(value, str) else target.node.text or f"*{name}"
            self.take_key(target.node, key, position)
            return
        self.nodes += target.size
        if self.nodes > self.most_nodes:
            message = (
                f"the aliases up to here expand to more than {self.most_nodes} values, too many"
            )
            raise UnreadableError(message, position, self.path())
        self.check_depth(target.height, position)
        self.attach(target.node, target.height)

    def begin(self, event: Any, position: tuple[int, int]) -> None:
        self.check_depth(1, position)
        start = self.skip_properties(event, position)
        node = Node(*position, [] if isinstance(event, yaml.SequenceStartEvent) else {})
        target = _Target(node, size=0)
        if event.anchor is not None:
            self.anchors[event.anchor] = target
        self.open.append(_Open(node, target, start, self.nodes, self.key_is_next()))
        self.nodes += 1

    def end(self, event: Any) -> None:
        done = self.open.pop()
        done.target.size = self.nodes - done.nodes_before
        done.target.height = done.height
        if done.is_key:
            written = as_written(self.text, done.start, event.end_mark.index).rstrip()
            self.take_key(done.node, written, (done.node.line, done.node.column))
        else:
            self.attach(done.node, done.height)

    def attach(self, node: Node, height: int = 0) -> None:
        """Put a complete value into the innermost open list or mapping."""
        if not self.open:
            self.root = node
            return
        around = self.open[-1]
        around.height = max(around.height, height + 1)
        inside = around.node.value
        if isinstance(inside, list):
            inside.append(node)
        elif isinstance(inside, dict) and around.key is not None:
            # The value of a repeated key is read for its own problems, but the first value stays.
            inside.setdefault(around.key, node)
            around.key = None

    def take_key(self, node: Node, key: str, position: tuple[int, int]) -> None:
        """Use a node as the next key of the innermost mapping."""
        around = self.open[-1]
        path = [*self.path(), key]
        around.key = key
        if not isinstance(node.value, str):
            self.log.add(path, _why_no_name(node, key), position)
        keys = around.node.keys
        if key in keys:
            message = f"the key {shorten(key)!r} is already on line {keys[key][0]}; remove one"
            self.log.add(path, message, position)
        else:
            keys[key] = position

    def skip_properties(self, event: Any, position: tuple[int, int]) -> int:
        """Refuse a tag, and find where the value itself begins after its anchor."""
        start: int = event.start_mark.index
        if event.tag is not None:
            message = "a tag (a word that begins with '!') is not allowed here; remove it"
            self.log.add(self.path(), message, position)
        if self.text.startswith(("&", "!"), start):
            properties = _PROPERTIES.match(self.text, start, event.end_mark.index)
            return properties.end() if properties else start
        return start

    def check_depth(self, height: int, position: tuple[int, int]) -> None:
        """Refuse nesting that is too deep, including nesting through an alias."""
        if len(self.open) + height > DEEPEST:
            raise UnreadableError(f"lists and mappings are nested deeper than {DEEPEST}", position)


def _resolve(text: str) -> tuple[str | bool | int | float | None, str]:
    """Read a scalar without quotes, and report a mistake in a number."""
    if text in _NULLS:
        return None, ""
    if text in _TRUE:
        return True, ""
    if text in _FALSE:
        return False, ""
    if text[0] in "+-.0123456789" and _NUMBER.fullmatch(text):
        return read_number(text)
    return text, ""


def _why_no_name(node: Node, key: str) -> str:
    value = node.value
    if isinstance(value, dict | list):
        return f"found {node.kind} as a name; expected a text (put it in quotes if it is one)"
    if value is None and not key:
        return "the name before ':' is missing"
    kind = "a boolean" if isinstance(value, bool) else "null" if value is None else "a number"
    return f"the name {shorten(key)} reads as {kind}; put it in quotes"


def _check_directives(text: str) -> None:
    """Refuse lines before the document that would change its meaning."""
    at = _end_of(_BLANK, text, 0)
    seen = False
    while text.startswith("%", at) and text[at - 1 : at] in "\r\n":
        version = _VERSION.match(text, at)
        if version is None or seen:
            raise UnreadableError(
                "found a line that begins with '%'; only one '%YAML 1.2' is allowed",
                position_of(text, at),
            )
        seen = True
        at = _end_of(_BLANK, text, version.end())


def _check_tail(text: str, end: Any, log: ProblemLog) -> None:
    """Refuse anything but blanks and comments after the document."""
    at = _end_of(_BLANK_OR_END, text, end.end_mark.index)
    if at == len(text):
        return
    position = position_of(text, at)
    if text.startswith("---", at) and position[1] == 1:
        log.add((), "a second document begins here; a file holds only one", position)
    else:
        message = f"found {found_at(text, at)} after the end of the document; expected nothing"
        raise UnreadableError(message, position)


def _end_of(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return found.end() if found else start


def _in_plain_words(text: str, error: yaml.YAMLError) -> UnreadableError:
    """Translate the message of a parser into plain words."""
    said = str(getattr(error, "problem", ""))
    mark = getattr(error, "problem_mark", None)
    context = getattr(error, "context_mark", None) or mark
    if mark is None or context is None:
        return UnreadableError("this is not YAML", (1, 1))
    # The lines of the marks are not used: at the end of the file they can be one too large.
    index = min(mark.index, len(text))
    begun = position_of(text, min(context.index, len(text)))
    place = position_of(text, index)
    about = f"{getattr(error, 'context', '')} {said}"
    if "tag" in about or "directive" in about:
        return UnreadableError("a tag (a word that begins with '!') is not allowed here", place)
    if text.startswith("\t", index) and "start any token" in said:
        said = "tab character"
    for fragment, sentence, at_begin in _SAID:
        if fragment in said:
            message = sentence.format(found=found_at(text, index), start=begun[0], line=place[0])
            return UnreadableError(message, begun if at_begin else place)
    return UnreadableError(f"found {found_at(text, index)}, which is not YAML at this place", place)
