"""The catalogues of languages, and how texts, numbers and amounts are written in each."""

import datetime
import math
import re
import subprocess
import sys
from pathlib import Path

import polib
import pytest
from babel.dates import get_month_names
from babel.numbers import format_currency, format_decimal
from hypothesis import given
from hypothesis import strategies as st

import coreplan
from coreplan.errors import ModelError
from coreplan.model.dates import parse_date, write_date
from coreplan.support.cents import amount_text
from coreplan.support.language import (
    DEFAULT_LANGUAGE,
    LANGUAGES,
    current_speech,
    marked,
    number_text,
    say,
    say_count,
    say_marked,
    say_noun,
    speaking,
)
from coreplan.support.language.scripts import hidden_calls, script_messages, script_plurals

ROOT = Path(__file__).parents[1]
OTHERS = [code for code in LANGUAGES if code != DEFAULT_LANGUAGE]
CURRENCIES = ["EUR", "GBP", "CHF", "SEK"]


def write_catalogues(*options: str) -> subprocess.CompletedProcess[str]:
    """Run the tool that keeps the catalogues."""
    return subprocess.run(
        [sys.executable, ROOT / "tools" / "write_catalogues.py", *options],
        capture_output=True,
        text=True,
    )


def test_the_catalogues_have_every_text_and_translate_it() -> None:
    """Every text in the code has a translation with the same names in braces."""
    done = write_catalogues("--check")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("language", OTHERS)
def test_no_text_is_left_in_english(language: str) -> None:
    """A translation that equals a long English text has been forgotten."""
    folder = ROOT / "src" / "coreplan" / "support" / "language"
    for entry in polib.pofile(str(folder / f"{language}.po")):
        if len(entry.msgid.split()) >= 4:
            texts = [entry.msgstr, *entry.msgstr_plural.values()]
            assert entry.msgid not in texts, entry.msgid


def test_english_needs_no_catalogue() -> None:
    """English texts are those of the code, with English numbers."""
    assert say("{count:,} of {all:,} works", count=3, all=1200) == "3 of 1,200 works"
    assert say_count(1, "{number:,} work", "{number:,} works") == "1 work"
    assert say_noun(2000, "truck", "trucks") == "2,000 trucks"


def test_numbers_within_texts_follow_the_language() -> None:
    """Counts, shares and plain numbers have the marks of the language."""
    with speaking("nl"):
        assert say_noun(1200, "work", "works") == "1.200 werken"
        assert say("{share:.3g} % left", share=2.5) == "nog 2,5%"
        assert say_count(1, "{number:,} week", "{number:,} weeks") == "1 week"
        assert number_text(1234.5, ",.1f") == "1.234,5"
    with speaking("de"):
        assert say_noun(2, "work", "works") == "2 Maßnahmen"


def test_a_text_that_no_catalogue_has_stays_english() -> None:
    """The words of a stranger's domain are written as they are."""
    with speaking("nl"):
        assert say_noun(2, "truck", "trucks") == "2 trucks"


def test_a_marked_text_is_written_in_the_language_of_its_writing() -> None:
    """Constants can hold texts before the language is known."""
    stopped = marked("Stopped.")
    with speaking("de"):
        assert say_marked(stopped) == "Gestoppt."
    assert say_marked(stopped) == "Stopped."


def test_a_language_ends_with_its_block_also_after_an_error() -> None:
    """Languages nest, keep what is not given, and never leak."""
    with speaking("nl", "EUR"):
        with speaking("de"):
            assert (current_speech().language, current_speech().currency) == ("de", "EUR")
        with pytest.raises(ZeroDivisionError), speaking("en", "USD"):
            _ = 1 / 0
        assert amount_text(5) == "€\xa05,00"
    assert amount_text(5) == "5.00"


@pytest.mark.parametrize("code", ["", "xx", "dutch", "nl\n\x1b[31m"])
def test_an_unknown_language_is_an_error_that_names_the_known_ones(code: str) -> None:
    """Users see which languages there are."""
    with pytest.raises(ModelError, match="nl \\(Nederlands\\)"), speaking(code):
        pass


@pytest.mark.parametrize("code", ["", "euro", "€", "E1R", "ÄÖÜ"])
def test_a_currency_that_is_no_code_is_an_error(code: str) -> None:
    """Signs and names are no codes."""
    with pytest.raises(ModelError, match="EUR"), speaking(currency=code):
        pass


def test_codes_may_have_other_letters() -> None:
    """Spaces and small letters do not matter."""
    with speaking(" NL ", "eur") as speech:
        assert (speech.language, speech.currency) == ("nl", "EUR")


def test_the_root_offers_languages() -> None:
    """The package itself has the function."""
    with coreplan.speaking("nl", "EUR"):
        assert amount_text(-1) == "€\xa0-1,00"


# -- as the common locale data says ----------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
@given(number=st.floats(-1e9, 1e9).map(lambda x: round(x, 2)))
def test_numbers_have_the_marks_of_the_locale(language: str, number: float) -> None:
    """Points and commas are those of the common locale data."""
    with speaking(language):
        assert number_text(number + 0.0, ",.2f").lstrip("-") == format_decimal(
            abs(number), "#,##0.00", locale=language
        )


@pytest.mark.parametrize("currency", CURRENCIES)
@pytest.mark.parametrize("language", LANGUAGES)
@given(cents=st.integers(-(10**11), 10**11))
def test_amounts_are_written_as_in_the_locale(language: str, currency: str, cents: int) -> None:
    """So are the places of signs and currencies."""
    expected = format_currency(cents / 100, currency, locale=language)
    # The locale data asks for a space between letters and digits, which Babel leaves to others.
    expected = re.sub(r"([A-Z]{3})(?=\d)", "\\1\N{NO-BREAK SPACE}", expected)
    with speaking(language, currency):
        assert amount_text(cents / 100) == expected


@pytest.mark.parametrize("language", LANGUAGES)
def test_months_are_those_of_the_locale(language: str) -> None:
    """So are the short names of months."""
    names = get_month_names("abbreviated", locale=language)
    with speaking(language):
        for month in range(1, 13):
            text = write_date(datetime.date(2026, month, 9))
            assert text.split()[1] == names[month]


@pytest.mark.parametrize("language", LANGUAGES)
@given(day=st.dates(datetime.date(1900, 1, 1), datetime.date(2999, 12, 31)))
def test_dates_that_are_written_can_be_read(language: str, day: datetime.date) -> None:
    """People copy dates from a plan into a list."""
    with speaking(language):
        assert parse_date(write_date(day)) == day


@pytest.mark.parametrize("language", LANGUAGES)
def test_amounts_without_exact_cents_are_written_too(language: str) -> None:
    """Infinite and very large amounts have a text."""
    with speaking(language, "EUR"):
        assert "inf" in amount_text(math.inf)
        assert "€" in amount_text(1e300)


# -- scripts ---------------------------------------------------------------------------------------


def test_texts_of_scripts_are_found() -> None:
    """Joined texts, elements and plurals count, too."""
    script = """
      say("one");
      const x = say("two " +
        "lines", { a: f(b) });
      sayNodes("with {node}", { node: [y] });
      sayCount(list.length, "{number} work", "{number} works");
      sayCount(Math.abs(shift), "{number} week later", "{number} weeks later", {});
    """
    assert script_messages(script) == ["one", "two lines", "with {node}"]
    assert script_plurals(script) == [
        ("{number} work", "{number} works"),
        ("{number} week later", "{number} weeks later"),
    ]
    assert hidden_calls(script) == 0


@pytest.mark.parametrize("call", ["say(text)", "say(`a ${b}`)", "sayCount(n, one, many)"])
def test_texts_that_no_catalogue_can_have_are_noticed(call: str) -> None:
    """A computed text would stay English without a word."""
    assert hidden_calls(f"const x = {call};") == 1
