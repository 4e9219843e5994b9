"""Configurations of runs, ``bench/1``: test sets, solvers and limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coreplan.bench.sets import TEST_SETS, generate
from coreplan.bench.sets.instance import MOST_INSTANCES
from coreplan.bench.store import CLOCKS, PROCESSOR, WALL
from coreplan.errors import CoreplanError, Diagnostic, ModelError
from coreplan.files.reading import Document, Place, read_document
from coreplan.files.writing import tidy
from coreplan.model import TIMMDP, Agent, Condition, Entry, RewardFunction
from coreplan.solving.option_fields import options_in
from coreplan.solving.registry import ALGORITHMS, check_algorithm
from coreplan.solving.solver import solve
from coreplan.support.checks import check_integer, is_number, unknown_name
from coreplan.support.frozen import FrozenMapping
from coreplan.support.processors import usable_processors

FORMAT = "bench/1"

_LIMITS = ("time", "memory", "clock")
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
    """

    name: str
    algorithm: str
    options: Mapping[str, Any]

    @property
    def threads(self) -> int:
        """Number of threads of the solver."""
        known = options_in(ALGORITHMS[self.algorithm].options)
        if "threads" not in known:
            return 1
        return int(self.options.get("threads", known["threads"].default) or usable_processors())

    @property
    def has_one_thread(self) -> bool:
        """Whether it uses one thread on every machine, whatever the number of processors."""
        known = options_in(ALGORITHMS[self.algorithm].options)
        if "threads" not in known:
            return True
        return bool(self.options.get("threads", known["threads"].default) == 1)


@dataclass(frozen=True)
class SetRun:
    """A test set with its solvers and limits.

    Attributes
    ----------
    set
        The test set's name.
    count
        Instances per group; None for the set's own number.
    parameters
        Parameters of the set that differ from their defaults.
    solvers
        The solvers that solve it.
    time_limit
        Seconds for each solve.
    memory_limit
        MB for each solve; None for no limit.
    clock
        The seconds that count, for limits and results: ``wall`` or ``processor``.
    """

    set: str
    count: int | None
    parameters: Mapping[str, Any]
    solvers: tuple[Solver, ...]
    time_limit: float
    memory_limit: float | None
    clock: str = WALL


@dataclass(frozen=True)
class BenchConfig:
    """The configuration of a run.

    Attributes
    ----------
    name
        Any name.
    seed
        Seed of the test sets.
    sets
        The test sets in their order.
    """

    name: str
    seed: int
    sets: tuple[SetRun, ...]

    @property
    def threads(self) -> int:
        """The most threads that any of the solvers uses."""
        return max(solver.threads for each in self.sets for solver in each.solvers)

    def override(
        self,
        *,
        count: int | None = None,
        time_limit: float | None = None,
        memory_limit: float | None = None,
        sets: Iterable[str] = (),
        solvers: Iterable[str] = (),
    ) -> BenchConfig:
        """A copy with other numbers, or with a part of the sets and solvers.

        Parameters
        ----------
        count, time_limit, memory_limit
            Values for all sets instead of their own; None keeps their own.
        sets, solvers
            Names of sets and solvers to keep; empty to keep all.

        Raises
        ------
        ModelError
            If nothing is kept, a name is unknown, or a number is invalid.
        """
        for limit, what in ((time_limit, "time limit"), (memory_limit, "memory limit")):
            if limit is not None and not (is_number(limit) and limit > 0):
                raise ModelError(f"the {what} is {limit!r}; expected a finite number above 0")
        if count is not None:
            problems = list(check_integer(count, ("count",), "the count", 1, MOST_INSTANCES))
            if problems:
                raise ModelError(problems)
        wanted_sets, wanted_solvers = list(sets), list(solvers)
        there = list(dict.fromkeys(each.set for each in self.sets))
        names = list(dict.fromkeys(s.name for each in self.sets for s in each.solvers))
        for wanted, what, known in (
            (wanted_sets, "set", there),
            (wanted_solvers, "solver", names),
        ):
            for name in wanted:
                if name not in known:
                    raise ModelError(unknown_name(name, what, known, "the configuration"))
        changed = []
        for each in self.sets:
            kept = tuple(s for s in each.solvers if not wanted_solvers or s.name in wanted_solvers)
            if kept and (not wanted_sets or each.set in wanted_sets):
                changed.append(
                    replace(
                        each,
                        solvers=kept,
                        count=each.count if count is None else count,
                        time_limit=each.time_limit if time_limit is None else time_limit,
                        memory_limit=each.memory_limit if memory_limit is None else memory_limit,
                    )
                )
        if not changed:
            raise ModelError("none of these solvers solves any of these sets")
        return replace(self, sets=tuple(changed))


def read_config(path: str | Path) -> BenchConfig:
    """Read a configuration from a ``bench/1`` file, in YAML or JSON.

    Raises
    ------
    FormatError
        With all mistakes, by line and column.
    """
    return read_document(path, _take_config)


def _take_config(document: Document) -> BenchConfig:
    document.check_format(FORMAT)
    top = document.fields(
        document.root,
        (),
        "the configuration",
        ("format", "solvers", "sets"),
        ("name", "seed", "limits"),
    )
    name = document.stem
    if "name" in top:
        name = document.name(top["name"], ("name",), "the configuration")
    seed = _whole(document, top, (), "seed", 0) if "seed" in top else 0
    limits = _limits(document, top, ())
    solvers = _solvers(document, top["solvers"]) if "solvers" in top else {}
    sets = []
    if "sets" in top:
        listed = document.items(top["sets"], ("sets",), "the test sets")
        if not listed and isinstance(top["sets"], list):
            document.fail(("sets",), "found an empty list; expected one test set or more")
        for position, each in enumerate(listed):
            sets.append(_set(document, each, ("sets", position), solvers, limits, seed or 0))
        _check_threads(document, [each for each in sets if each is not None])
    return document.finish(
        lambda: BenchConfig(name, seed or 0, tuple(each for each in sets if each is not None))
    )


def _solvers(document: Document, value: Any) -> dict[str, Solver]:
    found: dict[str, Solver] = {}
    same: dict[str, str] = {}
    members = document.members(value, ("solvers",), "the solvers by name")
    if not members and isinstance(value, dict):
        document.fail(("solvers",), "found an empty mapping; expected one solver or more")
    for name, each in members.items():
        place: Place = ("solvers", name)
        if not name:
            document.fail(place, "a solver needs a name", at_key=True)
        parts = document.fields(each, place, "a solver", ("algorithm",), ("options",))
        if "algorithm" not in parts:
            found[name] = Solver(name, "", {})  # so that sets may name it
            continue
        algorithm = parts["algorithm"]
        options: dict[str, Any] = {}
        if "options" in parts:
            options = document.members(parts["options"], (*place, "options"), "options by name")
        solver = Solver(name, algorithm, FrozenMapping(tidy(options)))
        found[name] = solver
        if _check_solver(document, solver, place):
            text = repr((algorithm, sorted(solver.options.items())))
            if text in same:
                document.fail(
                    place, f"the same algorithm with the same options as solver {same[text]!r}"
                )
            same.setdefault(text, name)
    return found


def _check_solver(document: Document, solver: Solver, place: Place) -> bool:
    """Whether the algorithm exists and takes these options; mistakes are recorded."""
    if not isinstance(solver.algorithm, str):
        document.fail((*place, "algorithm"), "expected the name of an algorithm, a text")
        return False
    try:
        check_algorithm(solver.algorithm)
    except CoreplanError as error:
        document.fail((*place, "algorithm"), str(error))
        return False
    for option, value in solver.options.items():
        try:
            check_algorithm(solver.algorithm, [option])
        except CoreplanError as error:
            document.fail((*place, "options", option), str(error), at_key=True)
            return False
        if isinstance(value, dict | list) or value is None:
            document.fail((*place, "options", option), "expected a number, a text, true or false")
            return False
    try:
        solve(_TRIAL, algorithm=solver.algorithm, time_limit=_TRIAL_SECONDS, **dict(solver.options))
    except Exception as error:  # report any error now, and not after hours
        document.fail((*place, "options"), f"the algorithm does not take these options: {error}")
        return False
    return True


def _check_threads(document: Document, sets: Iterable[SetRun]) -> None:
    """Record solvers with several threads: their processor time is the sum over the threads."""
    timed = {s.name: s for each in sets if each.clock == PROCESSOR for s in each.solvers}
    for name, solver in timed.items():
        if not solver.has_one_thread:
            place: Place = ("solvers", name)
            if "threads" in solver.options:
                place = (*place, "options", "threads")
            document.fail(
                place,
                f"solver {name!r} may use several threads, and `clock: processor` adds up their "
                "seconds; add `options: {threads: 1}`",
            )


def _set(
    document: Document,
    value: Any,
    place: Place,
    solvers: Mapping[str, Solver],
    limits: Mapping[str, Any],
    seed: int,
) -> SetRun | None:
    parts = document.fields(
        value, place, "a set", ("set",), ("count", "parameters", "solvers", "limits")
    )
    count = None
    if "count" in parts:
        count = _whole(document, parts, place, "count", 1, MOST_INSTANCES)
    own = _limits(document, parts, place)
    merged = {**limits, **own}
    if isinstance(value, dict) and "time" not in merged:
        document.fail(
            place,
            "the time limit is missing; add `limits: {time: 60}` here, or at the top for all sets",
        )
    chosen = _chosen(document, parts, place, solvers)
    parameters: dict[str, Any] = {}
    if "parameters" in parts:
        members = document.members(
            parts["parameters"], (*place, "parameters"), "parameters by name"
        )
        parameters = {key: tidy(each) for key, each in members.items()}
    if "set" not in parts:
        return None
    name = parts["set"]
    if not isinstance(name, str) or name not in TEST_SETS:
        document.fail((*place, "set"), unknown_name(name, "test set", list(TEST_SETS), "coreplan"))
        return None
    for key, each in parameters.items():
        try:
            TEST_SETS[name].settle({key: each})
        except ModelError as error:
            unknown = key not in TEST_SETS[name].parameters
            document.fail((*place, "parameters", key), str(error), at_key=unknown)
    if document.problems:
        return None
    try:
        next(generate(name, count=1, seed=seed, **parameters))
    except ModelError as error:
        document.fail((*place, "parameters"), str(error))
    time = merged["time"]
    assert time is not None
    return SetRun(
        name,
        count,
        FrozenMapping(parameters),
        chosen,
        time,
        merged.get("memory"),
        merged.get("clock", WALL),
    )


def _chosen(
    document: Document, parts: Mapping[str, Any], place: Place, solvers: Mapping[str, Solver]
) -> tuple[Solver, ...]:
    if "solvers" not in parts:
        return tuple(solvers.values())
    place = (*place, "solvers")
    names = document.items(parts["solvers"], place, "names of solvers")
    if not names and isinstance(parts["solvers"], list):
        document.fail(place, "found an empty list; expected one solver or more")
    for position, name in enumerate(names):
        if not isinstance(name, str) or name not in solvers:
            document.fail(
                (*place, position),
                unknown_name(name, "solver", list(solvers), "the configuration"),
            )
        elif name in names[:position]:
            document.fail((*place, position), f"solver {name!r} is listed twice")
    return tuple(solvers[name] for name in names if isinstance(name, str) and name in solvers)


def _limits(document: Document, parts: Mapping[str, Any], place: Place) -> dict[str, Any]:
    if "limits" not in parts:
        return {}
    place = (*place, "limits")
    found: dict[str, Any] = {}
    for key, value in document.fields(parts["limits"], place, "limits", (), _LIMITS).items():
        if key == "clock":
            if value not in CLOCKS:
                kind = document.kind((*place, key))
                document.fail((*place, key), f"found {kind}; expected {' or '.join(CLOCKS)}")
            found[key] = value
        elif key == "memory" and value is None:
            found[key] = None
        elif not is_number(value) or value <= 0:
            unit = "seconds" if key == "time" else "MB, or null for no limit"
            kind = document.kind((*place, key))
            document.fail((*place, key), f"found {kind}; expected a number above 0: {unit}")
            found[key] = None
        else:
            found[key] = float(value)
    return found


def _whole(
    document: Document,
    parts: Mapping[str, Any],
    place: Place,
    key: str,
    least: int,
    most: int | None = None,
) -> int | None:
    """A whole number; None, with a recorded mistake, for any other value."""
    value = parts[key]
    problems: Iterable[Diagnostic] = check_integer(value, (*place, key), f"the {key}", least, most)
    for problem in problems:
        document.fail(problem.path, problem.message)
        return None
    return int(value)
