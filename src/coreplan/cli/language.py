"""The language and currency of a command's output."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import click

from coreplan.errors import ModelError
from coreplan.support.language import (
    DEFAULT_LANGUAGE,
    LANGUAGES,
    Speech,
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
            variable = "" if param is None or ctx is None else _variable_of(param, ctx)
            self.fail(f"{error}{variable}", param, ctx)


def _variable_of(param: click.Parameter, ctx: click.Context) -> str:
    """The variable of the environment that gave a value, for messages."""
    source = ctx.get_parameter_source(param.name or "")
    if source is not click.core.ParameterSource.ENVIRONMENT:
        return ""
    return f" (found in the environment, {param.envvar})"


_LANGUAGE, _CURRENCY = "coreplan.language", "coreplan.currency"
"""Where the context of a command keeps the language and the currency."""


def _keep_language(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    ctx.meta[_LANGUAGE] = value


def _keep_currency(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    ctx.meta[_CURRENCY] = value


def speaking_as_asked(ctx: click.Context) -> AbstractContextManager[Speech]:
    """Write all texts in the language and currency that the user asked for, within a `with`."""
    return speaking(ctx.meta.get(_LANGUAGE), ctx.meta.get(_CURRENCY))


_LANGUAGES = ", ".join(f"{code} ({name})" for code, name in LANGUAGES.items())


def language_options(command: AnyCallable) -> AnyCallable:
    """Add --language and --currency, for all texts that the command writes for people."""
    command = click.option(
        "--currency",
        type=_Code("CODE", check_currency),
        callback=_keep_currency,
        expose_value=False,
        envvar="COREPLAN_CURRENCY",
        metavar="CODE",
        help="Write amounts in this currency, for instance EUR (default: COREPLAN_CURRENCY, or "
        "none).",
    )(command)
    return click.option(
        "--language",
        type=_Code("CODE", check_language),
        callback=_keep_language,
        expose_value=False,
        envvar="COREPLAN_LANGUAGE",
        metavar="CODE",
        help=f"The language of texts, numbers and dates: {_LANGUAGES} (default: "
        f"COREPLAN_LANGUAGE, or {DEFAULT_LANGUAGE}). Keys of --json stay the same.",
    )(command)
