"""The language and currency of a command's output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from coreplan.errors import ModelError
from coreplan.support.language import (
    DEFAULT_LANGUAGE,
    LANGUAGES,
    check_currency,
    check_language,
    speaking,
)

AnyCallable = TypeVar("AnyCallable", bound=Callable[..., Any])


class _Code(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """The code of a language or a currency."""

    def __init__(self, name: str, check: Callable[[str], str]) -> None:
        self.name = name
        self._check = check

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check a code."""
        try:
            return self._check(str(value))
        except ModelError as error:
            self.fail(str(error), param, ctx)


def _speak_language(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.with_resource(speaking(value))


def _speak_currency(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.with_resource(speaking(currency=value))


_LANGUAGES = ", ".join(f"{code} ({name})" for code, name in LANGUAGES.items())


def language_options(command: AnyCallable) -> AnyCallable:
    """Add --language and --currency, for all texts that the command writes for people."""
    command = click.option(
        "--currency",
        type=_Code("CODE", check_currency),
        callback=_speak_currency,
        expose_value=False,
        envvar="COREPLAN_CURRENCY",
        metavar="CODE",
        help="Write amounts in this currency, for instance EUR (default: COREPLAN_CURRENCY, or "
        "none).",
    )(command)
    return click.option(
        "--language",
        type=_Code("CODE", check_language),
        callback=_speak_language,
        expose_value=False,
        is_eager=True,
        envvar="COREPLAN_LANGUAGE",
        metavar="CODE",
        help=f"The language of texts, numbers and dates: {_LANGUAGES} (default: "
        f"COREPLAN_LANGUAGE, or {DEFAULT_LANGUAGE}). Keys of --json stay the same.",
    )(command)
