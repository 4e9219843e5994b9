"""Solvers of benchmark runs: an algorithm with options, under a name, checked before the run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coreplan.errors import SolverError
from coreplan.files.writing import tidy
from coreplan.model import TIMMDP, Agent, Condition, Entry, RewardFunction
from coreplan.solving.option_fields import options_in
from coreplan.solving.options import OWN_OPTIONS
from coreplan.solving.registry import ALGORITHMS, check_algorithm
from coreplan.solving.solver import settle_options, solve
from coreplan.support.checks import is_integer
from coreplan.support.frozen import FrozenMapping
from coreplan.support.processors import usable_processors

_TRIAL_SECONDS = 10.0
_TRIAL = TIMMDP(
    tuple(Agent(name, "s", {"s": {"go": {"s": 1.0}, "stay": {"s": 1.0}}}) for name in "AB"),
    (
        RewardFunction(
            ("A", "B"),
            (
                Entry({"A": Condition(action="go")}, 1.0),
                Entry({"B": Condition(action="go")}, 1.0),
                Entry({name: Condition(action="go") for name in "AB"}, -1.0),
            ),
        ),
    ),
    horizon=1,
)
"""The smallest problem with an interaction, on which options are tried."""


class BadSolverError(SolverError):
    """A solver whose algorithm or options are invalid.

    Attributes
    ----------
    part
        What is wrong: ``algorithm``, ``options``, or the name of one option.
    at_name
        Whether the name of the option is wrong, not its value.
    """

    def __init__(self, message: str, part: str, at_name: bool = False) -> None:
        super().__init__(message)
        self.part = part
        self.at_name = at_name


@dataclass(frozen=True)
class Solver:
    """An algorithm with options, under a name.

    Attributes
    ----------
    name
        Any name.
    algorithm
        The algorithm's name; see :func:`coreplan.solve`.
    options
        Its options.
    code
        Of an algorithm that a module registers: the module's code. Solves by other code are other
        solves, see :class:`~coreplan.bench.modules.Module`.
    """

    name: str
    algorithm: str
    options: Mapping[str, Any]
    code: str = ""

    @property
    def threads(self) -> int:
        """Number of threads of the solver."""
        threads = self._asked_threads
        return usable_processors() if threads is None else threads

    @property
    def has_one_thread(self) -> bool:
        """Whether it uses one thread on every machine, whatever the number of processors."""
        return self._asked_threads == 1

    @property
    def _asked_threads(self) -> int | None:
        """Its option `threads`; 1 for an algorithm that has none, None for as many as there are."""
        known = options_in(ALGORITHMS[self.algorithm].options)
        if "threads" not in known:
            return 1
        asked = self.options.get("threads", known["threads"].default)
        return int(asked) if is_integer(asked) and asked > 0 else None

    def check(self) -> None:
        """Raise a BadSolverError if the algorithm is unknown or does not take these options.

        The algorithms of coreplan try their options on a tiny problem. Those of others are not
        called: they may solve other problems only, and their errors belong to their solves.
        """
        if not isinstance(self.algorithm, str):
            raise BadSolverError("expected the name of an algorithm, a text", "algorithm")
        try:
            check_algorithm(self.algorithm)
        except Exception as error:  # another package may fail when it is loaded
            raise BadSolverError(str(error) or type(error).__name__, "algorithm") from None
        for option, value in self.options.items():
            try:
                check_algorithm(self.algorithm, [option])
            except SolverError as error:
                raise BadSolverError(str(error), option, at_name=True) from None
            if isinstance(value, dict | list) or value is None:
                raise BadSolverError("expected a number, a text, true or false", option)
        options = dict(self.options)
        try:
            settle_options(self.algorithm, None, options)
            if self.algorithm in OWN_OPTIONS:
                solve(_TRIAL, algorithm=self.algorithm, time_limit=_TRIAL_SECONDS, **options)
        except Exception as error:  # report any error now, and not after hours
            said = f"the algorithm does not take these options: {error}"
            raise BadSolverError(said, "options") from None


def parse_solver(text: str, codes: Mapping[str, str]) -> Solver:
    """Read a solver as people write it in commands: ``core-2016 merge=false memo=true``.

    Parameters
    ----------
    text
        The name of an algorithm, then its options; a value with spaces is quoted.
    codes
        The code of the algorithms that modules have registered.

    Raises
    ------
    BadSolverError
        If it is not a solver, or the algorithm does not take these options.
    """
    try:
        algorithm, *parts = shlex.split(text)
    except ValueError:
        raise BadSolverError(
            f"{text!r} is not a solver; try core, or 'core-2016 merge=false'", "algorithm"
        ) from None
    options: dict[str, Any] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        if not (name and equals):
            raise BadSolverError(f"{part!r} is not an option; try merge=false", "options")
        if name in options:
            raise BadSolverError(f"option {name!r} is given twice", name)
        options[name.replace("-", "_")] = _value(value)
    solver = Solver(text, algorithm, FrozenMapping(tidy(options)), codes.get(algorithm, ""))
    solver.check()
    return solver


def _value(text: str) -> Any:
    """A number, true or false if the text is one, otherwise the text."""
    try:
        value = json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, bool | int | float) else text
