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
    >>> str(Variant("core-2016", (("bounds", "expected"), ("merge", False))))
    'CoRe 2016, expected bounds'
    >>> str(Variant("core-2016"))
    'CoRe 2016, merged'
    >>> str(Variant("spudd", (("encoding", "reference"),)))
    'SPUDD, reference encoding'
    >>> str(Variant("spudd", (("actions", "enumerate"), ("merge", False))))
    'SPUDD, stage by stage'
    """

    algorithm: str
    options: Options = ()

    def __str__(self) -> str:
        options = dict(self.options)
        parts = []
        if self.algorithm == "spudd":
            # The paper's is one model with a clock; the other one is ours: reachable states only.
            reference = options.pop("encoding", None) == "reference"
            parts.append("reference encoding" if reference else "stage by stage")
        if self.algorithm in _AS_PUBLISHED and parts != ["reference encoding"]:
            parts += self._away_from_literature(options)
        for name, value in options.items():
            parts.append(f"no {name}" if value is False else f"{name} {value}")
        return ", ".join([self.name, *parts])

    def _away_from_literature(self, options: dict[str, object]) -> Iterator[str]:
        """The differences from the literature in words; removes their options."""
        if options.pop("bounds", None) == "expected":
            yield "expected bounds"
        # The literature keeps start and end times of works; merging is our addition.
        merged = bool(options.pop("merge", True))
        if merged:
            yield "merged"
        if options.pop("memo", False):
            yield "memo"
        if self.algorithm == "spudd":
            # As published, joint actions are tried one by one.
            one_by_one = options.pop("actions", None) == "enumerate"
            if one_by_one == merged:
                yield "enumerated actions" if one_by_one else "action variables"

    @property
    def name(self) -> str:
        """The name of the algorithm in figures, without options."""
        return LABELS.get(self.algorithm, self.algorithm)

    @property
    def short(self) -> str:
        """Its name in headlines: the algorithm's for the paper's own variant."""
        return self.name if self.rank == 0 else str(self)

    @property
    def rank(self) -> int:
        """Its place among the variants that may stand for a published algorithm; 0 is the best."""
        ways = (*_as_published(self.algorithm), *_NEAREST.get(self.algorithm, ()))
        return ways.index(self.options) if self.options in ways else len(ways)

    @property
    def order(self) -> tuple[int, int, str]:
        """Its place in legends: published algorithms come before our variants of them."""
        known = list(LABELS)
        place = known.index(self.algorithm) if self.algorithm in known else len(known)
        return place, self.rank, str(self)

    @property
    def is_published(self) -> bool:
        """Whether it is a reading of the published algorithm; for `core`, whether it is complete.

        The published algorithms have two readings of some parts: the bounds of `core-2016`, and the
        model that SPUDD solves.
        """
        return self.options in _as_published(self.algorithm)

    @property
    def is_second_reading(self) -> bool:
        """Whether it goes by the second reading of a published algorithm, in any variant."""
        options = dict(self.options)
        if self.algorithm == "spudd":
            return options.get("encoding") != "reference"
        return options.get("bounds") == "expected"

    @property
    def may_stand_for_published(self) -> bool:
        """Whether it can represent the algorithm in claims if no better variant was run."""
        return self.is_published or self.options in _NEAREST.get(self.algorithm, ())

    @property
    def without(self) -> str | None:
        """The only idea of `core` that is switched off; None for all other variants."""
        off = [name for name, value in self.options if name in IDEAS and value is False]
        lone = self.algorithm == "core" and len(off) == len(self.options) == 1
        return off[0] if lone else None


_PLAIN: Options = (("merge", False),)
_EXPECTED = ("bounds", "expected")

# Readings of the algorithms of the literature, the paper's own first.
_AS_PUBLISHED: Mapping[str, Sequence[Options]] = {
    "dp": (_PLAIN,),
    "spudd": ((("encoding", "reference"),), (("actions", "enumerate"), *_PLAIN)),
    "crg-ps": (_PLAIN,),
    "core-2016": (_PLAIN, (_EXPECTED, *_PLAIN)),
}

# What comes nearest where none of those was run.
_NEAREST: Mapping[str, Sequence[Options]] = {
    "dp": ((),),
    "spudd": (_PLAIN, ()),
    "crg-ps": ((("memo", True), *_PLAIN), (), (("memo", True),)),
    "core-2016": ((("memo", True), *_PLAIN), (), (("memo", True),)),
}

MEMO: Options = (("memo", True), ("merge", False))
"""The paper's searches as published, except that they remember solved joint states."""


def _as_published(algorithm: str) -> Sequence[Options]:
    return _AS_PUBLISHED.get(algorithm, ((),))


def with_expected_bounds(options: Options) -> Options:
    """The options of `core-2016` with the other reading of its bounds."""
    return tuple(sorted((*options, _EXPECTED)))


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
    if different.get("encoding") == "reference":
        different.pop("actions", None)  # it always tries all of them
    return Variant(algorithm, tuple(sorted(different.items())))


def _makes_a_difference(option: Option | None, value: object) -> bool:
    if option is None:  # an algorithm of another version or package
        return value is not None
    return not option.about.same_answer and not option.is_default(value)


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | None) else repr(value)


def headliners(variants: Iterable[Variant]) -> list[Variant]:
    """The variants in a headline: the first published one of each algorithm; all if none is."""
    several = list(variants)
    first: dict[str, Variant] = {}
    for each in several:
        if each.is_published:
            first.setdefault(each.algorithm, each)
    return list(first.values()) or several


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
        """The variant that comes nearest to an algorithm as published.

        For SPUDD it is the reference encoding if that was run, otherwise the one stage by stage.
        """
        return next((v for v in self.variants(algorithm) if v.may_stand_for_published), None)

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
