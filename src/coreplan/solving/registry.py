"""Which algorithms there are: our own, and those that others register."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from inspect import signature

from coreplan.errors import SolverError
from coreplan.solving.algorithms.core_2016 import solve_core_2016, solve_crg_ps
from coreplan.solving.algorithms.dec_mdp import solve_dec_mdp
from coreplan.solving.algorithms.dp import solve_dp
from coreplan.solving.algorithms.spudd import solve_spudd
from coreplan.solving.engine.core import solve_core
from coreplan.solving.result import Result
from coreplan.support.checks import is_name, unknown_name

logger = logging.getLogger(__name__)

Algorithm = Callable[..., Result]
"""Takes a :class:`~coreplan.solving.task.SolverTask`; its other parameters are its options."""
GROUP = "coreplan.algorithms"
"""The group of entry points by which other packages offer algorithms."""

_OWN: dict[str, Algorithm] = {
    "core": solve_core,
    "dp": solve_dp,
    "spudd": solve_spudd,
    "crg-ps": solve_crg_ps,
    "core-2016": solve_core_2016,
    "dec-mdp": solve_dec_mdp,
}


class _Algorithms(Mapping[str, Algorithm]):
    """The algorithms by name; those of other packages are looked up when first asked for."""

    def __init__(self) -> None:
        self._known = dict(_OWN)
        self._found: dict[str, EntryPoint] | None = None

    def add(self, name: str, algorithm: Algorithm) -> None:
        self._known[name] = algorithm

    def remove(self, name: str) -> None:
        del self._known[name]

    def __getitem__(self, name: str) -> Algorithm:
        if name not in self._known and name in self._entry_points():
            self._known[name] = self._entry_points()[name].load()
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._known, *self._entry_points()]))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def _entry_points(self) -> dict[str, EntryPoint]:
        if self._found is None:
            self._found = {each.name: each for each in entry_points(group=GROUP)}
            for name in self._found.keys() & _OWN.keys():
                logger.warning("the algorithm %r of another package is not used: it is ours", name)
                del self._found[name]
        return self._found


_algorithms = _Algorithms()
ALGORITHMS: Mapping[str, Algorithm] = _algorithms
"""The algorithms by name; their parameters after the first are their options."""


def register_algorithm(name: str, algorithm: Algorithm) -> None:
    """Make an algorithm known to ``solve``, ``compare``, ``bench`` and the command line.

    A package can do the same by an entry point of the group ``coreplan.algorithms``; see
    docs/extending.md.

    Parameters
    ----------
    name
        What to call it.
    algorithm
        Takes a :class:`~coreplan.solving.task.SolverTask` and returns a result, see
        :meth:`SolverTask.make_result <coreplan.solving.task.SolverTask.make_result>`. Its other
        parameters, all with defaults, are its options.

    Raises
    ------
    SolverError
        If the name is taken by an algorithm of coreplan, or this is no such function.
    """
    if not is_name(name):
        raise SolverError(f"the name of an algorithm is {name!r}; expected a text")
    if name in _OWN:
        raise SolverError(f"{name!r} is an algorithm of coreplan; choose another name")
    if not callable(algorithm) or not signature(algorithm).parameters:
        raise SolverError(f"algorithm {name!r} is no function of a task")
    _algorithms.add(name, algorithm)


def forget_algorithm(name: str) -> None:
    """Take back what :func:`register_algorithm` did."""
    if name in _OWN or name not in ALGORITHMS:
        raise SolverError(f"no algorithm {name!r} was registered")
    _algorithms.remove(name)


def options_of(algorithm: str) -> list[str]:
    """The names of an algorithm's options."""
    return list(signature(ALGORITHMS[algorithm]).parameters)[1:]


def check_algorithm(algorithm: str, options: Iterable[str] = ()) -> None:
    """Raise a SolverError if there is no such algorithm, or it has no such option."""
    if algorithm not in ALGORITHMS:
        raise SolverError(unknown_name(algorithm, "algorithm", list(ALGORITHMS), "coreplan"))
    known = options_of(algorithm)
    for option in options:
        if option not in known:
            raise SolverError(unknown_name(option, "option", known, f"algorithm {algorithm!r}"))
