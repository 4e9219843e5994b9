"""The texts for people in scripts and templates of pages."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable

from coreplan.support.language import plural_translations, say_marked, translations

_STRING = r'"(?:[^"\\]|\\.)*"'
_TEXT = rf"{_STRING}(?:\s*\+\s*{_STRING})*"
_SAY = re.compile(rf"\bsay(?:Nodes)?\(\s*({_TEXT})")
# The number before the texts has brackets of at most one level.
_COUNT = re.compile(rf"\bsayCount\((?:[^(),\"]|\([^()]*\))+,\s*({_TEXT})\s*,\s*({_TEXT})")
_CALLS = re.compile(r"\bsay(?:Nodes|Count)?\((?!\s*(?:message|number|one)\b)")
_MARK = re.compile(r"\[\[(.*?)\]\]", re.DOTALL)


def script_messages(script: str) -> list[str]:
    """The texts of all ``say("…")`` and ``sayNodes("…")`` in a script.

    Examples
    --------
    >>> script_messages('say("on " + "time"); say("late by {steps}", { steps });')
    ['on time', 'late by {steps}']
    """
    return [_joined(match[1]) for match in _SAY.finditer(script)]


def script_plurals(script: str) -> list[tuple[str, str]]:
    """The texts of all ``sayCount(number, "one", "many")`` in a script."""
    return [(_joined(match[1]), _joined(match[2])) for match in _COUNT.finditer(script)]


def hidden_calls(script: str) -> int:
    """How many calls in a script have texts that are not literals, which no catalogue can have."""
    calls = len(_CALLS.findall(script))
    return calls - len(script_messages(script)) - len(script_plurals(script))


def template_messages(template: str) -> list[str]:
    """The texts in double square brackets of a template.

    Examples
    --------
    >>> template_messages("<h2>[[The plan]]</h2>")
    ['The plan']
    """
    return [_one_line(match[1]) for match in _MARK.finditer(template)]


def fill_template(template: str) -> str:
    """A template with its texts in the present language."""
    return _MARK.sub(lambda match: html.escape(say_marked(_one_line(match[1]))), template)


def page_catalogue(scripts: Iterable[str]) -> dict[str, object]:
    """The translations that the scripts of a page need; without any for English."""
    script = "\n".join(scripts)
    return {
        "messages": translations(script_messages(script)),
        "plurals": plural_translations(script_plurals(script)),
    }


def _joined(literals: str) -> str:
    return "".join(json.loads(each) for each in re.findall(_STRING, literals))


def _one_line(text: str) -> str:
    return " ".join(text.split())
