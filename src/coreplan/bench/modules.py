"""Modules of users that register algorithms, test sets or formats for benchmark runs.

A module is a Python file, or the name of an installed one. Files travel as text: the processes that
solve, also those on other machines, run exactly what the run began with.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from coreplan.errors import CoreplanError, shorten
from coreplan.files.reading import read_text
from coreplan.formats.problem import problem_readers
from coreplan.solving.registry import registered_algorithms

ENDING = ".py"
_DIGITS = 12
_LONGEST_REASON = 300


class ModuleError(CoreplanError):
    """A module of a user that cannot be loaded."""


@dataclass(frozen=True)
class Module:
    """A module of a user.

    Attributes
    ----------
    name
        The path of a file as it was given, or the name of an installed module.
    path
        The file; empty if it is not known.
    text
        The source of a file; empty for an installed module.
    code
        The first digits of the SHA-256 of the source: two versions of a module differ in it.
    """

    name: str
    path: str
    text: str
    code: str

    def to_dict(self) -> dict[str, str]:
        """All attributes by name."""
        return {"name": self.name, "path": self.path, "text": self.text, "code": self.code}


@dataclass(frozen=True)
class Loaded:
    """What the modules of a run have registered.

    Attributes
    ----------
    modules
        The modules that solving needs: those that register an algorithm or a format of problems.
        A test set is only needed where the run begins.
    codes
        The code of the module that registered an algorithm, by the algorithm's name.
    """

    modules: tuple[Module, ...] = ()
    codes: Mapping[str, str] = field(default_factory=dict)

    def and_also(self, other: Loaded) -> Loaded:
        """Both together; of an algorithm registered twice, the later one counts."""
        known = {each.name: each for each in (*self.modules, *other.modules)}
        return Loaded(tuple(known.values()), {**self.codes, **other.codes})


def is_module_name(name: str) -> bool:
    """Whether a text is the name of an installed module, such as ``my_package.solvers``."""
    return not name.endswith(ENDING) and all(part.isidentifier() for part in name.split("."))


def load_module(name: str, folder: str | Path = ".") -> Loaded:
    """Load a module in this process.

    Parameters
    ----------
    name
        The path of a file that ends in ``.py``, or the name of an installed module.
    folder
        The folder that a path is relative to.

    Raises
    ------
    ModuleError
        If there is no such module, or its code fails; the message names its line.
    """
    if not name.endswith(ENDING) and not is_module_name(name):
        raise ModuleError(
            f"{shorten(name)!r} is not a module; expected a file that ends in .py, or the name of "
            "an installed module"
        )
    readers, algorithms = problem_readers(), registered_algorithms()
    if name.endswith(ENDING):
        path = Path(folder) / name
        _, text = read_text(path)
        made = Module(name, str(path.absolute()), text, _code(text.encode()))
        _run(made)
    else:
        made = _import(name)
    added = {key for key, each in registered_algorithms().items() if algorithms.get(key) != each}
    formats = {key for key, each in problem_readers().items() if readers.get(key) is not each}
    needed = (made,) if added or formats else ()
    return Loaded(needed, dict.fromkeys(sorted(added), made.code))


def load_again(given: Mapping[str, str]) -> None:
    """Load a module from its attributes, in a process that solves.

    Raises
    ------
    ModuleError
        If its code fails, or an installed module is not the one that the run began with.
    """
    module = Module(**given)
    if module.text:
        _run(module)
        return
    here = _import(module.name)
    if here.code != module.code:
        raise ModuleError(
            f"module {module.name!r} is not the one that the run began with; install the same "
            "version everywhere, and do not change it during a run"
        )


def place_of(error: BaseException, files: Mapping[str, str]) -> str:
    """The last line of some files in which an error arose, as ``my_solver.py, line 12``, or empty.

    Parameters
    ----------
    error
        The error.
    files
        Names of the files by their paths.
    """
    if isinstance(error, SyntaxError) and error.filename is not None and error.filename in files:
        return f"{files[error.filename]}, line {error.lineno}"
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        if frame.f_code.co_filename in files:
            return f"{files[frame.f_code.co_filename]}, line {line}"
    return ""


def in_words(error: BaseException, files: Mapping[str, str]) -> str:
    """The kind, the text and the place of an error in the code of a user."""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    said = f"{type(error).__name__}: {' '.join(text.split())}" if text else type(error).__name__
    place = place_of(error, files)
    return shorten(said, _LONGEST_REASON) + (f" ({place})" if place else "")


def _code(source: bytes) -> str:
    return hashlib.sha256(source).hexdigest()[:_DIGITS]


def _run(module: Module) -> None:
    """Run the source of a file as a module of its own."""
    known_as = f"coreplan_module_{module.code}"
    made: Any = ModuleType(known_as)
    made.__file__ = module.path
    # At the end: a file next to it is found, but cannot stand in for an installed module.
    folder = str(Path(module.path).parent)
    if folder not in sys.path:
        sys.path.append(folder)
    sys.modules[known_as] = made  # dataclasses look there for the types of their fields
    with _errors_of(module):
        exec(compile(module.text, module.path, "exec", dont_inherit=True), made.__dict__)


def _import(name: str) -> Module:
    try:
        found = importlib.util.find_spec(name)
    except Exception as error:  # a package above it is loaded, and may fail
        raise ModuleError(f"module {name!r} cannot be loaded: {in_words(error, {})}") from None
    if found is None:
        raise ModuleError(f"there is no module {name!r}; install it, or name its file ({name}.py)")
    source = Path(found.origin) if found.has_location and found.origin else None
    content = b"" if source is None else source.read_bytes()
    module = Module(name, "" if source is None else str(source), "", _code(content))
    with _errors_of(module):
        importlib.import_module(name)
    return module


@contextlib.contextmanager
def _errors_of(module: Module) -> Iterator[None]:
    """Say which line of a module failed; what it prints goes to the standard error."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except (Exception, SystemExit) as error:
        said = in_words(error, {module.path: Path(module.path).name})
        raise ModuleError(f"module {module.name!r} cannot be loaded: {said}") from None
