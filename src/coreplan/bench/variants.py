"""Variants of algorithms: solves are compared by algorithm and options, not by solver name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from coreplan.bench.store import Row
from coreplan.solving.option_fields import Option, options_in
from coreplan.solving.options import CoreOptions
from coreplan.solving.registry import ALGORITHMS

LABELS = {
    "dp": "DP",
    "spudd": "SPUDD",
    "crg-ps": "CRG-PS",
    "core-2016": "CoRe 2016",
    "core": "core",
    "dec-mdp": "Dec-MDP",
}
"""Names of the algorithms in figures, in the order of legends."""

IDEAS = tuple(name for name, each in options_in(CoreOptions).items() if each.about.idea)
"""Options of `core` that switch one of its ideas off."""

Options = tuple[tuple[str, object], ...]


@dataclass(frozen=True)
class Variant:
    """An algorithm with the options that change its course.

    Attributes
    ----------
    algorithm
        Its name.
    options
        Options that differ from their defaults, by name; options that do not change the answer,
        for instance `threads` and `seed`, are left out.

    Examples
    --------
    >>> str(Variant("core-2016", (("merge", False),)))
    'CoRe 2016'
    >>> str(Variant("core-2016", (("memo", True), ("merge", False))))
    'CoRe 2016, memo'
    >>> str(Variant("core-2016"))
    'CoRe 2016, merged'
    >>> str(Variant("spudd", (("encoding", "reference"),)))
    'SPUDD, reference encoding'
    """

    algorithm: str
    options: Options = ()

    def __str__(self) -> str:
        label = LABELS.get(self.algorithm, self.algorithm)
        options = dict(self.options)
        parts = []
        if options.get("encoding") == "reference":
            # It has its own states and actions.
            options.pop("encoding")
            parts.append("reference encoding")
        elif self.algorithm in _PUBLISHED:
            # The literature keeps start and end times of works; merging is our addition.
            if options.pop("merge", True):
                parts.append("merged")
            if options.pop("memo", False):
                parts.append("memo")
            if self.algorithm == "spudd":
                # As published, joint actions are tried one by one.
                one_by_one = options.pop("actions", None) == "enumerate"
                if one_by_one == bool(parts):
                    parts.append("enumerated actions" if one_by_one else "action variables")
        for name, value in options.items():
            parts.append(f"no {name}" if value is False else f"{name} {value}")
        return ", ".join([label, *parts])

    @property
    def order(self) -> tuple[int, int, str]:
        """Its place in legends: published algorithms come before our variants of them."""
        known = list(LABELS)
        place = known.index(self.algorithm) if self.algorithm in known else len(known)
        ways = _PUBLISHED.get(self.algorithm, ((),))
        rank = ways.index(self.options) if self.options in ways else len(ways)
        return place, rank, str(self)

    @property
    def is_published(self) -> bool:
        """Whether it is as published or, for `core`, has all its ideas."""
        return self.options == _PUBLISHED.get(self.algorithm, ((),))[0]

    @property
    def without(self) -> str | None:
        """The only idea of `core` that is switched off; None for all other variants."""
        off = [name for name, value in self.options if name in IDEAS and value is False]
        lone = self.algorithm == "core" and len(off) == len(self.options) == 1
        return off[0] if lone else None


# Per algorithm of the paper, the variant to look for first.
_PUBLISHED: Mapping[str, Sequence[Options]] = {
    "dp": ((("merge", False),), ()),
    "spudd": (
        (("actions", "enumerate"), ("merge", False)),
        (("merge", False),),
        (),
        (("encoding", "reference"),),
    ),
    "crg-ps": ((("merge", False),), (("memo", True), ("merge", False)), (), (("memo", True),)),
    "core-2016": ((("merge", False),), (("memo", True), ("merge", False)), (), (("memo", True),)),
}

MEMO: Options = (("memo", True), ("merge", False))
"""The paper's searches as published, except that they remember solved joint states."""


def variant_of(row: Row) -> Variant:
    """The variant that made a solve."""
    return make_variant(row.algorithm, row.options)


def make_variant(algorithm: str, options: Mapping[str, object]) -> Variant:
    """The variant of an algorithm with given options."""
    known = options_in(ALGORITHMS[algorithm].options) if algorithm in ALGORITHMS else {}
    different = {
        name: _plain(value)
        for name, value in options.items()
        if _makes_a_difference(known.get(name), value)
    }
    return Variant(algorithm, tuple(sorted(different.items())))


def _makes_a_difference(option: Option | None, value: object) -> bool:
    if option is None:  # an algorithm of another version or package
        return value is not None
    return not option.about.same_answer and not option.is_default(value)


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | None) else repr(value)


class Solves:
    """Solves by variant and instance, in the order of the instances.

    If one variant solved an instance several times (with other limits, or in other versions), the
    solve that started last counts.

    Parameters
    ----------
    rows
        The stored solves.
    sets
        Names of the test sets to keep.
    """

    def __init__(self, rows: Iterable[Row], *sets: str) -> None:
        self._by: dict[Variant, dict[str, Row]] = {}
        self._instances: dict[str, Row] = {}
        for row in rows:
            if not sets or row.set in sets:
                solves = self._by.setdefault(variant_of(row), {})
                if row.digest not in solves or solves[row.digest].started <= row.started:
                    solves[row.digest] = row
                self._instances.setdefault(row.digest, row)

    def __iter__(self) -> Iterator[Row]:
        for solves in self._by.values():
            yield from solves.values()

    def __getitem__(self, variant: Variant) -> Mapping[str, Row]:
        """The solves of a variant, by the digest of the instance."""
        return self._by.get(variant, {})

    @property
    def instances(self) -> list[str]:
        """The digests of all instances."""
        return list(self._instances)

    def variants(self, *algorithms: str) -> list[Variant]:
        """The variants that were run (of these algorithms), in the order of legends."""
        found = [each for each in self._by if not algorithms or each.algorithm in algorithms]
        return sorted(found, key=lambda variant: variant.order)

    def published(self, algorithm: str) -> Variant | None:
        """The variant that comes nearest to an algorithm as published."""
        ways = _PUBLISHED.get(algorithm, ((),))
        return next((each for each in self.variants(algorithm) if each.options in ways), None)

    def main(self) -> list[Variant]:
        """The variants in figures: no decentralised solvers, no `core` with ideas switched off."""
        return [
            each
            for each in self.variants()
            if each.algorithm != "dec-mdp" and (each.algorithm != "core" or not each.options)
        ]

    def solved(self, variant: Variant | None) -> dict[str, Row]:
        """The solves of a variant that ended with a proof."""
        return {} if variant is None else {k: r for k, r in self[variant].items() if r.solved}
