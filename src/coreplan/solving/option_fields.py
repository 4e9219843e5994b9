"""What an option of an algorithm is: its default, what it means, and which values it takes.

The help of an option is metadata of its field, not a string below it: command line, benchmarks and
docs need it at run time, where a string below a field is gone, and nobody has to parse source code
for it. It still stands beside the field, for readers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from types import MappingProxyType
from typing import Any, TypeGuard, TypeVar

from coreplan.errors import SolverError, shorten
from coreplan.support.checks import found
from coreplan.support.processors import check_count

Value = TypeVar("Value")

LARGEST_SEED = 2**64 - 1
_ABOUT = "coreplan.option"


# -- which values ----------------------------------------------------------------------------------


class Kind:
    """Which values an option takes: any, unless a class below says otherwise.

    Attributes
    ----------
    accepts
        The values in words, for docs.
    usual
        Of an option whose default is None: the value that None usually stands for.
    """

    accepts = "any value"
    usual: str | None = None

    def __init__(self, accepts: str | None = None) -> None:
        if accepts is not None:
            self.accepts = accepts

    def check(self, name: str, value: object) -> None:
        """Raise a SolverError if the option `name` cannot have this value."""


class Flag(Kind):
    """True or false."""

    accepts = "`True` or `False`"

    def check(self, name: str, value: object) -> None:
        """Refuse all but truth values: 1 and "no" are mistakes more often than not."""
        if not isinstance(value, bool):
            raise SolverError(f"{name} is {_shown(value)}; expected True or False")


class Choice(Kind):
    """One of several words.

    Parameters
    ----------
    words
        The words.
    usual
        The word that None usually stands for; without it, None is refused.
    """

    def __init__(self, *words: str, usual: str | None = None) -> None:
        accepts = ", ".join(f'`"{word}"`' for word in words)
        super().__init__(accepts if usual is None else f"{accepts} or `None`")
        self.words = words
        self.usual = usual

    def check(self, name: str, value: object) -> None:
        """Refuse other words."""
        if value is None and self.usual is not None:
            return
        if not (isinstance(value, str) and value in self.words):
            known = ", ".join(map(repr, self.words))
            raise SolverError(f"{name} is {_shown(value)}; expected one of {known}")


class Gap(Kind):
    """How far bounds may be apart."""

    accepts = "a number of at least 0"

    def check(self, name: str, value: object) -> None:
        """Refuse what no gap can be."""
        if not (_is_real(value) and value >= 0):
            raise SolverError(f"{name} is {_shown(value)}; expected a number of at least 0")


class Amount(Kind):
    """More than nothing, or no limit."""

    accepts = "a number above 0, or `None` for no limit"

    def check(self, name: str, value: object) -> None:
        """Refuse what would stop before it starts."""
        if value is not None and not (_is_real(value) and value > 0):
            raise SolverError(f"{name} is {_shown(value)}; expected a number above 0, or None")


class Count(Kind):
    """How many threads."""

    accepts = "a whole number of at least 1, or `None`"

    def check(self, name: str, value: object) -> None:
        """Refuse what is no number of threads."""
        check_count(value, name)


class Seed(Kind):
    """What the random numbers of the core can start from."""

    accepts = "a whole number from 0 to 2⁶⁴ − 1"

    def check(self, name: str, value: object) -> None:
        """Refuse what does not fit into 64 bits."""
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST_SEED:
            raise SolverError(
                f"{name} is {found(value)}; expected a whole number from 0 to 2**64 - 1 "
                f"({LARGEST_SEED})"
            )


class Instance(Kind):
    """An object of one of several classes.

    Parameters
    ----------
    accepts
        The values in words, for docs.
    expected
        The same for errors.
    types
        The classes.
    """

    def __init__(self, accepts: str, expected: str, *types: type) -> None:
        super().__init__(accepts)
        self._expected = expected
        self._types = types

    def check(self, name: str, value: object) -> None:
        """Refuse objects of other classes."""
        if not isinstance(value, self._types):
            raise SolverError(f"{name} is {found(value)}; expected {self._expected}")


ANYTHING = Kind()


def _is_real(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: object) -> str:
    try:
        return shorten(repr(value))
    except ValueError:  # a whole number of more digits than Python writes
        return found(value)


# -- what is known about an option -----------------------------------------------------------------


@dataclass(frozen=True)
class About:
    """What is known about an option beside its name, type and default.

    Attributes
    ----------
    help
        What it means, in full sentences that suit docs and command line alike.
    kind
        Which values it takes.
    on_command_line
        Whether commands offer it.
    metavar
        What stands for its value in the help of commands.
    idea
        Whether it switches off one idea of the algorithm, to measure what the idea gains.
    same_answer
        Whether the algorithm gives the same answer in much the same way, whatever the value: solves
        that differ in it only are solves by the same variant of the algorithm.
    """

    help: str = ""
    kind: Kind = ANYTHING
    on_command_line: bool = False
    metavar: str | None = None
    idea: bool = False
    same_answer: bool = False


@dataclass(frozen=True)
class Option:
    """An option of an algorithm: name, default and all that is known about it."""

    name: str
    default: Any
    about: About

    def is_default(self, value: object) -> bool:
        """Whether a value means the same as the default."""
        if self.default is None and value is not None:
            return value == self.about.kind.usual
        return bool(value == self.default)


def option(
    default: Value,
    help: str,
    kind: Kind,
    *,
    on_command_line: bool = True,
    metavar: str | None = None,
    idea: bool = False,
    same_answer: bool = False,
) -> Value:
    """Make a field of a dataclass of options; see :class:`About` for the parameters."""
    about = About(help, kind, on_command_line, metavar, idea, same_answer)
    made: Value = field(default=default, metadata={_ABOUT: about})
    return made


@dataclass(frozen=True, kw_only=True)
class SolverOptions:
    """Options of an algorithm.

    Derive a frozen dataclass with ``kw_only=True`` for an algorithm of your own; fields made by
    :func:`option` are checked and described, other fields are taken as they are.
    """

    def __post_init__(self) -> None:
        for each in options_in(type(self)).values():
            each.about.kind.check(each.name, getattr(self, each.name))


def options_in(options: type[SolverOptions]) -> Mapping[str, Option]:
    """The options of an algorithm by name, given the dataclass of them."""
    found: dict[str, Option] = {}
    for each in fields(options):
        default = each.default
        if each.default_factory is not MISSING:
            default = each.default_factory()
        found[each.name] = Option(each.name, default, each.metadata.get(_ABOUT, About()))
    return MappingProxyType(found)
