"""Shared code of all writers: JSON, YAML and CSV text, and files that are replaced completely."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from coreplan.errors import Diagnostic, FormatError

WIDTH = 100

# A text that every YAML reader takes for this text.
_SAFE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*([ /.-][A-Za-z0-9_]+)*")
_WORDS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}
# Characters that YAML needs escaped and JSON does not.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")

_FORMULA = re.compile("'*[=+@\t\r-]")
_OPEN_FILE = re.compile(r"/dev/(?:(stdout|stderr)|fd/([0-9]{1,4}))")
_PIECE = 1 << 20
_unfinished: set[str] = set()
"""Temporary names of files that are being written."""


def tidy(value: Any) -> Any:
    """Turn a value into plain dicts and lists, with whole numbers as integers."""
    if isinstance(value, Mapping):
        return {key: tidy(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [tidy(each) for each in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    return value


def to_json(value: Any) -> str:
    """A document as JSON text, one line for each part that fits."""
    return _block_json(value, 0) + "\n"


def _block_json(value: Any, indent: int) -> str:
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or len(flat) + indent <= WIDTH:
        return flat
    pad = " " * (indent + 2)
    if isinstance(value, dict):
        inside = [
            f"{pad}{json.dumps(key, ensure_ascii=False)}: {_block_json(each, indent + 2)}"
            for key, each in value.items()
        ]
        return "{\n" + ",\n".join(inside) + "\n" + " " * indent + "}"
    inside = [pad + _block_json(each, indent + 2) for each in value]
    return "[\n" + ",\n".join(inside) + "\n" + " " * indent + "]"


def to_yaml(value: Any) -> str:
    """A document as YAML text that means the same in YAML 1.1 and 1.2."""
    return "\n".join(_block_yaml(value, 0)) + "\n"


def _block_yaml(value: Any, indent: int) -> list[str]:
    """The lines of a mapping or list that does not fit into one line."""
    pad = " " * indent
    lines = []
    if isinstance(value, dict):
        for key, each in value.items():
            flat = _flat_yaml(each)
            head = f"{pad}{_yaml_scalar(key)}:"
            if len(head) > 1000:  # YAML's limit for a key without a question mark
                return [pad + _flat_yaml(value)]
            if _stands_alone(each) or len(head) + len(flat) < WIDTH:
                lines.append(f"{head} {flat}")
            else:
                lines.append(head)
                lines += _block_yaml(each, indent + 2)
        return lines
    if isinstance(value, list):
        for each in value:
            flat = _flat_yaml(each)
            if _stands_alone(each) or indent + len(flat) + 2 < WIDTH:
                lines.append(f"{pad}- {flat}")
            else:
                inside = _block_yaml(each, indent + 2)
                lines.append(f"{pad}- {inside[0].lstrip(' ')}")
                lines += inside[1:]
        return lines
    return [pad + _flat_yaml(value)]


def _stands_alone(value: Any) -> bool:
    return not isinstance(value, dict | list) or not value


def _flat_yaml(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{_yaml_key(key)}: {_flat_yaml(each)}" for key, each in value.items())
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(_flat_yaml(each) for each in value) + "]"
    return _yaml_scalar(value)


def _yaml_key(key: str) -> str:
    text = _yaml_scalar(key)
    return f"? {text}" if len(text) > 1000 else text


def _yaml_scalar(value: Any) -> str:
    if isinstance(value, str):
        if _SAFE.fullmatch(value) and value.lower() not in _WORDS:
            return value
        quoted = json.dumps(value, ensure_ascii=False)
        return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)
    text = json.dumps(value)
    # In YAML 1.1, 1e-06 is a text and 1.0e-06 a number.
    return text.replace("e", ".0e") if isinstance(value, float) and "." not in text else text


def write_document(value: Any, path: str | Path) -> None:
    """Write a document as JSON, or as YAML if the name ends in .yaml or .yml."""
    is_yaml = Path(path).suffix.lower() in (".yaml", ".yml")
    write_text(to_yaml(value) if is_yaml else to_json(value), path)


def write_text(text: str, path: str | Path) -> None:
    """Write a text file completely or not at all; ``-`` is the standard output.

    The old content stays until the new content is complete.
    """
    if str(path) == "-":
        sys.stdout.write(text)
        return
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _cannot_be_written(path, error) from None
    write_bytes(content, path)


def write_bytes(content: bytes | Iterable[bytes], path: str | Path) -> None:
    """Write a binary file completely or not at all.

    Parameters
    ----------
    content
        The whole content, or its pieces in order.
    path
        The file. Devices, pipes and open files (``/dev/stdout``) are written directly.
    """
    pieces = (content,) if isinstance(content, bytes) else content
    target = Path(path)
    temporary = ""
    try:
        if is_special(path):
            _write_directly(pieces, str(path))
            return
        target = target.resolve()  # replace the target of a link, not the link
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:20]}.")
        _unfinished.add(temporary)
        with os.fdopen(handle, "wb") as file:
            file.writelines(pieces)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        Path(temporary).chmod(mode)
        Path(temporary).replace(target)
    except (OSError, ValueError) as error:
        raise _cannot_be_written(path, error) from None
    finally:
        if temporary:
            with suppress(OSError):  # it has its final name by now, unless writing failed
                Path(temporary).unlink()
            _unfinished.discard(temporary)


def remove_unfinished() -> None:
    """Remove incomplete files, before the process ends at once."""
    for temporary in list(_unfinished):
        with suppress(OSError):
            Path(temporary).unlink()


def is_special(path: str | Path) -> bool:
    """Whether a path is a device, a pipe or an open file, which cannot be replaced."""
    return _open_file(str(path)) is not None or (Path(path).exists() and not Path(path).is_file())


def _open_file(path: str) -> int | None:
    """The number of the open file that a path names."""
    match = _OPEN_FILE.fullmatch(path)
    if match is None:
        return None
    return {"stdout": 1, "stderr": 2}.get(match[1]) if match[1] else int(match[2])


def _write_directly(pieces: Iterable[bytes], path: str) -> None:
    number = _open_file(path)
    if number is None:
        with Path(path).open("wb") as file:
            file.writelines(pieces)
        return
    # If opened by name, a file would be overwritten from its beginning.
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    with os.fdopen(os.dup(number), "wb") as file:
        file.writelines(pieces)


def gzipped(content: bytes) -> Iterator[bytes]:
    """Compress piece by piece; the same content always gives the same bytes."""
    compressor = zlib.compressobj(6, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    for begin in range(0, len(content), _PIECE):
        yield compressor.compress(content[begin : begin + _PIECE])
    yield compressor.flush()


def to_csv(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as CSV text; texts are made safe by :func:`cell_text`."""
    lines = []
    for row in rows:
        line = io.StringIO()
        # The writer quotes only characters of the line end, so \r must be part of it.
        csv.writer(line, lineterminator="\r\n").writerow([cell_text(cell) for cell in row])
        lines.append(line.getvalue().removesuffix("\r\n") + "\n")
    return "".join(lines)


def cell_text(value: Any) -> Any:
    """Make a value safe for a table cell: no spreadsheet program takes it for a formula.

    A text that begins like a formula gets a leading apostrophe. So does a text that would otherwise
    look the same. Numbers stay numbers.

    Examples
    --------
    >>> cell_text("=1+1"), cell_text("bridge"), cell_text(-2.5)
    ("'=1+1", 'bridge', -2.5)
    """
    if isinstance(value, str) and _FORMULA.match(value):
        return f"'{value}"
    return value


def _cannot_be_written(path: str | Path, error: Exception) -> FormatError:
    reason = getattr(error, "strerror", None) or str(error)
    return FormatError(str(path), [Diagnostic((), f"cannot be written: {reason}")])


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
