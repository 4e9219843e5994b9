"""Stored solves as evidence: which of them are compared, and within which limit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from coreplan.bench.sets import TEST_SETS
from coreplan.bench.sets.parameters import ONE
from coreplan.bench.store import Row
from coreplan.bench.variants import MEMO, Options, Solves, Variant, variant_of

PAPERS_LIMIT = 1800.0
"""Time limit of a solver in the paper, in seconds."""

PLAIN: Options = (("merge", False),)
"""The paper's algorithms: local states keep start and end times."""


@dataclass(frozen=True)
class Reading:
    """A reading of the paper: the options of its algorithms where it leaves a choice.

    Attributes
    ----------
    label
        Its name in tables.
    options
        By algorithm, the options to look for. Algorithms without any are as published.
    """

    label: str
    options: Mapping[str, Options] = field(default_factory=dict)


AS_PUBLISHED = Reading("as published")
"""Bounds as in the paper's equation; SPUDD on the model that its users write, if it was run."""

EXPECTED = Reading("expected bounds", {"core-2016": (("bounds", "expected"), *PLAIN)})
"""Bounds as in the paper's figure of the search."""

STAGES = Reading("SPUDD stage by stage", {"spudd": (("actions", "enumerate"), *PLAIN)})
"""SPUDD on the reachable states of each stage."""

REMEMBERING = Reading("with memory", {"core-2016": MEMO, "crg-ps": MEMO})
"""Searches that remember solved joint states."""

EARLIER = Reading(
    "searches for single agents, actions as listed",
    {
        "core-2016": (("action_order", "listed"), ("decouple", "search"), *PLAIN),
        "crg-ps": (("decouple", "search"), *PLAIN),
    },
)
"""Searches that search for the plan of a decoupled agent, in the order of the problem."""

_REFERENCE: Options = (("encoding", "reference"),)


class Evidence:
    """Solves by set, variant, instance and time limit.

    Parameters
    ----------
    rows
        The solves. If a variant solved an instance twice within one limit, the last one counts.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows: tuple[Row, ...] = tuple(rows)
        self._by: dict[tuple[str, Variant], dict[str, dict[float, Row]]] = {}
        self._sets: dict[str, Solves] = {}
        for row in self.rows:
            solves = self._by.setdefault((row.set, variant_of(row)), {})
            solves.setdefault(row.digest, {})[row.time_limit] = row

    def where(self, keep: Callable[[Row], bool]) -> Evidence:
        """A part of the solves."""
        return Evidence(row for row in self.rows if keep(row))

    def within(self, limit: float) -> Evidence:
        """The solves as a shorter limit would have ended them, without those that had less time."""
        return Evidence(_cut(row, limit) for row in self.rows if row.time_limit >= limit)

    def variant(self, name: str, algorithm: str, reading: Reading) -> Variant | None:
        """The variant of an algorithm that a reading asks for, if it was run on a set."""
        if algorithm in reading.options:
            wanted = Variant(algorithm, reading.options[algorithm])
            return wanted if (name, wanted) in self._by else None
        if algorithm == "spudd" and (name, Variant("spudd", _REFERENCE)) in self._by:
            return Variant("spudd", _REFERENCE)
        if name not in self._sets:
            self._sets[name] = Solves(self.rows, name)
        return self._sets[name].published(algorithm)

    def shared(
        self, name: str, variants: Sequence[Variant | None], **parameters: int
    ) -> list[tuple[Row, ...]]:
        """One row per variant for each instance that all were run on.

        Each instance counts with the longest limit that all variants had.

        Parameters
        ----------
        name
            The test set.
        variants
            The variants; with a None among them nothing is shared.
        **parameters
            Values that the instances must have.
        """
        found = []
        solves = [{} if v is None else self._by.get((name, v), {}) for v in variants]
        for digest, first in solves[0].items():
            limits = set(first).intersection(*(each.get(digest, {}) for each in solves[1:]))
            if not limits:
                continue
            rows = tuple(each[digest][max(limits)] for each in solves)
            if all(rows[0].parameters.get(key) == value for key, value in parameters.items()):
                found.append(rows)
        return found


def _cut(row: Row, limit: float) -> Row:
    if row.time_limit == limit:
        return row
    if row.solved and row.seconds <= limit:
        return replace(row, time_limit=limit)
    return replace(row, time_limit=limit, outcome="no_plan", result=None, wall_seconds=limit)


def changed_parameters(row: Row) -> dict[str, Any]:
    """The parameters of an instance that differ from the defaults of its set.

    Parameters that a set varies itself, for instance the agents of ``mpp``, do not count.
    """
    if row.set not in TEST_SETS:
        return {}
    known = TEST_SETS[row.set].parameters
    return {
        name: value
        for name, value in row.parameters.items()
        if name in known and known[name].use == ONE and value != known[name].default
    }


def default_rows(rows: Iterable[Row]) -> list[Row]:
    """The solves of instances with the default parameters of their set.

    Of a set without any such solve all solves are kept.
    """
    rows = list(rows)
    usual = {row.set for row in rows if not changed_parameters(row)}
    return [row for row in rows if row.set not in usual or not changed_parameters(row)]
