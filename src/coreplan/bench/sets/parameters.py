"""Test sets: parameters with their limits, and the generator of problems."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from coreplan.errors import Diagnostic, ModelError, nearest
from coreplan.solving.compile import AnyProblem
from coreplan.support.checks import found, is_integer, is_number, unknown_name
from coreplan.support.frozen import FrozenMapping, freeze_sequence

Value = int | float | str
"""Of a parameter."""

ONE, EACH, IN_TURN = "one", "each", "in turn"
"""The use of a parameter: one value; a group of instances for each value; values in turn."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a test set.

    Parameters
    ----------
    default
        Its value, or values; their type is the parameter's.
    meaning
        Its meaning.
    use
        ``one``: one value for all instances. ``each``: one group of instances for each value.
        ``in turn``: instance 0 of a group has the first value, and so on, in cycles.
    least, most
        Limits of a number.
    choices
        The allowed texts, if it is a text.
    """

    default: Value | tuple[Value, ...]
    meaning: str
    use: str = ONE
    least: float = 0
    most: float = math.inf
    choices: tuple[str, ...] = ()

    @property
    def kind(self) -> type:
        """Whether it is an int, a float or a str."""
        first = self.default[0] if isinstance(self.default, tuple) else self.default
        return type(first)

    @property
    def in_words(self) -> str:
        """The default as text: ``2, 3, 4``."""
        values = self.default if isinstance(self.default, tuple) else (self.default,)
        return ", ".join(v if isinstance(v, str) else f"{v:g}" for v in values)

    def settle(self, name: str, given: object) -> tuple[Value, ...]:
        """The checked value or values; raises a ModelError if one is invalid."""
        if self.use == ONE:
            return (self._settle_one((name,), given),)
        if isinstance(given, str) or is_number(given):
            given = (given,)
        values = freeze_sequence(given, (name,), f"{self._expected}, or a list of them")
        if not values:
            raise ModelError(
                [Diagnostic((name,), "found an empty list; expected one or more values")]
            )
        settled = tuple(self._settle_one((name, k), value) for k, value in enumerate(values))
        if len(set(settled)) < len(settled):
            raise ModelError(
                [Diagnostic((name,), "a value is given twice; expected each one once")]
            )
        return settled

    @property
    def _expected(self) -> str:
        if self.choices:
            return " or ".join(repr(each) for each in self.choices)
        number = "a whole number" if self.kind is int else "a number"
        if self.least == self.most:
            return f"{self.least:g}; this set has no other"
        if math.isinf(self.most):
            return f"{number} of at least {self.least:g}"
        return f"{number} from {self.least:g} to {self.most:g}"

    def _settle_one(self, path: tuple[str | int, ...], given: object) -> Value:
        if self.choices:
            if isinstance(given, str) and given in self.choices:
                return given
            hint = nearest(given, self.choices) if isinstance(given, str) else ""
        else:
            number: Any = given if is_number(given) else math.nan
            if self.least <= number <= self.most and (self.kind is float or is_integer(number)):
                return int(number) if self.kind is int else float(number)
            hint = ""
        message = f"found {found(given)}; expected {self._expected}{hint}"
        raise ModelError([Diagnostic(path, message)])


@dataclass(frozen=True)
class TestSet:
    """A family of random problems.

    Parameters
    ----------
    name
        Its name.
    summary
        Its description, in a sentence.
    count
        Default number of instances of each group.
    parameters
        By name; always with ``agents`` and ``horizon``.
    make
        Makes one problem: called with a :class:`~coreplan.bench.sets.draw.Draw`, the problem's name
        and one value for each parameter by keyword.
    check
        Called with the same values, raises a ModelError if they do not fit together.
    """

    name: str
    summary: str
    count: int
    parameters: Mapping[str, Parameter]
    make: Callable[..., AnyProblem]
    check: Callable[..., None] = lambda **values: None
    __test__: ClassVar[bool] = False  # pytest takes classes whose name begins with Test for tests

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", FrozenMapping(self.parameters))

    def settle(self, given: Mapping[str, object]) -> dict[str, tuple[Value, ...]]:
        """The values of all parameters, those that are given and defaults, checked."""
        for name in given:
            if name not in self.parameters:
                known = list(self.parameters)
                raise ModelError(unknown_name(name, "parameter", known, f"test set {self.name!r}"))
        settings = {
            name: parameter.settle(name, given.get(name, parameter.default))
            for name, parameter in self.parameters.items()
        }
        for values in itertools.product(*settings.values()):
            self.check(**dict(zip(settings, values, strict=True)))
        return settings
