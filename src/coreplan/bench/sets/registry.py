"""The known test sets: those of coreplan, and those that others register."""

from __future__ import annotations

from coreplan.bench.sets.catalogue import TEST_SETS
from coreplan.bench.sets.parameters import TestSet
from coreplan.errors import ModelError
from coreplan.support.checks import unknown_name

RESERVED = ("name", "count", "seed", "draw")
"""What parameters of a test set cannot be called: `generate` and `make` have other uses for it."""

_registered: dict[str, TestSet] = {}


def register_test_set(test_set: TestSet) -> None:
    """Make a family of problems known to :func:`~coreplan.bench.sets.generate` and benchmark runs.

    Parameters
    ----------
    test_set
        The family. A second one of the same name replaces the first.

    Raises
    ------
    ModelError
        If coreplan has a test set of this name, or a parameter cannot have its name.
    """
    for each in test_set.parameters:
        if each in RESERVED:
            raise ModelError(
                f"test set {test_set.name!r} has a parameter {each!r}; give it another name"
            )
    if test_set.name in TEST_SETS:
        raise ModelError(f"{test_set.name!r} is a test set of coreplan; choose another name")
    _registered[test_set.name] = test_set


def forget_test_set(name: str) -> None:
    """Remove a test set that :func:`register_test_set` added."""
    if name not in _registered:
        raise ModelError(f"no test set {name!r} is registered")
    del _registered[name]


def known_test_sets() -> list[str]:
    """The names of all test sets, those of coreplan first."""
    return [*TEST_SETS, *_registered]


def find_test_set(name: object) -> TestSet:
    """The test set of a name; raises a ModelError if there is none."""
    if isinstance(name, str):
        found = TEST_SETS.get(name) or _registered.get(name)
        if found is not None:
            return found
    raise ModelError(unknown_name(name, "test set", known_test_sets(), "coreplan"))
