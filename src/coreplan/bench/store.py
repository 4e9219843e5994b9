"""Stores of results: one SQLite file with one row per solve; rows never change.

A row is written in one transaction: if the program is killed, the row is complete or absent. The
key of a row identifies the problem and the way it was solved (:func:`solve_key`), and is unique.
Several programs may work on one store: a program *claims* a solve before it starts it, and claims
of processes that have ended do not count.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

from coreplan.bench.owner import Owner
from coreplan.errors import Diagnostic, FormatError
from coreplan.files.writing import tidy

FORMAT_VERSION = 2
"""Version of the tables; SQLite's ``user_version``. Version 1 has no column ``clock``."""

APPLICATION_ID = 0x636F7265
"""The mark of a store: SQLite's ``application_id``, "core" in ASCII."""

PATIENCE = 60.0
"""Seconds to wait for other programs that are writing."""

OUTCOMES = ("result", "no_plan", "killed_time", "killed_memory", "crashed", "error")
"""The possible outcomes of a solve; see :class:`Row`."""

WALL, PROCESSOR = "wall", "processor"
CLOCKS = (WALL, PROCESSOR)
"""The clocks that can measure a solve; see :class:`Row`."""

ProgressPoints = tuple[tuple[float, float, float], ...]

_SCHEMA = f"""
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT_VERSION};
CREATE TABLE solves (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL UNIQUE,
  "set" TEXT NOT NULL,
  instance TEXT NOT NULL,
  parameters TEXT NOT NULL,
  digest TEXT NOT NULL,
  solver TEXT NOT NULL,
  algorithm TEXT NOT NULL,
  options TEXT NOT NULL,
  time_limit REAL NOT NULL,
  memory_limit REAL,
  outcome TEXT NOT NULL,
  message TEXT NOT NULL,
  result TEXT,
  progress TEXT NOT NULL,
  wall_seconds REAL NOT NULL,
  cpu_seconds REAL NOT NULL,
  peak_memory_mb REAL NOT NULL,
  versions TEXT NOT NULL,
  machine TEXT NOT NULL,
  started TEXT NOT NULL,
  clock TEXT NOT NULL DEFAULT '{WALL}'
);
CREATE TRIGGER solves_stay BEFORE DELETE ON solves
  BEGIN SELECT RAISE(ABORT, 'rows of a store are never deleted'); END;
CREATE TRIGGER solves_stay_the_same BEFORE UPDATE ON solves
  BEGIN SELECT RAISE(ABORT, 'rows of a store are never changed'); END;
CREATE TABLE owners (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  place TEXT NOT NULL,
  pid INTEGER NOT NULL,
  born TEXT NOT NULL,
  seen REAL NOT NULL
);
CREATE TABLE claims (
  key TEXT PRIMARY KEY,
  owner INTEGER NOT NULL REFERENCES owners (id)
);
"""


_LOSSES = """
CREATE TABLE IF NOT EXISTS losses (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL,
  message TEXT NOT NULL,
  noted REAL NOT NULL
)
"""
"""The table of solves that were killed from outside. Stores of older versions lack it."""


@dataclass(frozen=True)
class Row:
    """One solve: the problem, the solver, and the outcome.

    Attributes
    ----------
    set, instance, parameters, digest
        The test set, the instance's name, its parameters, and the SHA-256 of its text.
    solver, algorithm, options
        The solver's name in the configuration, the algorithm behind it, and its options.
    time_limit, memory_limit
        Seconds; MB, or None for no limit.
    outcome
        ``result`` if the solver gave one, with or without a proof of optimality; ``no_plan`` if a
        limit was reached before any plan was found; ``killed_time`` or ``killed_memory`` if it
        exceeded a limit and was killed; ``crashed`` if its process ended without an answer, or was
        killed from outside several times; ``error`` if it refused.
    message
        Remarks on the outcome; often empty.
    result
        The ``result/1`` object; None unless the outcome is ``result``.
    progress
        Seconds, lower bound and upper bound whenever a bound had changed; at most 200 of them. A
        bound that is still unknown is infinite.
    wall_seconds, cpu_seconds
        Time of the whole process, reading the instance included.
    peak_memory_mb
        Largest memory of the process, including the program itself.
    versions
        Versions of ``coreplan``, ``python`` and ``numpy``; and ``code``, if a module of the user
        has registered the algorithm: the first digits of the SHA-256 of its source.
    machine
        ``processor``, ``cores``, ``memory_mb``, ``system``, and ``jobs``: the number of solves at
        the same time.
    started
        Time of start in UTC, as ISO 8601.
    clock
        The clock of the time limit and of all seconds in `result` and `progress`: ``wall``, or
        ``processor`` for seconds of processor time of the process that solved.
    """

    set: str
    instance: str
    parameters: Mapping[str, Any]
    digest: str
    solver: str
    algorithm: str
    options: Mapping[str, Any]
    time_limit: float
    memory_limit: float | None
    outcome: str
    message: str = ""
    result: Mapping[str, Any] | None = None
    progress: ProgressPoints = ()
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_memory_mb: float = 0.0
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)
    started: str = ""
    clock: str = WALL

    @property
    def solved(self) -> bool:
        """Whether the solver found and proved the optimum."""
        return self.result is not None and self.result["status"] == "optimal"

    @property
    def seconds(self) -> float:
        """The solver's own time by its clock; without a result, the time of its process."""
        return self.process_seconds if self.result is None else float(self.result["seconds"])

    @property
    def process_seconds(self) -> float:
        """The time of the whole process by its clock, reading the instance included."""
        return self.cpu_seconds if self.clock == PROCESSOR else self.wall_seconds

    @property
    def value(self) -> float | None:
        """The value of the plan; None without a plan."""
        return None if self.result is None else float(self.result["value"])

    @property
    def version(self) -> str:
        """The version of what solved: that of coreplan, and of the module of the algorithm."""
        return version_with_code(self.versions.get("coreplan", ""), self.versions.get("code", ""))

    @property
    def key(self) -> str:
        """The unique key of this solve; see :func:`solve_key`."""
        return solve_key(
            self.digest,
            self.algorithm,
            self.options,
            self.time_limit,
            self.memory_limit,
            self.version,
            self.clock,
        )

    def to_dict(self) -> dict[str, Any]:
        """All attributes by name, for JSON; unknown bounds are None."""
        written = {each.name: getattr(self, each.name) for each in fields(self)}
        written["progress"] = [
            [seconds, *(bound if math.isfinite(bound) else None for bound in bounds)]
            for seconds, *bounds in self.progress
        ]
        for name in _MAPPINGS:
            written[name] = None if written[name] is None else dict(written[name])
        return written


_MAPPINGS = ("parameters", "options", "result", "versions", "machine")
_COLUMNS = tuple(each.name for each in fields(Row))


def version_with_code(version: str, code: str) -> str:
    """The version of coreplan, with the code of a module if it has registered the algorithm."""
    return f"{version}, code {code}" if code else version


def unit_of_time(rows: Iterable[Row]) -> str:
    """The unit of the rows' times, for axes: processor seconds if all were measured by them."""
    return "processor s" if {row.clock for row in rows} == {PROCESSOR} else "s"


def solve_key(
    digest: str,
    algorithm: str,
    options: Mapping[str, Any],
    time_limit: float,
    memory_limit: float | None,
    version: str,
    clock: str = WALL,
) -> str:
    """The unique key of a solve, a short text.

    Parameters
    ----------
    digest
        Digest of the instance.
    algorithm, options
        The algorithm and its options. The solver's name in a configuration does not matter.
    time_limit, memory_limit
        The limits.
    version
        Version of what solves; see :attr:`Row.version`.
    clock
        The clock of the time limit.
    """
    # Keys of older stores, which know one clock only, stay as they are.
    clocks = [] if clock == WALL else [clock]
    parts = tidy([digest, algorithm, options, time_limit, memory_limit, version, *clocks])
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


class Store:
    """An open store; use it in a ``with``.

    Parameters
    ----------
    path
        The file.
    create
        Whether to create the file if it does not exist.

    Raises
    ------
    FormatError
        If the file is not a store, is of a newer version, or cannot be opened. The file is then
        not changed.
    """

    def __init__(self, path: str | Path, *, create: bool = False) -> None:
        self.path = Path(path)
        self._owner: int | None = None
        if create and not self.path.exists():
            with self._errors("made"):
                _create(self.path)
        self._connection = self._open()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release all claims and close the file."""
        if self._owner is not None:
            with suppress(FormatError), self._transaction() as run:
                run("DELETE FROM claims WHERE owner = ?", (self._owner,))
                run("DELETE FROM owners WHERE id = ?", (self._owner,))
            self._owner = None
        self._connection.close()

    def rows(self) -> Iterator[Row]:
        """All rows, in the order in which they were written."""
        with self._errors("read"):
            known = self._columns()
            columns = ", ".join(
                f"'{WALL}'" if name == "clock" and name not in known else f'"{name}"'
                for name in _COLUMNS
            )
            for number, *values in self._connection.execute(
                f"SELECT id, {columns} FROM solves ORDER BY id"
            ):
                try:
                    row = _row(values)
                except (ValueError, TypeError):
                    self._fail(f"row {number} of the table `solves` is damaged; restore a backup")
                yield row

    def keys(self) -> set[str]:
        """The keys of all rows."""
        with self._errors("read"):
            return {key for (key,) in self._connection.execute("SELECT key FROM solves")}

    def add(self, row: Row) -> bool:
        """Write a row and release its claim; False if the row existed before."""
        return self.add_all([row]) > 0

    def add_all(self, rows: Iterable[Row]) -> int:
        """Write rows in one step and release their claims; the number of rows that are new."""
        marks = ", ".join("?" for _ in _COLUMNS)
        columns = ", ".join(f'"{name}"' for name in _COLUMNS)
        added = 0
        with self._transaction() as run:
            if "clock" not in self._columns():  # a store of version 1
                run(f"ALTER TABLE solves ADD COLUMN clock TEXT NOT NULL DEFAULT '{WALL}'")
                run(f"PRAGMA user_version = {FORMAT_VERSION}")
            for row in rows:
                values = row.to_dict()
                for name in (*_MAPPINGS, "progress"):
                    if values[name] is not None:
                        values[name] = json.dumps(values[name], allow_nan=False)
                key = row.key
                added += run(
                    f"INSERT INTO solves (key, {columns}) VALUES (?, {marks}) "
                    "ON CONFLICT DO NOTHING",
                    (key, *values.values()),
                ).rowcount
                run("DELETE FROM claims WHERE key = ?", (key,))
        return added

    def add_loss(self, key: str, message: str) -> int:
        """Record that a solve was killed from outside, and release its claim.

        Returns
        -------
        int
            Number of times that the solve was killed.
        """
        with self._transaction() as run:
            run(_LOSSES)
            run(
                "INSERT INTO losses (key, message, noted) VALUES (?, ?, ?)",
                (key, message, time.time()),
            )
            run("DELETE FROM claims WHERE key = ?", (key,))
            (count,) = run("SELECT COUNT(*) FROM losses WHERE key = ?", (key,)).fetchone()
        return int(count)

    def claim(self, keys: Iterable[str], most: int) -> tuple[list[str], set[str]]:
        """Claim the first solves that are neither done nor claimed by others.

        Parameters
        ----------
        keys
            Keys of the wanted solves, the most urgent first.
        most
            Largest number of solves to claim.

        Returns
        -------
        tuple
            The claimed keys, in the given order; and the examined keys that are done already. Keys
            in neither were not examined, or another program has claimed them.
        """
        ours: list[str] = []
        done: set[str] = set()
        with self._transaction() as run:
            owner = self._own(run)
            living: dict[int, bool] = {owner: False}  # our own claims can be claimed again
            for key in keys:
                if len(ours) >= most:
                    break
                if run("SELECT 1 FROM solves WHERE key = ?", (key,)).fetchone():
                    done.add(key)
                    continue
                held = run("SELECT owner FROM claims WHERE key = ?", (key,)).fetchone()
                if held is not None:
                    if held[0] not in living:
                        living[held[0]] = _is_alive(run, held[0])
                    if living[held[0]]:
                        continue
                run("INSERT OR REPLACE INTO claims (key, owner) VALUES (?, ?)", (key, owner))
                ours.append(key)
        return ours, done

    def release(self, keys: Iterable[str]) -> None:
        """Release claims without a result."""
        with self._transaction() as run:
            for key in keys:
                run("DELETE FROM claims WHERE key = ? AND owner = ?", (key, self._owner))

    def show_life(self) -> None:
        """Show programs on other machines that the owner of our claims still runs."""
        if self._owner is not None:
            with self._transaction() as run:
                run("UPDATE owners SET seen = ? WHERE id = ?", (time.time(), self._owner))

    def _columns(self) -> set[str]:
        """The names of the columns of the table of rows."""
        return {name for _, name, *_ in self._connection.execute("PRAGMA table_info(solves)")}

    def _own(self, run: Any) -> int:
        """The number of this process among the owners; removes owners that have ended."""
        if self._owner is None:
            for (number,) in run("SELECT id FROM owners").fetchall():
                if not _is_alive(run, number):
                    run("DELETE FROM claims WHERE owner = ?", (number,))
                    run("DELETE FROM owners WHERE id = ?", (number,))
            here = Owner.here()
            self._owner = run(
                "INSERT INTO owners (place, pid, born, seen) VALUES (?, ?, ?, ?)",
                (here.place, here.pid, here.born, time.time()),
            ).lastrowid
        assert self._owner is not None
        return self._owner

    def _open(self) -> sqlite3.Connection:
        if not self.path.is_file():
            what = "is not a file" if self.path.exists() else "does not exist"
            self._fail(f"{what}; expected results of `coreplan bench run`")
        with self._errors("read"):
            # Not "rwc": a file that was deleted meanwhile must not come back empty.
            connection = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode=rw",
                uri=True,
                timeout=PATIENCE,
                isolation_level=None,
            )
        try:
            with self._errors("read"):
                (mark,) = connection.execute("PRAGMA application_id").fetchone()
                (version,) = connection.execute("PRAGMA user_version").fetchone()
            if mark != APPLICATION_ID:
                self._fail("is not a store of results; expected one made by `coreplan bench run`")
            if version > FORMAT_VERSION:
                self._fail(
                    f"was made by a newer version of coreplan (format {version} of the store; this "
                    f"version knows {FORMAT_VERSION}); update coreplan"
                )
            with self._errors("read"):
                connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        """A transaction: all changes inside are made, or none."""
        with self._errors("written"):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection.execute
            except BaseException:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if "not a database" in str(error):
                self._fail("is not a store of results; expected one made by `coreplan bench run`")
            self._fail(f"cannot be {doing}: {error}")
        except OSError as error:
            self._fail(f"cannot be {doing}: {error.strerror or error}")

    def _fail(self, message: str) -> NoReturn:
        raise FormatError(str(self.path), [Diagnostic((), message)]) from None


def points_from_json(points: Any) -> ProgressPoints:
    """Points of progress from JSON values; a ValueError or TypeError if they are something else."""
    return tuple(
        (
            seconds,
            -math.inf if lower is None else lower,
            math.inf if upper is None else upper,
        )
        for seconds, lower, upper in points
    )


def _row(values: Sequence[Any]) -> Row:
    """The row in the columns; a ValueError or TypeError if they are damaged."""
    read = dict(zip(_COLUMNS, values, strict=True))
    for name in _MAPPINGS:
        if name == "result" and read[name] is None:
            continue
        read[name] = json.loads(read[name])
        if not isinstance(read[name], dict):
            raise TypeError(name)
    read["progress"] = points_from_json(json.loads(read["progress"]))
    return Row(**read)


def _is_alive(run: Any, number: int) -> bool:
    found = run("SELECT place, pid, born, seen FROM owners WHERE id = ?", (number,)).fetchone()
    return found is not None and Owner(*found[:3]).is_alive(found[3])


def _create(path: Path) -> None:
    """Create an empty store in one step, even if two programs do this at the same time."""
    path = path.resolve()  # a link whose target does not exist yet
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".store-") as folder:
        new = Path(folder) / "new"
        connection = sqlite3.connect(new)
        connection.executescript(_SCHEMA)
        connection.close()
        try:
            path.hardlink_to(new)
        except FileExistsError:
            pass  # another program was faster
        except OSError:  # this file system has no hard links
            if not path.exists():
                new.rename(path)
