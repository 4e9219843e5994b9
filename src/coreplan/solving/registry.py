"""The known algorithms: our own, and those that others register."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass, make_dataclass
from functools import partial
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, NewType

from coreplan.errors import SolverError
from coreplan.solving.algorithms.core_2016 import solve_core_2016, solve_crg_ps
from coreplan.solving.algorithms.dec_mdp import solve_dec_mdp
from coreplan.solving.algorithms.dp import solve_dp
from coreplan.solving.algorithms.spudd import solve_spudd
from coreplan.solving.engine.core import solve_core
from coreplan.solving.option_fields import SolverOptions, options_in
from coreplan.solving.options import OWN_OPTIONS, OwnAlgorithm
from coreplan.solving.result import Result
from coreplan.solving.task import SolverTask
from coreplan.support.checks import is_name, unknown_name

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

logger = logging.getLogger(__name__)

AlgorithmFunction = Callable[..., Result]
"""Takes a :class:`~coreplan.solving.task.SolverTask` and options: a dataclass, or one by one."""
AlgorithmName = NewType("AlgorithmName", str)
"""The name of an algorithm of another package; for type checkers, it may have any options."""
GROUP = "coreplan.algorithms"
"""The group of entry points through which other packages offer algorithms."""


@dataclass(frozen=True)
class Algorithm:
    """A function that solves problems, with its options.

    Attributes
    ----------
    name
        Name of the algorithm.
    function
        Takes a task and options.
    options
        The dataclass of its options.
    one_by_one
        Whether the function takes the options as keywords instead of one object.
    """

    name: str
    function: AlgorithmFunction
    options: type[SolverOptions]
    one_by_one: bool = False

    def run(self, task: SolverTask, options: SolverOptions) -> Result:
        """Solve."""
        if not self.one_by_one:
            return self.function(task, options)
        # The function's own parameters; the class has the options of all algorithms as well.
        given = {name: getattr(options, name) for name in self.options.__annotations__}
        return self.function(task, **given)


_FUNCTIONS: dict[OwnAlgorithm, AlgorithmFunction] = {
    "core": solve_core,
    "dp": solve_dp,
    "spudd": solve_spudd,
    "crg-ps": solve_crg_ps,
    "core-2016": solve_core_2016,
    "dec-mdp": solve_dec_mdp,
}
_OWN: dict[str, Algorithm] = {
    name: Algorithm(name, function, OWN_OPTIONS[name]) for name, function in _FUNCTIONS.items()
}


class _Algorithms(Mapping[str, Algorithm]):
    """The algorithms by name; those of other packages are loaded at their first use."""

    def __init__(self) -> None:
        self._known = dict(_OWN)
        self._found: dict[str, EntryPoint] | None = None

    def add(self, algorithm: Algorithm) -> None:
        self._known[algorithm.name] = algorithm

    def remove(self, name: str) -> None:
        del self._known[name]

    def registered(self) -> dict[str, Algorithm]:
        return {name: each for name, each in self._known.items() if name not in _OWN}

    def with_options(self, options: type[SolverOptions]) -> list[Algorithm]:
        """Algorithms with a dataclass of options; others are loaded only if none of ours has it."""
        found = [each for each in self._known.values() if each.options is options]
        return found or [each for each in self.values() if each.options is options]

    def __getitem__(self, name: str) -> Algorithm:
        if name not in self._known and name in self._entry_points():
            self._known[name] = make_algorithm(name, self._entry_points()[name].load())
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._known, *self._entry_points()]))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def _entry_points(self) -> dict[str, EntryPoint]:
        if self._found is None:
            # Importing this module takes a tenth of the time of importing coreplan.
            metadata = importlib.import_module("importlib.metadata")
            self._found = {each.name: each for each in metadata.entry_points(group=GROUP)}
            for name in self._found.keys() & _OWN.keys():
                logger.warning(
                    "the algorithm %r of another package is ignored: coreplan has one of this name",
                    name,
                )
                del self._found[name]
        return self._found


_algorithms = _Algorithms()
ALGORITHMS: Mapping[str, Algorithm] = _algorithms
"""The algorithms by name."""


def register_algorithm(
    name: str, algorithm: AlgorithmFunction, options: type[SolverOptions] | None = None
) -> AlgorithmName:
    """Make an algorithm known to ``solve``, ``compare``, ``bench`` and the command line.

    A package can do the same with an entry point of the group ``coreplan.algorithms``; see
    docs/extending.md.

    Parameters
    ----------
    name
        Its name.
    algorithm
        Takes a :class:`~coreplan.solving.task.SolverTask` and options, and returns a result, see
        :meth:`SolverTask.make_result <coreplan.solving.task.SolverTask.make_result>`. The options
        are one object, or its other parameters, all with defaults.
    options
        The class of that object, a dataclass derived from :class:`~coreplan.SolverOptions`. By
        default the annotation of the second parameter, if that is a dataclass of this kind;
        otherwise the options are the parameters.

    Returns
    -------
    AlgorithmName
        The name; with it, type checkers let ``solve`` take any options.

    Raises
    ------
    SolverError
        If an algorithm of coreplan has this name, or the function or class is not as described.
    """
    if not is_name(name):
        raise SolverError(f"the name of an algorithm is {name!r}; expected a text")
    if name in _OWN:
        raise SolverError(f"{name!r} is an algorithm of coreplan; choose another name")
    _algorithms.add(make_algorithm(name, algorithm, options))
    return AlgorithmName(name)


def registered_algorithms() -> Mapping[str, Algorithm]:
    """The algorithms that others have registered so far in this process, by name."""
    return _algorithms.registered()


def forget_algorithm(name: str) -> None:
    """Remove an algorithm that :func:`register_algorithm` added."""
    if name in _OWN or name not in ALGORITHMS:
        raise SolverError(f"no algorithm {name!r} is registered")
    _algorithms.remove(name)


def make_algorithm(
    name: str, function: AlgorithmFunction, options: type[SolverOptions] | None = None
) -> Algorithm:
    """Read the options of a function from its parameters; see :func:`register_algorithm`."""
    parameters = _parameters(function)
    if not parameters:
        raise SolverError(f"algorithm {name!r} is not a function of a task")
    if options is not None:
        if not _is_options(options):
            raise SolverError(
                f"the options of algorithm {name!r} are {options!r}; expected a dataclass derived "
                "from coreplan.SolverOptions"
            )
        if len(parameters) < 2:
            raise SolverError(f"algorithm {name!r} is not a function of a task and options")
        return Algorithm(name, function, options)
    others = parameters[1:]
    if len(others) == 1 and _is_options(others[0].annotation):
        return Algorithm(name, function, others[0].annotation)
    return Algorithm(name, function, _make_options(name, others), one_by_one=True)


def _parameters(function: object) -> list[Parameter]:
    """The parameters of a function, with annotations as types if they can be read."""
    if not callable(function):
        return []
    try:
        found = signature(function, eval_str=True)
    except Exception:  # an annotation may be any text
        try:
            found = signature(function)
        except ValueError:  # functions that are not written in Python have none
            return []
    spread = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return [each for each in found.parameters.values() if each.kind not in spread]


def _is_options(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, SolverOptions) and is_dataclass(value)


def _same(value: Any) -> Any:
    return value


def _make_options(name: str, parameters: Iterable[Parameter]) -> type[SolverOptions]:
    """A dataclass of the parameters of a function other than the task."""
    made: list[tuple[str, Any, Any]] = []
    for each in parameters:
        kind = Any if each.annotation is Parameter.empty else each.annotation
        given = field()
        if each.default is not Parameter.empty:
            # A factory, since a default may be a list.
            given = field(default_factory=partial(_same, each.default))
        made.append((each.name, kind, given))
    title = "".join(part.capitalize() for part in name.replace("-", " ").split())
    return make_dataclass(
        f"{title}Options" if title.isidentifier() else "MadeOptions",
        made,
        bases=(SolverOptions,),
        frozen=True,
        kw_only=True,
    )


def options_of(algorithm: str) -> list[str]:
    """The names of an algorithm's options."""
    return list(options_in(ALGORITHMS[algorithm].options))


def check_algorithm(algorithm: str, options: Iterable[str] = ()) -> None:
    """Raise a SolverError if an algorithm or one of its options is unknown."""
    if algorithm not in ALGORITHMS:
        raise SolverError(unknown_name(algorithm, "algorithm", list(ALGORITHMS), "coreplan"))
    known = options_of(algorithm)
    for option in options:
        if option not in known:
            raise SolverError(unknown_name(option, "option", known, f"algorithm {algorithm!r}"))


def algorithm_for(options: SolverOptions) -> Algorithm:
    """The algorithm that takes these options.

    Raises
    ------
    SolverError
        If no algorithm does, or several do.
    """
    found = _algorithms.with_options(type(options))
    if len(found) == 1:
        return found[0]
    kind = type(options).__name__
    if not found:
        raise SolverError(f"no algorithm takes {kind}; register the algorithm that does")
    names = " and ".join(repr(each.name) for each in found)
    raise SolverError(f"the algorithms {names} all take {kind}; choose one by algorithm=")
