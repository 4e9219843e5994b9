"""Instances as files of a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from coreplan.bench.sets.instance import Instance
from coreplan.errors import Diagnostic, FormatError
from coreplan.files.writing import to_yaml, write_text
from coreplan.formats import problem_to_dict


class InstanceFolder:
    """A folder that instances are written into, as ``NAME.json`` or ``NAME.yaml``.

    Parameters
    ----------
    path
        The folder; created if it does not exist.
    yaml
        Whether to write YAML instead of JSON.

    Raises
    ------
    FormatError
        If a file has this name, or the folder cannot be created or written.
    """

    def __init__(self, path: str | Path, *, yaml: bool = False) -> None:
        self.path = Path(path)
        self._suffix = ".yaml" if yaml else ".json"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            taken = isinstance(error, FileExistsError | NotADirectoryError)
            reason = getattr(error, "strerror", None) or str(error)
            message = "is not a folder; expected one, or a new name"
            raise FormatError(
                str(path), [Diagnostic((), message if taken else f"cannot be made: {reason}")]
            ) from None
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise FormatError(
                str(path),
                [Diagnostic((), "is not writable; choose another folder")],
            )

    @property
    def is_empty(self) -> bool:
        """Whether the folder is empty."""
        return not any(self.path.iterdir())

    def file_of(self, instance: Instance) -> Path:
        """The path of an instance's file, whether it exists or not."""
        return self.path / f"{instance.name}{self._suffix}"

    def holds(self, instance: Instance) -> bool | None:
        """Whether its file exists with the same content: False if it differs, None if missing."""
        file = self.file_of(instance)
        if not file.exists():
            return None
        try:
            return file.is_file() and file.read_bytes() == self._text(instance).encode("utf-8")
        except OSError:
            return False

    def check(self, instances: Iterable[Instance]) -> None:
        """Raise a FormatError that names the files with other content than these instances'."""
        differing = [each for each in instances if self.holds(each) is False]
        if differing:
            others = f", and so do {len(differing) - 1} more" if differing[1:] else ""
            raise FormatError(
                str(self.file_of(differing[0])),
                [
                    Diagnostic(
                        (),
                        "has different content, for instance from another seed or other parameters"
                        f"{others}; nothing was written: choose another folder, or add --force",
                    )
                ],
            )

    def write(self, instance: Instance) -> bool:
        """Write a file unless it exists with the same content; whether it was written."""
        if self.holds(instance):
            return False
        write_text(self._text(instance), self.file_of(instance))
        return True

    def _text(self, instance: Instance) -> str:
        if self._suffix == ".yaml":
            return to_yaml(problem_to_dict(instance.problem))
        return instance.text()
