"""Methods whose work is done further up: trees, explanations and pictures of a policy, and such.

Imports run one way, from upper layers to lower ones. An object of a lower layer may still offer
what an upper layer can do with it, as a method: the upper layer provides the function under a name,
the method asks for it by that name. All layers are imported with the package, so it is there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])
_provided: dict[str, Callable[..., Any]] = {}


def provides(name: str) -> Callable[[_Function], _Function]:
    """Decorate the function that does the work of a method, for instance of ``Policy.tree``."""

    def provide(function: _Function) -> _Function:
        _provided[name] = function
        return function

    return provide


def late(name: str) -> Callable[..., Any]:
    """The function that was provided under a name."""
    return _provided[name]
