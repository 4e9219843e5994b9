"""Methods that upper layers implement: trees, explanations and pictures of a policy, for instance.

Imports go one way, from upper layers to lower ones. A class of a lower layer can still have a
method that an upper layer implements: the upper layer provides the function under a name, and the
method looks it up by that name. If nothing is known under that name, its layer has not been loaded
yet: then all layers are.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])
_provided: dict[str, Callable[..., Any]] = {}


def provides(name: str) -> Callable[[_Function], _Function]:
    """Decorate the function that implements a method, for instance ``Policy.tree``."""

    def provide(function: _Function) -> _Function:
        _provided[name] = function
        return function

    return provide


def late(name: str) -> Callable[..., Any]:
    """Look up the function that was provided under a name."""
    if name not in _provided:
        load_all_layers()
    return _provided[name]


def load_all_layers() -> None:
    """Load every layer, so that all that they provide and register is known."""
    importlib.import_module("coreplan.all_layers")
