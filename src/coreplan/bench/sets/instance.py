"""Instances of test sets: the same numbers give the same problem, on every machine."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from coreplan.bench.sets.draw import Draw
from coreplan.bench.sets.parameters import EACH, IN_TURN, TestSet, Value
from coreplan.bench.sets.registry import find_test_set
from coreplan.errors import CoreplanError, ModelError
from coreplan.files.writing import to_json
from coreplan.formats import problem_to_dict
from coreplan.model.problem import PlanningProblem
from coreplan.solving.compile import AnyProblem
from coreplan.support.checks import check_integer, found
from coreplan.support.frozen import FrozenMapping

Settings = Mapping[str, tuple[Value, ...]]
"""The values of all parameters."""

MOST_INSTANCES = 1_000_000
"""Most instances of a group."""


@dataclass(frozen=True)
class Instance:
    """One problem of a test set.

    Attributes
    ----------
    set
        The name of the test set.
    name
        Its name, which is also the problem's: ``mpp-3-0007``.
    parameters
        The value of each parameter of the set; always with ``agents`` and ``horizon``.
    problem
        The problem.
    """

    set: str
    name: str
    parameters: Mapping[str, Value]
    problem: AnyProblem

    def text(self) -> str:
        """The file that `coreplan generate` writes: JSON, in the problem's format."""
        return to_json(problem_to_dict(self.problem))

    def digest(self) -> str:
        """The SHA-256 digest of the text, in hexadecimal digits."""
        return hashlib.sha256(self.text().encode("utf-8")).hexdigest()


def generate(
    name: str, count: int | None = None, seed: int = 0, **parameters: object
) -> Iterator[Instance]:
    """Make the instances of a test set, one after the other.

    Parameters
    ----------
    name
        The test set: a key of :data:`TEST_SETS`, or one that was registered.
    count
        Number of instances of each group; default: the set's own number. A group is one combination
        of the parameters that the set varies, for instance the agents of ``mpp``. Instance k of a
        group is the same for every count.
    seed
        A whole number. The same seed gives the same instances, byte for byte.
    **parameters
        Other values than the set's own, for instance ``agents=[2, 3]``.

    Raises
    ------
    ModelError
        If a set or parameter is unknown, or a value is invalid.

    Examples
    --------
    >>> [instance.name for instance in generate("mpp", 2, agents=[2, 3])]
    ['mpp-2-0000', 'mpp-2-0001', 'mpp-3-0000', 'mpp-3-0001']
    >>> dict(next(generate("coordint")).parameters)["horizon"]
    3
    """
    chosen, wanted, settings = _settle(name, count, seed, parameters)
    return _generate(chosen, wanted, int(seed), settings)


def count_instances(name: str, count: int | None = None, **parameters: object) -> int:
    """The number of instances that :func:`generate` makes.

    Examples
    --------
    >>> count_instances("mpp")
    1200
    """
    chosen, wanted, settings = _settle(name, count, 0, parameters)
    return wanted * len(list(_groups(chosen, settings)))


def _settle(
    name: str, count: int | None, seed: int, parameters: Mapping[str, object]
) -> tuple[TestSet, int, Settings]:
    """The set, the number of instances of a group, and all parameters, checked."""
    chosen = find_test_set(name)
    wanted = chosen.count if count is None else count
    problems = [
        *check_integer(wanted, ("count",), "how many instances of a group", 1, MOST_INSTANCES),
        *check_integer(seed, ("seed",), "where random numbers start", 0),
    ]
    if problems:
        raise ModelError(problems)
    return chosen, int(wanted), chosen.settle(parameters)


def _generate(chosen: TestSet, count: int, seed: int, settings: Settings) -> Iterator[Instance]:
    for group in _groups(chosen, settings):
        label = "-".join(str(value) for value in group.values())
        for k in range(count):
            name = "-".join(filter(None, (chosen.name, label, f"{k:04}")))
            values = _values(chosen, settings, group, k)
            draw = Draw(f"{chosen.name}/{seed}/{label}/{k}")
            problem = _make(chosen, draw, name, values)
            # Every row of results has these two, also of a set that calls them something else.
            values.setdefault("agents", len(problem.agent_names))
            values.setdefault("horizon", problem.horizon)
            yield Instance(chosen.name, name, FrozenMapping(values), problem)


def _make(chosen: TestSet, draw: Draw, name: str, values: Mapping[str, Value]) -> AnyProblem:
    """Make a problem; any error in the code of others becomes one in words."""
    try:
        problem = chosen.make(draw, name, **values)
    except CoreplanError:
        raise
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        raise ModelError(f"test set {chosen.name!r} cannot make {name!r}: {said}") from error
    if not isinstance(problem, PlanningProblem):
        raise ModelError(f"test set {chosen.name!r} made {found(problem)}; expected a problem")
    return problem


def _groups(chosen: TestSet, settings: Settings) -> Iterator[dict[str, Value]]:
    """One value of each parameter that makes groups, in all combinations."""
    names = [name for name, each in chosen.parameters.items() if each.use == EACH]
    for values in itertools.product(*(settings[name] for name in names)):
        yield dict(zip(names, values, strict=True))


def _values(
    chosen: TestSet, settings: Settings, group: Mapping[str, Value], k: int
) -> dict[str, Value]:
    """One value of each parameter, for instance k of a group."""
    values: dict[str, Value] = {}
    turn = k
    for name, parameter in chosen.parameters.items():
        several = settings[name]
        if parameter.use == EACH:
            values[name] = group[name]
        elif parameter.use == IN_TURN:
            # If several take turns, the later ones turn more slowly: all combinations occur.
            values[name] = several[turn % len(several)]
            turn //= len(several)
        else:
            values[name] = several[0]
    return values
