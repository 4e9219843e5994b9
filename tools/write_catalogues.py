"""Bring the catalogues of translations up to date with the texts in the code.

python tools/write_catalogues.py          # add new texts (to be translated), drop old ones
python tools/write_catalogues.py --check  # only say what is missing
"""

from __future__ import annotations

import argparse
import ast
import string
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polib

from coreplan.support.language import DEFAULT_LANGUAGE, LANGUAGES, NUMBER
from coreplan.support.language.scripts import (
    hidden_calls,
    script_messages,
    script_plurals,
    template_messages,
)

SOURCE = Path(__file__).parent.parent / "src" / "coreplan"
FOLDER = SOURCE / "support" / "language"
ONE = {"say", "marked"}
"""Functions whose first argument is a text."""
SEVERAL = {"say_count": 0, "say_noun": 1, "count": 1}
"""Functions with a number and one or two texts; whether these are nouns."""


@dataclass(frozen=True)
class Message:
    """A text for people.

    Attributes
    ----------
    text
        The English text, for one if there is a text for several.
    context
        What the text is about, if its words alone do not say it.
    many
        The English text for several.
    """

    text: str
    context: str | None = None
    many: str | None = None

    @property
    def key(self) -> tuple[str | None, str]:
        """What a catalogue looks the text up by."""
        return self.context, self.text


class NoLiteralError(Exception):
    """A text that is computed: no catalogue can have it."""


def collect(source: Path = SOURCE) -> dict[tuple[str | None, str], tuple[Message, str]]:
    """All texts in the code, each with the first file that has it."""
    found: dict[tuple[str | None, str], tuple[Message, str]] = {}
    for mark in (".", ","):
        found[NUMBER, mark] = (Message(mark, NUMBER), "numbers")
    for path in sorted(source.rglob("*")):
        if FOLDER in path.parents and path.name != "__init__.py":
            continue
        if SOURCE / "bench" in path.parents:
            continue  # for researchers: English
        name = path.relative_to(source).as_posix()
        for message in _messages(path):
            before, _ = found.setdefault(message.key, (message, name))
            if before.many is None and message.many is not None:
                found[message.key] = (message, name)
            elif message.many is not None and before.many != message.many:
                raise NoLiteralError(f"{name}: {message.text!r} has two texts for several")
    return found


def _messages(path: Path) -> Iterator[Message]:
    if path.suffix == ".py":
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call):
                yield from _of_call(node, path)
    elif path.suffix == ".js":
        script = path.read_text(encoding="utf-8")
        if hidden_calls(script):
            raise NoLiteralError(f"{path.name}: a text given to say() is no literal")
        yield from map(Message, script_messages(script))
        for one, many in script_plurals(script):
            yield Message(one, None, many)
    elif path.suffix == ".html":
        yield from map(Message, template_messages(path.read_text(encoding="utf-8")))


def _of_call(node: ast.Call, path: Path) -> Iterator[Message]:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    context = next((_literal(k.value) for k in node.keywords if k.arg == "context"), None)
    here = f"{path.relative_to(SOURCE)}:{node.lineno}"
    if path.parent == FOLDER and name not in ONE:
        return  # the functions themselves
    if name in ONE:
        text = _literal(node.args[0])
        if text is None:
            if isinstance(node.args[0], ast.IfExp):
                for each in (node.args[0].body, node.args[0].orelse):
                    yield Message(_needed(each, here), context)
                return
            raise NoLiteralError(f"{here}: the text given to {name}() is no literal")
        if any(k.arg == "context" for k in node.keywords) and context is None:
            context = NUMBER if path.parent == FOLDER else None
        yield Message(text, context)
    elif name in SEVERAL and len(node.args) >= 2:
        texts = [_literal(each) for each in node.args[1:3]]
        if SEVERAL[name] == 0:
            one, many = (_needed(each, here) for each in node.args[1:3])
            yield Message(one, None, many)
        elif None not in texts:  # else a noun of any domain
            one = str(texts[0])
            many = str(texts[1]) if len(texts) > 1 else f"{one}s"
            yield Message(f"{{number:,}} {one}", None, f"{{number:,}} {many}")


def _literal(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _needed(node: ast.expr, here: str) -> str:
    text = _literal(node)
    if text is None:
        raise NoLiteralError(f"{here}: the text is no literal")
    return text


def names_in(text: str) -> set[str]:
    """The names in braces of a text."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def update(language: str) -> polib.POFile:
    """The catalogue of a language, with exactly the texts that the code has."""
    path = FOLDER / f"{language}.po"
    old = polib.pofile(str(path))
    known = {(entry.msgctxt, entry.msgid): entry for entry in old}
    new = polib.POFile(wrapwidth=98)
    new.metadata = old.metadata
    new.header = old.header
    for message, place in collect().values():
        entry = polib.POEntry(
            msgid=message.text, msgctxt=message.context, occurrences=[(place, "")]
        )
        before = known.get((message.context, message.text))
        if message.many is not None:
            entry.msgid_plural = message.many
            entry.msgstr_plural = {0: "", 1: ""}
            if before is not None and before.msgid_plural == message.many:
                entry.msgstr_plural = before.msgstr_plural
        elif before is not None and not before.msgid_plural:
            entry.msgstr = before.msgstr
        if before is not None:
            entry.tcomment = before.tcomment
        new.append(entry)
    return new


def faults(catalogue: polib.POFile) -> Iterator[str]:
    """What is wrong with the translations of a catalogue."""
    for entry in catalogue:
        plural = entry.msgid_plural
        texts = list(entry.msgstr_plural.values()) if plural else [entry.msgstr]
        names = names_in(entry.msgid) | (names_in(plural) if plural else set())
        for text in texts:
            if not text:
                yield f"{entry.msgid!r} is not translated"
            elif names_in(text) - names or (names - names_in(text) and not plural):
                yield f"{text!r} has not the names in braces of {entry.msgid!r}"
            if text and (text[:1].isspace(), text[-1:].isspace()) != (
                entry.msgid[:1].isspace(),
                entry.msgid[-1:].isspace(),
            ):
                yield f"{text!r} begins or ends with a space, {entry.msgid!r} does not (or reverse)"


def main() -> int:
    """Update or check the catalogues of all languages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    wrong = 0
    for language in LANGUAGES:
        if language == DEFAULT_LANGUAGE:
            continue
        catalogue = update(language)
        path = FOLDER / f"{language}.po"
        if check:
            if str(catalogue) != str(polib.pofile(str(path), wrapwidth=98)):
                print(f"{path.name}: not up to date; run tools/write_catalogues.py")
                wrong += 1
        else:
            catalogue.save(str(path))
        for fault in faults(catalogue):
            print(f"{path.name}: {fault}")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
