"""Mappings and lists that cannot change, so that a validated problem stays valid."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, TypeVar

from coreplan.errors import Diagnostic, ModelError
from coreplan.support.checks import Path, found

K = TypeVar("K")
V = TypeVar("V", covariant=True)


class FrozenMapping(Mapping[K, V]):
    """A read-only mapping that keeps its order, can be pickled and, if its values can, hashed.

    Examples
    --------
    >>> FrozenMapping({"a": 1})
    {'a': 1}
    >>> FrozenMapping({"a": 1}) == {"a": 1}
    True
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[K, V] | None = None) -> None:
        self._items: dict[K, V]
        if isinstance(items, FrozenMapping):  # neither of the two changes
            self._items = items._items
        else:
            self._items = dict(items) if items is not None else {}

    def __getitem__(self, key: K) -> V:
        return self._items[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, key: object) -> bool:
        return key in self._items

    # The views of the dictionary inside are much faster than those of the base class, and read-only
    # as well.

    def items(self) -> ItemsView[K, V]:
        """The keys with their values."""
        return self._items.items()

    def keys(self) -> KeysView[K]:
        """The keys."""
        return self._items.keys()

    def values(self) -> ValuesView[V]:
        """The values."""
        return self._items.values()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, FrozenMapping):
            return self._items == other._items
        return self._items == other

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return repr(self._items)

    def __reduce__(self) -> tuple[type[FrozenMapping[K, V]], tuple[dict[K, V]]]:
        return (type(self), (self._items,))


def freeze_sequence(
    value: object, path: Path, what: str, kind: type | None = None
) -> tuple[Any, ...]:
    """Turn a list into a tuple; raises a ModelError for other values or wrong items.

    Examples
    --------
    >>> freeze_sequence([1, 2], ("stages",), "a list of stages")
    (1, 2)
    """
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise ModelError([Diagnostic(path, f"found {found(value)}; expected {what}")])
    items = tuple(value)
    if kind is not None:
        for position, item in enumerate(items):
            if not isinstance(item, kind):
                message = f"found {found(item)}; expected an object of the class {kind.__name__}"
                raise ModelError([Diagnostic((*path, position), message)])
    return items
