"""Options of algorithms as options of commands: names, types, help and defaults of the fields."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Any, TypeVar

import click

from coreplan.solving.crg import ASSIGNMENTS, Assignment
from coreplan.solving.option_fields import (
    LARGEST_SEED,
    Amount,
    Choice,
    Count,
    Flag,
    Gap,
    Option,
    Seed,
    Text,
    options_in,
)
from coreplan.solving.options import OWN_OPTIONS, Assigning, OwnAlgorithm

Answer = TypeVar("Answer")
Command = TypeVar("Command", bound=Callable[..., Any])


def solver_options(
    *algorithms: OwnAlgorithm, only: Collection[str] | None = None
) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    """Let a command take options of algorithms; it gets the given ones as ``asked``.

    Options that were not given are left out: an algorithm refuses options that it does not have.

    Parameters
    ----------
    algorithms
        Algorithms whose options to offer; by default all.
    only
        Names of the options to offer; by default all options for the command line.
    """
    offered = offered_options(algorithms, only)

    def add(command: Callable[..., Answer]) -> Callable[..., Answer]:
        @wraps(command)
        def collect(**parameters: Any) -> Answer:
            given = {name: parameters.pop(name) for name in offered}
            asked = {name: value for name, value in given.items() if value is not None}
            return command(asked=asked, **parameters)

        taking = collect
        for option, owners in reversed(list(offered.values())):
            few = len(owners) < len(algorithms or OWN_OPTIONS)
            taking = _make(option, owners if few else [])(taking)
        return taking

    return add


def offered_options(
    algorithms: Collection[OwnAlgorithm] = (), only: Collection[str] | None = None
) -> Mapping[str, tuple[Option, list[str]]]:
    """Options of commands by name, each with the algorithms that have it."""
    found: dict[str, tuple[Option, list[str]]] = {}
    for algorithm in algorithms or OWN_OPTIONS:
        for name, option in options_in(OWN_OPTIONS[algorithm]).items():
            if option.about.on_command_line and (only is None or name in only):
                found.setdefault(name, (option, []))[1].append(algorithm)
    return found


def _make(option: Option, owners: Collection[str]) -> Callable[[Command], Command]:
    """An option of a command. It has no default: ``None`` means that it was not given."""
    kind = option.about.kind
    name = f"--{option.name.replace('_', '-')}"
    names: tuple[str, ...] = ()
    how: dict[str, Any] = {}
    text = option.about.help
    if isinstance(kind, Flag):
        name = f"{name}/--no-{option.name.replace('_', '-')}"
    elif isinstance(kind, Choice):
        how["type"] = click.Choice(kind.words)
    elif isinstance(kind, Count):
        how["type"] = click.IntRange(min=1)
    elif isinstance(kind, Seed):
        how["type"] = click.IntRange(0, LARGEST_SEED)
    elif isinstance(kind, Gap):
        how["type"] = click.FloatRange(min=0)
    elif isinstance(kind, Amount):
        how["type"] = click.FloatRange(min=0, min_open=True)
    elif isinstance(kind, Text):
        pass
    elif isinstance(kind, Assigning):
        how |= {"multiple": True, "callback": _read_assignment}
        known = ", ".join(ASSIGNMENTS)
        text += (
            f" {option.about.metavar}: {known}, or FUNCTION=AGENT for each function, by its name "
            "or its position from 0."
        )
        names = ("--assign", name)
    else:
        raise TypeError(f"commands cannot offer {option.name}: {type(kind).__name__}")
    if owners:
        text += f" Only for {' and '.join(f'`{each}`' for each in owners)}."
    if option.about.metavar is not None:
        how["metavar"] = option.about.metavar
    return click.option(
        *(names or (name,)), option.name, default=None, help=text + shown_default(option), **how
    )


def shown_default(option: Option) -> str:
    """Text of a default in the help of a command."""
    shown = option.about.kind.usual if option.default is None else option.default
    if shown is None:
        return ""
    if isinstance(option.default, bool):
        shown = option.name.replace("_", "-") if option.default else f"no-{option.name}"
    elif isinstance(option.default, float):
        shown = f"{option.default:g}"
    return f"  [default: {shown}]"


def _read_assignment(
    context: click.Context, parameter: click.Parameter, given: tuple[str, ...]
) -> Assignment | None:
    """One word for all reward functions, or an agent for each; None if nothing is given."""
    owners: dict[int | str, str] = {}
    for each in given:
        function, equals, agent = each.partition("=")
        if equals and function and agent:
            owners[int(function) if function.isdecimal() else function] = agent
        elif len(given) > 1 or equals:
            raise click.BadParameter(
                f"{each!r} is not FUNCTION=AGENT, for instance '2=Alpha'", context, parameter
            )
        else:
            return each
    return owners or None
