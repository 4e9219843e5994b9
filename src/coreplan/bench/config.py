"""Configurations of runs, ``bench/1``: test sets, solvers and limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from coreplan.bench.modules import Loaded, Module, load_module
from coreplan.bench.sets.files import (
    ProblemFile,
    check_name_of_set,
    find_files,
    name_of_set,
    read_instances,
)
from coreplan.bench.sets.instance import MOST_INSTANCES, Instance, generate
from coreplan.bench.sets.registry import find_test_set
from coreplan.bench.solvers import BadSolverError, Solver, parse_solver
from coreplan.bench.store import CLOCKS, PROCESSOR, WALL
from coreplan.errors import CoreplanError, Diagnostic, ModelError
from coreplan.files.reading import STANDARD_INPUT, Document, Place, read_document
from coreplan.files.writing import tidy
from coreplan.support.checks import check_integer, is_number, unknown_name
from coreplan.support.frozen import FrozenMapping

__all__ = ["FORMAT", "BenchConfig", "SetRun", "Solver", "config_of_files", "read_config"]

FORMAT = "bench/1"
TIME_LIMIT = 60.0
"""The time limit of runs that are given problem files instead of a configuration."""

_LIMITS = ("time", "memory", "clock")


@dataclass(frozen=True)
class SetRun:
    """A test set with its solvers and limits.

    Attributes
    ----------
    set
        The test set's name.
    count
        Instances per group; None for the set's own number. Of files, how many of them; None for
        all.
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
    files
        The problem files that are the set; None for a test set that makes its problems.
    read
        The problems of the files; None before they have been read.
    """

    set: str
    count: int | None
    parameters: Mapping[str, Any]
    solvers: tuple[Solver, ...]
    time_limit: float
    memory_limit: float | None
    clock: str = WALL
    files: tuple[ProblemFile, ...] | None = None
    read: tuple[Instance, ...] | None = None

    def instances(self, seed: int) -> Iterator[Instance]:
        """The instances of the set: made by a generator, or those of the files."""
        if self.read is None:
            yield from generate(self.set, count=self.count, seed=seed, **dict(self.parameters))
        else:
            yield from self.read[: self.count]


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
    modules
        The modules of users that solving needs.
    notes
        Remarks for people on the problem files.
    """

    name: str
    seed: int
    sets: tuple[SetRun, ...]
    modules: tuple[Module, ...] = ()
    notes: tuple[str, ...] = ()

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


def read_config(path: str | Path, modules: Sequence[str] = ()) -> BenchConfig:
    """Read a configuration from a ``bench/1`` file, in YAML or JSON, and its problem files.

    Parameters
    ----------
    path
        The file; ``-`` for the standard input. Paths in it are relative to its folder.
    modules
        Modules to load in addition to those that it names; see
        :func:`~coreplan.bench.modules.load_module`.

    Raises
    ------
    FormatError
        With all mistakes of the configuration, by line and column.
    CoreplanError
        With all mistakes of the problem files, by file and line; or if a module cannot be loaded.
    """
    loaded = _load(modules)
    folder = Path() if str(path) == STANDARD_INPUT else Path(path).parent
    return _with_files(read_document(path, partial(_take_config, folder=folder, loaded=loaded)))


def config_of_files(
    paths: Sequence[str],
    solvers: Sequence[str] = ("core",),
    *,
    modules: Sequence[str] = (),
    time_limit: float = TIME_LIMIT,
    memory_limit: float | None = None,
) -> BenchConfig:
    """The configuration of a run on problem files.

    Parameters
    ----------
    paths
        Files, folders and patterns, see :func:`~coreplan.bench.sets.files.find_files`.
    solvers
        As people write them, see :func:`~coreplan.bench.solvers.parse_solver`.
    modules
        Modules to load, see :func:`~coreplan.bench.modules.load_module`.
    time_limit, memory_limit
        Seconds and MB for each solve; None for no limit of memory.

    Raises
    ------
    CoreplanError
        If a file, solver or module is invalid.

    Examples
    --------
    >>> from coreplan.cli import example_path
    >>> config = config_of_files([str(example_path("two_works.yaml"))], ["core", "dp"])
    >>> [instance.name for instance in config.sets[0].instances(config.seed)]
    ['two_works.yaml']
    """
    loaded = _load(modules)
    chosen = [parse_solver(each, loaded.codes) for each in solvers]
    ways = [(each.algorithm, sorted(each.options.items())) for each in chosen]
    for position, way in enumerate(ways):
        if way in ways[:position]:
            same = chosen[ways.index(way)].name
            said = (
                f"solver {chosen[position].name!r} is the same as {same!r}; leave one of them out"
            )
            raise BadSolverError(said, "algorithm")
    files = tuple(find_files(paths))
    name = name_of_set(files)
    run = SetRun(
        name, None, FrozenMapping({}), tuple(chosen), time_limit, memory_limit, files=files
    )
    check_name_of_set(name)
    return _with_files(BenchConfig(name, 0, (run,), loaded.modules))


def _load(modules: Iterable[str], folder: Path | None = None) -> Loaded:
    loaded = Loaded()
    for each in modules:
        loaded = loaded.and_also(load_module(each, Path() if folder is None else folder))
    return loaded


def _with_files(config: BenchConfig) -> BenchConfig:
    """The configuration with the problems of its files, which are read here."""
    sets, notes, mistakes = [], list(config.notes), []
    for each in config.sets:
        if each.files is not None:
            try:
                read, remarks = read_instances(each.set, each.files)
            except CoreplanError as error:
                mistakes.append(str(error))
                continue
            notes += remarks
            each = replace(each, read=read)
        sets.append(each)
    if mistakes:
        raise CoreplanError("\n".join(dict.fromkeys("\n".join(mistakes).splitlines())))
    return replace(config, sets=tuple(sets), notes=tuple(dict.fromkeys(notes)))


def _take_config(document: Document, *, folder: Path, loaded: Loaded) -> BenchConfig:
    document.check_format(FORMAT)
    top = document.fields(
        document.root,
        (),
        "the configuration",
        ("format", "solvers", "sets"),
        ("name", "seed", "limits", "modules"),
    )
    name = document.stem
    if "name" in top:
        name = document.name(top["name"], ("name",), "the configuration")
    seed = _whole(document, top, (), "seed", 0) if "seed" in top else 0
    limits = _limits(document, top, ())
    if "modules" in top:
        loaded = loaded.and_also(_modules(document, top["modules"], folder))
    solvers = _solvers(document, top["solvers"], loaded.codes) if "solvers" in top else {}
    sets = []
    if "sets" in top:
        listed = document.items(top["sets"], ("sets",), "the test sets")
        if not listed and isinstance(top["sets"], list):
            document.fail(("sets",), "found an empty list; expected one test set or more")
        for position, each in enumerate(listed):
            place = ("sets", position)
            sets.append(_set(document, each, place, folder, solvers, limits, seed or 0))
        _check_threads(document, [each for each in sets if each is not None])
    return document.finish(
        lambda: BenchConfig(
            name, seed or 0, tuple(each for each in sets if each is not None), loaded.modules
        )
    )


def _modules(document: Document, value: Any, folder: Path) -> Loaded:
    loaded = Loaded()
    for position, name in enumerate(document.items(value, ("modules",), "modules of your own")):
        place: Place = ("modules", position)
        if not isinstance(name, str):
            kind = document.kind(place)
            document.fail(place, f"found {kind}; expected a file that ends in .py, or a module")
            continue
        try:
            loaded = loaded.and_also(load_module(name, folder))
        except CoreplanError as error:
            document.fail(place, str(error))
    return loaded


def _solvers(document: Document, value: Any, codes: Mapping[str, str]) -> dict[str, Solver]:
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
        code = codes.get(algorithm, "") if isinstance(algorithm, str) else ""
        solver = Solver(name, algorithm, FrozenMapping(tidy(options)), code)
        found[name] = solver
        try:
            solver.check()
        except BadSolverError as error:
            wrong = (*place, error.part)
            if error.part in options:
                wrong = (*place, "options", error.part)
            document.fail(wrong, str(error), at_key=error.at_name)
            continue
        text = repr((algorithm, sorted(solver.options.items())))
        if text in same:
            document.fail(
                place, f"the same algorithm with the same options as solver {same[text]!r}"
            )
        same.setdefault(text, name)
    return found


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
    folder: Path,
    solvers: Mapping[str, Solver],
    limits: Mapping[str, Any],
    seed: int,
) -> SetRun | None:
    of_files = isinstance(value, dict) and "files" in value
    if of_files:
        parts = document.fields(
            value, place, "a set of files", ("files",), ("set", "solvers", "limits")
        )
    else:
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
    found = (
        _files(document, parts, place, folder) if of_files else _test_set(document, parts, place)
    )
    if found is None or document.problems:
        return None
    if not of_files:
        try:
            next(generate(found.set, count=1, seed=seed, **dict(found.parameters)))
        except CoreplanError as error:
            document.fail((*place, "parameters"), str(error))
    return replace(
        found,
        count=count,
        solvers=chosen,
        time_limit=merged["time"],
        memory_limit=merged.get("memory"),
        clock=merged.get("clock", WALL),
    )


def _test_set(document: Document, parts: Mapping[str, Any], place: Place) -> SetRun | None:
    """A set with the name and the parameters of a test set."""
    parameters: dict[str, Any] = {}
    if "parameters" in parts:
        members = document.members(
            parts["parameters"], (*place, "parameters"), "parameters by name"
        )
        parameters = {key: tidy(each) for key, each in members.items()}
    if "set" not in parts:
        return None
    name = parts["set"]
    try:
        known = find_test_set(name)
    except ModelError as error:
        document.fail((*place, "set"), str(error))
        return None
    for key, each in parameters.items():
        try:
            known.settle({key: each})
        except ModelError as error:
            unknown = key not in known.parameters
            document.fail((*place, "parameters", key), str(error), at_key=unknown)
    return SetRun(name, None, FrozenMapping(parameters), (), 0.0, None)


def _files(
    document: Document, parts: Mapping[str, Any], place: Place, folder: Path
) -> SetRun | None:
    """A set with the files that its patterns stand for."""
    at: Place = (*place, "files")
    given = parts["files"]
    patterns = [given] if isinstance(given, str) else document.items(given, at, "paths of files")
    if not patterns and isinstance(given, list):
        document.fail(at, "found an empty list; expected one path or more")
    found: dict[Path, ProblemFile] = {}
    for position, pattern in enumerate(patterns):
        here = at if isinstance(given, str) else (*at, position)
        if not (isinstance(pattern, str) and pattern):
            document.fail(here, f"found {document.kind(here)}; expected the path of files, a text")
            continue
        try:
            found.update({each.path: each for each in find_files([pattern], folder)})
        except (ModelError, ValueError) as error:  # a name that is invalid for a file
            document.fail(here, str(error))
    if not found:
        return None
    files = tuple(found.values())
    name = document.name(parts["set"], (*place, "set"), "the set") if "set" in parts else None
    name = name_of_set(files) if name is None else name
    try:
        check_name_of_set(name)
    except ModelError as error:
        document.fail((*place, "set" if "set" in parts else "files"), str(error))
    return SetRun(name, None, FrozenMapping({}), (), 0.0, None, files=files)


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
