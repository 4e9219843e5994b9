"""The language of texts for people: a catalogue for each, with their numbers and money.

English texts stand in the code. Each other language is one file in gettext's format beside this
module, with the translations of all texts, the marks in numbers, and the names of months.
"""

from __future__ import annotations

import gettext
import io
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, wraps
from importlib.resources import files
from typing import Any, TypeVar, cast

from coreplan.errors import ModelError, nearest

_Function = TypeVar("_Function", bound=Callable[..., Any])

LANGUAGES: Mapping[str, str] = {"en": "English", "nl": "Nederlands", "de": "Deutsch"}
"""The known languages by their codes, with their own names."""
DEFAULT_LANGUAGE = "en"

SYMBOLS: Mapping[str, str] = {"EUR": "€", "GBP": "£", "USD": "$"}
"""The signs of currencies; other currencies are written with their codes."""

NUMBER = "number"
"""The context of marks in numbers: they are messages of the catalogue, too."""


@dataclass(frozen=True)
class Speech:
    """The language and currency in which texts are written at present.

    Attributes
    ----------
    language
        The code of a language in :data:`LANGUAGES`.
    currency
        The code of a currency, for instance ``EUR``; None to write amounts without one.
    """

    language: str = DEFAULT_LANGUAGE
    currency: str | None = None


_ENGLISH = Speech()
_speech: ContextVar[Speech] = ContextVar("speech", default=_ENGLISH)


def current_speech() -> Speech:
    """The language and currency in which texts are written at present."""
    return _speech.get()


@contextmanager
def speaking(language: str | None = None, currency: str | None = None) -> Iterator[Speech]:
    r"""Write all texts for people in a language, and amounts in a currency, within a `with`.

    Parameters
    ----------
    language
        ``en``, ``nl`` or ``de``; None to keep the present one.
    currency
        A code of three letters, such as ``EUR``; None to keep the present one.

    Raises
    ------
    ModelError
        If the language is not known, or the currency is not a code.

    Examples
    --------
    >>> with speaking("nl", "EUR"):
    ...     number_text(1234.5, ",.2f"), money_text("1,234.50")
    ('1.234,50', '€\xa01.234,50')
    """
    before = current_speech()
    now = Speech(
        before.language if language is None else check_language(language),
        before.currency if currency is None else check_currency(currency),
    )
    token = _speech.set(now)
    try:
        yield now
    finally:
        _speech.reset(token)


def check_language(code: str) -> str:
    """The code of a known language, whose letters may be large; else an error."""
    known = code.strip().casefold()
    if known not in LANGUAGES:
        names = ", ".join(f"{each} ({name})" for each, name in LANGUAGES.items())
        hint = nearest(known, LANGUAGES)
        raise ModelError(f"{code!r} is no known language{hint}; choose one of {names}")
    return known


def check_currency(code: str) -> str:
    """The code of a currency in large letters; an error if it is no code."""
    known = code.strip().upper()
    if not (len(known) == 3 and known.isascii() and known.isalpha()):
        raise ModelError(f"{code!r} is no code of a currency; use one such as EUR, GBP or CHF")
    return known


def in_english(function: _Function) -> _Function:
    """Decorate a function that makes parts of error messages, which are English in any language."""

    @wraps(function)
    def wrapped(*given: Any, **named: Any) -> Any:
        with speaking(DEFAULT_LANGUAGE):
            return function(*given, **named)

    return cast(_Function, wrapped)


# -- texts -----------------------------------------------------------------------------------------


def say(message: str, /, *, context: str | None = None, **values: object) -> str:
    """A text for people in the present language, with values for the names in braces.

    Numbers are written as people write them there. The message must be a literal, so that the
    catalogues can be checked; see :func:`marked`.

    Parameters
    ----------
    message
        The English text.
    context
        What the text is about, if its words mean different things in different places.

    Examples
    --------
    >>> say("{count:,} of {all:,} works", count=3, all=1200)
    '3 of 1,200 works'
    """
    return _filled(_translated(message, context), values)


def say_count(number: int, one: str, many: str, /, **values: object) -> str:
    """The same for a text that depends on a number, which it may name ``{number:,}``.

    Examples
    --------
    >>> say_count(1, "{number:,} work", "{number:,} works")
    '1 work'
    """
    catalogue = _present_catalogue()
    if catalogue is None:
        text = one if number == 1 else many
    else:
        text = catalogue.ngettext(one, many, number)
    return _filled(text, {"number": number} | values)


def marked(message: str, /, *, context: str | None = None) -> str:
    """Mark a text for the catalogues where it is not written yet: ``say(...)`` does so later."""
    return message


def say_marked(message: str, /, *, context: str | None = None, **values: object) -> str:
    """What :func:`say` does, for a text that has been :func:`marked` elsewhere."""
    return _filled(_translated(message, context), values)


def say_noun(number: int, one: str, many: str, /) -> str:
    """A number with a noun; the nouns of a domain may be missing in the catalogues."""
    return say_count(number, f"{{number:,}} {one}", f"{{number:,}} {many}")


def translations(messages: Sequence[str]) -> dict[str, str]:
    """The translations of texts, for scripts of pages; those of English are left out."""
    catalogue = _present_catalogue()
    if catalogue is None:
        return {}
    return {message: catalogue.gettext(message) for message in messages}


def plural_translations(pairs: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """The translations of texts for one and for several, by the text for one."""
    catalogue = _present_catalogue()
    if catalogue is None:
        return {}
    return {
        one: [catalogue.ngettext(one, many, 1), catalogue.ngettext(one, many, 2)]
        for one, many in pairs
    }


def _translated(message: str, context: str | None) -> str:
    catalogue = _present_catalogue()
    if catalogue is None:
        return message
    return catalogue.gettext(message) if context is None else catalogue.pgettext(context, message)


def _present_catalogue() -> gettext.GNUTranslations | None:
    language = current_speech().language
    return None if language == DEFAULT_LANGUAGE else _catalogue(language)


@cache
def _catalogue(language: str) -> gettext.GNUTranslations:
    import polib  # only for other languages: English needs no catalogue

    text = (files(__package__) / f"{language}.po").read_text(encoding="utf-8")
    return gettext.GNUTranslations(io.BytesIO(polib.pofile(text).to_binary()))


def _filled(text: str, values: Mapping[str, object]) -> str:
    if not values and "{" not in text:
        return text
    return _FILLER.vformat(text, (), values)


class _Filler(string.Formatter):
    """Fills in values, and writes numbers in the present language."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return number_text(value, format_spec)
        return format(value, format_spec)


_FILLER = _Filler()


# -- numbers and money -----------------------------------------------------------------------------


def number_text(value: Any, spec: str = "") -> str:
    """Write a number in a Python format, with the marks of the present language.

    Examples
    --------
    >>> number_text(1234.5, ",.1f")
    '1,234.5'
    """
    return local_number(format(value, spec))


def local_number(text: str) -> str:
    """The marks of the present language in a number that is written in English."""
    catalogue = _present_catalogue()
    if catalogue is None:
        return text
    point, comma = (catalogue.pgettext(NUMBER, mark) for mark in ".,")
    return text.translate({ord("."): point, ord(","): comma})


def money_text(number: str) -> str:
    """An amount in the present language and currency, from its number in English.

    Examples
    --------
    >>> money_text("-1,234.50")
    '-1,234.50'
    """
    before, after = around_money(negative=number.startswith("-"))
    return f"{before}{local_number(number.removeprefix('-'))}{after}"


def around_money(*, negative: bool = False) -> tuple[str, str]:
    """What stands before and after amounts in the present language and currency."""
    currency = current_speech().currency
    if currency is None:
        return ("-" if negative else ""), ""
    sign = SYMBOLS.get(currency)
    mark = "#"
    # A sign may stand directly before the number, a code may not.
    if sign is None and negative:
        pattern = say("-{currency}\xa0{amount}", context=NUMBER, currency=currency, amount=mark)
    elif sign is None:
        pattern = say("{currency}\xa0{amount}", context=NUMBER, currency=currency, amount=mark)
    elif negative:
        pattern = say("-{currency}{amount}", context=NUMBER, currency=sign, amount=mark)
    else:
        pattern = say("{currency}{amount}", context=NUMBER, currency=sign, amount=mark)
    before, _, after = pattern.partition(mark)
    return before, after
