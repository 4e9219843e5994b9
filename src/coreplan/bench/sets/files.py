"""Test sets of problem files: single files, folders and patterns."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from coreplan.bench.sets.catalogue import TEST_SETS
from coreplan.bench.sets.instance import Instance
from coreplan.domains.maintenance.works import read_works
from coreplan.domains.maintenance.works.opening import PROBLEM_ENDINGS, FileContent, is_list
from coreplan.errors import MOST_PROBLEMS, CoreplanError, FormatError, ModelError
from coreplan.files.reading import Document, decode_file, read_bytes, take_document
from coreplan.files.schemas import FORMATS
from coreplan.formats.problem import problem_readers, read_any_problem
from coreplan.model.problem import PlanningProblem
from coreplan.support.frozen import FrozenMapping

_PATTERN = frozenset("*?[")
_NAMED = 3


@dataclass(frozen=True)
class ProblemFile:
    """A file that should be a problem.

    Attributes
    ----------
    path
        Its path.
    named
        Whether the file itself was asked for, or by a pattern, and not only its folder.
    """

    path: Path
    named: bool


def find_files(patterns: Sequence[str], folder: str | Path = ".") -> list[ProblemFile]:
    """The files that paths of files, folders and patterns stand for, each one once.

    Parameters
    ----------
    patterns
        Paths, relative to `folder`. In a pattern, ``*`` and ``?`` stand for letters of a name, and
        ``**`` for any folders. A folder stands for its files with the endings of problems.
    folder
        Where relative paths begin.

    Raises
    ------
    ModelError
        If one of them stands for no file.
    """
    found: dict[Path, ProblemFile] = {}
    for pattern in patterns:
        place = Path(folder) / pattern
        if place.is_dir():
            inside = [each for each in _inside(place) if each.suffix.lower() in PROBLEM_ENDINGS]
            if not inside:
                endings = ", ".join(PROBLEM_ENDINGS)
                raise ModelError(f"the folder {pattern!r} has no file that ends in {endings}")
            files = [ProblemFile(each, False) for each in inside]
        elif _PATTERN & set(pattern) and not place.exists():
            # Not Path.glob: that takes no absolute patterns.
            matching = sorted(glob.iglob(pattern, root_dir=folder, recursive=True))  # noqa: PTH207
            places = [Path(folder) / each for each in matching]
            files = [ProblemFile(each, True) for each in places if is_file(each)]
            if not files:
                raise ModelError(f"no file matches {pattern!r}")
        elif place.exists():
            files = [ProblemFile(place, True)]
        else:
            raise ModelError(f"there is no file or folder {pattern!r}")
        for each in files:
            found.setdefault(each.path, each)
    return list(found.values())


def is_file(path: str | Path) -> bool:
    """Whether a path leads to something that can be read as a file."""
    return Path(path).exists() and not Path(path).is_dir()


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(each for each in folder.iterdir() if is_file(each))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ModelError(f"the folder {str(folder)!r} cannot be read: {reason}") from None


def name_of_set(files: Sequence[ProblemFile]) -> str:
    """The name of a set of files that has none: that of the folder that all are in."""
    return _common_folder(files).name or "files"


def check_name_of_set(name: str) -> None:
    """Raise a ModelError if a set of files has the name of a test set of coreplan."""
    if name in TEST_SETS:
        raise ModelError(
            f"{name!r} is a test set of coreplan; give the files another name (`set: NAME`)"
        )


def read_instances(
    name: str, files: Sequence[ProblemFile]
) -> tuple[tuple[Instance, ...], tuple[str, ...]]:
    """Read problem files as the instances of a test set.

    Instances have the paths of their files as names, from the folder that all are in. Files of
    folders that say that they are something else, such as a schedule, are left out.

    Parameters
    ----------
    name
        The name of the set.
    files
        The files, in this order.

    Returns
    -------
    tuple
        The instances; and notes for people, on files that were left out, or are the same problem.

    Raises
    ------
    CoreplanError
        With the mistakes of all broken files, by file and line; or if no problem is left.
    """
    folder = _common_folder(files)
    instances: dict[str, Instance] = {}
    notes: list[str] = []
    left_out: list[str] = []
    broken: list[str] = []
    for each in files:
        short = Path(os.path.relpath(each.path.absolute(), folder)).as_posix()
        try:
            problem, remarks = _read(each)
            if problem is None:
                left_out.append(short)
                continue
            size = {"agents": len(problem.agent_names), "horizon": problem.horizon}
            made = Instance(name, short, FrozenMapping(size), problem)
            digest = made.digest()
        except FormatError as error:
            broken.append(str(error))
            continue
        except CoreplanError as error:
            broken.append(f"{each.path}: {error}")
            continue
        notes += [f"{short}: {remark}" for remark in remarks]
        if digest in instances:
            same = instances[digest].name
            notes.append(f"{short} is the same problem as {same}; it is solved once")
        instances.setdefault(digest, made)
    if broken:
        lines = "\n".join(broken).splitlines()
        more = len(lines) - MOST_PROBLEMS
        rest = [f"and {more:,} more mistakes"] if more > 0 else []
        raise CoreplanError("\n".join([*lines[:MOST_PROBLEMS], *rest]))
    if left_out:
        named = ", ".join(left_out[:_NAMED])
        named += f" and {len(left_out) - _NAMED:,} more" if left_out[_NAMED:] else ""
        notes.insert(0, f"left out, because they are no problems: {named}")
    if not instances:
        raise CoreplanError(f"no file in {folder} is a problem; each of them is something else")
    return tuple(instances.values()), tuple(notes)


def _common_folder(files: Sequence[ProblemFile]) -> Path:
    return Path(os.path.commonpath([each.path.absolute().parent for each in files]))


def _read(file: ProblemFile) -> tuple[PlanningProblem | None, Sequence[str]]:
    """The problem of a file, with remarks; none if a file of a folder is something else."""
    content = FileContent(*read_bytes(file.path))
    if is_list(content):
        works = read_works(content)
        remarks = list(works.notes)
        if works.begun:
            remarks.append("works have started; here, all works are planned from the start")
        return works.problem, remarks
    take = partial(_take, named=file.named)
    return take_document(content.name, decode_file(*content), take), ()


def _take(document: Document, *, named: bool) -> PlanningProblem | None:
    root = document.root
    if not named and isinstance(root, dict):
        # A list, as the value in the file may be one that no set can hold.
        others = [each for each in FORMATS if each not in problem_readers()]
        if "format" not in root or root["format"] in others:
            return None
    return read_any_problem(document)
