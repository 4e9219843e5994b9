"""Tests of how files are opened and read: how much, and from what."""

from __future__ import annotations

import gzip
import io
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from cli_runs import SMALL, Run
from coreplan.bench.config import read_config
from coreplan.domains.maintenance.formats.calendar import read_calendar
from coreplan.domains.maintenance.formats.schedule import read_schedule
from coreplan.domains.maintenance.works import read_works
from coreplan.errors import FormatError
from coreplan.files import reading
from coreplan.files.reading import MOST_BYTES, read_bytes
from coreplan.formats import read_plan, read_problem, read_result, read_state
from coreplan.policies.policy import read_policy
from coreplan.proof.certificate import read_certificate

NEEDS_ZERO = pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no /dev/zero")


def command(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own that may use three gigabytes."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))

    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-m", "coreplan.cli", *arguments],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
        **options,
    )


@NEEDS_ZERO
@pytest.mark.parametrize("name", ["/dev/zero", "-"])
def test_a_file_without_an_end_is_refused(name: str) -> None:
    """Reading stops at the limit, and the error names it."""
    with Path("/dev/zero").open("rb") as zero:
        done = command("check", name, stdin=zero)
    assert done.returncode == 2
    assert f"is longer than {MOST_BYTES:,} bytes, the most that coreplan reads" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_closed_standard_input() -> None:
    """A standard input that is closed is an error with advice."""
    line = f'"{sys.executable}" -m coreplan.cli check - <&-'
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "error: <standard input>: cannot be read: it is closed; send the content through a pipe, "
        "or name a file\n"
    )


def test_a_standard_input_that_is_a_folder(tmp_path: Path) -> None:
    """A standard input that cannot be read is an error with the reason."""
    line = f'"{sys.executable}" -m coreplan.cli check - < "{tmp_path}"'
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr


class Counted(io.RawIOBase):
    """A stream without an end that counts what was taken from it."""

    taken = 0

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Give as much as is asked for."""
        self.taken += len(buffer)
        return len(buffer)


def test_no_more_is_read_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit holds while a stream is read, whose length nobody knows before."""
    stream = Counted()

    class Input:
        """Stands for the standard input."""

        buffer = io.BufferedReader(stream)
        closed = False

    monkeypatch.setattr(sys, "stdin", Input)
    with pytest.raises(FormatError, match="longer than 3,000,000 bytes"):
        read_bytes("-", 3_000_000)
    assert 3_000_000 < stream.taken <= 3_000_000 + 2 * 2**20


def test_the_limit_itself(tmp_path: Path) -> None:
    """A file may be as long as the limit; one byte more is too long, known before it is read."""
    file = tmp_path / "a.json"
    file.write_bytes(b"x" * 1000)
    assert read_bytes(file, 1000) == (str(file), b"x" * 1000)
    with pytest.raises(FormatError, match="longer than 999 bytes"):
        read_bytes(file, 999)
    with file.open("r+b") as out:
        out.truncate(10**12)  # takes no room on the disk
    with pytest.raises(FormatError, match="longer than"):
        read_bytes(file)


def test_long_certificates(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compressed counts at the length that it has without compression."""
    file = tmp_path / "certificate.json.gz"
    file.write_bytes(gzip.compress(b" " * 50_000))
    monkeypatch.setattr(reading, "MOST_BYTES", 40_000)
    with pytest.raises(FormatError, match="longer than 40,000 bytes"):
        read_certificate(file, read_problem(small))


def test_every_reader_has_the_limit(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Problems, plans, states, calendars, configurations and works lists are all limited."""
    problem = read_problem(small)
    monkeypatch.setattr(reading, "MOST_BYTES", 2000)
    monkeypatch.setattr("coreplan.domains.maintenance.works.opening.MOST_LIST_BYTES", 2000)
    long = tmp_path / "long.json"
    long.write_text(" " * 3000)
    readers: list[Callable[[], object]] = [
        lambda: read_problem(long),
        lambda: read_policy(long, problem),
        lambda: read_schedule(long, problem),
        lambda: read_plan(long, problem),
        lambda: read_state(long, problem),
        lambda: read_calendar(long),
        lambda: read_result(long),
        lambda: read_config(long),
        lambda: read_certificate(long, problem),
        lambda: read_works(long),
    ]
    for read in readers:
        with pytest.raises(FormatError, match="is longer than 2,000 bytes"):
            read()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("suffix", [".yaml", ".json", ""])
def test_named_pipes_can_be_read(run: Run, tmp_path: Path, suffix: str) -> None:
    """A file need not be a regular one."""
    pipe = tmp_path / f"pipe{suffix}"
    os.mkfifo(pipe)
    text = SMALL if suffix == ".yaml" else '{"format": "mpp/1", "horizon": 1, "agents": [1]}'
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    code, _, err = run("check", pipe)
    writer.join()
    if suffix == ".yaml":
        assert (code, err) == (0, "")
    else:
        assert code == 2
        assert ":1:46: agents[0]: found the number 1; expected a contractor, a mapping" in err


def test_dev_stdin_can_be_read() -> None:
    """The standard input can be named as a file, too."""
    done = command("check", "/dev/stdin", input=SMALL)
    assert (done.returncode, done.stderr) == (0, "")
