"""Options of algorithms: the default, the meaning and the valid values of each.

The help of an option is metadata of its field and not a string below it: the command line,
benchmarks and docs need it at run time, and Python does not keep strings below fields. It still
stands next to the field for readers of the code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from types import MappingProxyType
from typing import Any, TypeGuard, TypeVar

from coreplan.errors import SolverError, shorten
from coreplan.solving.result import OPTIMAL_TOLERANCE
from coreplan.support.checks import found
from coreplan.support.processors import check_count

Value = TypeVar("Value")

LARGEST_SEED = 2**64 - 1
_ABOUT = "coreplan.option"


# -- valid values ----------------------------------------------------------------------------------


class Kind:
    """The valid values of an option: any, unless a class below restricts them.

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
        """Refuse other values than True and False: 1 and "no" are usually mistakes."""
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
    """A distance between bounds."""

    accepts = "a number of at least 0"

    def check(self, name: str, value: object) -> None:
        """Refuse values that are not a gap."""
        if not (_is_real(value) and value >= 0):
            raise SolverError(f"{name} is {_shown(value)}; expected a number of at least 0")


class Amount(Kind):
    """A limit above 0, or None for no limit."""

    accepts = "a number above 0, or `None` for no limit"

    def check(self, name: str, value: object) -> None:
        """Refuse limits that would stop a solver before it starts."""
        if value is not None and not (_is_real(value) and value > 0):
            raise SolverError(f"{name} is {_shown(value)}; expected a number above 0, or None")


class Count(Kind):
    """A number of threads."""

    accepts = "a whole number of at least 1, or `None`"

    def check(self, name: str, value: object) -> None:
        """Refuse values that are not a number of threads."""
        check_count(value, name)


class Text(Kind):
    """A word that coreplan does not know, for instance an address; or None."""

    accepts = "a text, or `None`"

    def check(self, name: str, value: object) -> None:
        """Refuse values that are not a text."""
        if value is not None and not (isinstance(value, str) and value):
            raise SolverError(f"{name} is {found(value)}; expected a text, or None")


class Seed(Kind):
    """A seed of the core's random numbers."""

    accepts = "a whole number from 0 to 2⁶⁴ − 1"

    def check(self, name: str, value: object) -> None:
        """Refuse numbers that do not fit into 64 bits."""
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
    except ValueError:  # a whole number with more digits than Python writes
        return found(value)


# -- descriptions of options -----------------------------------------------------------------------


@dataclass(frozen=True)
class About:
    """The description of an option, in addition to its name, type and default.

    Attributes
    ----------
    help
        Its meaning, in full sentences for docs and command line.
    kind
        Its valid values.
    on_command_line
        Whether commands offer it.
    metavar
        The word for its value in the help of commands.
    idea
        Whether it switches off one idea of the algorithm, to measure the gain of that idea.
    same_answer
        Whether the algorithm gives the same answer in much the same way for every value: solves
        that differ only in this option count as solves by the same variant of the algorithm.
    """

    help: str = ""
    kind: Kind = ANYTHING
    on_command_line: bool = False
    metavar: str | None = None
    idea: bool = False
    same_answer: bool = False


@dataclass(frozen=True)
class Option:
    """An option of an algorithm: name, default and description."""

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

    Derive a frozen dataclass with ``kw_only=True`` for an algorithm of your own. Fields made by
    :func:`option` are checked and described; other fields are not checked.
    """

    tolerance: float = option(
        OPTIMAL_TOLERANCE,
        "Call a plan optimal if it is proven to be this close to the optimum, as a part of its "
        "value, or of 1 if that is more. A solver that bounds the optimum stops there.",
        Gap(),
        metavar="PART",
    )

    def __post_init__(self) -> None:
        for each in options_in(type(self)).values():
            each.about.kind.check(each.name, getattr(self, each.name))


def options_in(options: type[SolverOptions]) -> Mapping[str, Option]:
    """The options of an algorithm by name, read from their dataclass."""
    found: dict[str, Option] = {}
    for each in fields(options):
        default = each.default
        if each.default_factory is not MISSING:
            default = each.default_factory()
        found[each.name] = Option(each.name, default, each.metadata.get(_ABOUT, About()))
    return MappingProxyType(found)
