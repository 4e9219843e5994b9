"""Several outputs of one command: what was computed comes first, and failures cost nothing else."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

import pytest

from cli_runs import Run
from coreplan import FormatError, Policy, SolverError, cli, read_problem, solve
from coreplan.bench.store import Store
from coreplan.errors import CertificateError
from coreplan.files.writing import is_special, write_bytes
from coreplan.proof.certificate import read_certificate, write_certificate
from coreplan.proof.verify import verify
from test_bench_store import make_row

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="the system has no /dev/full")
WORKS = cli.example_path("two_works.yaml")


def fail(*_: Any, **__: Any) -> NoReturn:
    """Fail in a way that nobody thought of."""
    raise ZeroDivisionError("by nothing")


# -- solve ----------------------------------------------------------------------------------------


@needs_full
@pytest.mark.parametrize("as_json", [True, False])
def test_a_certificate_that_cannot_be_written(run: Run, tmp_path: Path, as_json: bool) -> None:
    """The result is printed and the plan is saved; then the error is reported."""
    plan = tmp_path / "p.json"
    flag = ["--json"] if as_json else []
    code, out, err = run("solve", WORKS, "--certificate", FULL, "--save-policy", plan, *flag)
    assert code == 2
    assert err == f"error: {FULL}: cannot be written: No space left on device\n"
    if as_json:
        assert json.loads(out)["status"] == "optimal"
    else:
        assert "Proven best. This plan " in out
        assert f"the plan is in {plan}" in out
        assert "the certificate is in" not in out
    Policy.load(plan, read_problem(WORKS))


@needs_full
def test_every_failure_is_reported(run: Run) -> None:
    """Two files that cannot be written are two errors; the result is printed all the same."""
    code, out, err = run("solve", WORKS, "--certificate", FULL, "--save-policy", FULL, "--json")
    assert code == 2
    assert json.loads(out)["status"] == "optimal"
    assert err.count("No space left on device") == 2


@needs_full
def test_a_plan_that_cannot_be_written(run: Run, tmp_path: Path) -> None:
    """The certificate is written also where the plan cannot be."""
    proof = tmp_path / "c.json"
    code, out, err = run("solve", WORKS, "--certificate", proof, "--save-policy", FULL, "--json")
    assert (code, err.count("error:")) == (2, 1)
    assert json.loads(out)["status"] == "optimal"
    assert verify(read_problem(WORKS), proof).confirmed


@needs_full
@pytest.mark.parametrize("flag", [[], ["--json"]])
def test_an_output_that_cannot_be_written(tmp_path: Path, flag: list[str]) -> None:
    """Plan and certificate are saved also where the result cannot be printed."""
    plan, proof = tmp_path / "p.json", tmp_path / "c.json.gz"
    command = [sys.executable, "-m", "coreplan.cli", "solve", str(WORKS), *flag]
    with FULL.open("w") as full:
        done = subprocess.run(
            [*command, "--save-policy", str(plan), "--certificate", str(proof)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    assert done.stderr == "error: the output cannot be written: No space left on device\n"
    Policy.load(plan, read_problem(WORKS))
    assert verify(read_problem(WORKS), proof).confirmed


@pytest.mark.parametrize(
    ("place", "code", "said"),
    [
        (
            "coreplan.solving.engine.core.certify",
            2,
            "the certificate cannot be made: ZeroDivision",
        ),
        (
            "coreplan.proof.certificate.certificate_to_dict",
            2,
            "the certificate cannot be made: ZeroDiv",
        ),
        (
            "coreplan.policies.policy.Policy.save",
            1,
            "internal error: ZeroDivisionError: by nothing",
        ),
    ],
)
def test_whatever_fails_later(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, code: int, said: str
) -> None:
    """A mistake in making an output costs neither the result nor the other files."""
    monkeypatch.setattr(place, fail)
    plan, proof = tmp_path / "p.json", tmp_path / "c.json"
    ended, out, err = run("solve", WORKS, "--certificate", proof, "--save-policy", plan, "--json")
    assert ended == code
    assert json.loads(out)["status"] == "optimal"
    assert said in err
    assert plan.exists() != proof.exists()


def test_no_temporary_folder(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Certificates are written and checked without temporary files elsewhere."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    proof = tmp_path / "c.json.gz"
    assert run("solve", WORKS, "--certificate", proof, "--json").code == 0
    assert run("verify", WORKS, proof).code == 0


# -- the same from Python -------------------------------------------------------------------------


def test_the_error_holds_the_result(tmp_path: Path) -> None:
    """`solve` raises what holds the result if the certificate cannot be written."""
    problem = read_problem(WORKS)
    with pytest.raises(CertificateError) as caught:
        solve(problem, certificate=tmp_path / "missing" / "c.json")
    assert isinstance(caught.value, FormatError)
    assert "cannot be written: No such file or directory" in str(caught.value)
    assert caught.value.result == solve(problem).__class__(
        **vars(caught.value.result)
    )  # a whole result
    assert caught.value.result.policy is not None
    caught.value.result.save_certificate(tmp_path / "c.json")
    assert verify(problem, tmp_path / "c.json").confirmed


def test_a_certificate_in_memory(tmp_path: Path) -> None:
    """With certificate=True it is part of the result, and made once."""
    problem = read_problem(WORKS)
    assert solve(problem).certificate is None
    assert solve(problem, certificate=False).certificate is None
    result = solve(problem, certificate=True)
    assert "certificate" not in result.to_dict()
    certificate = result.certificate
    assert certificate is not None
    assert result.certificate is certificate
    assert verify(problem, certificate).confirmed
    with pytest.raises(CertificateError, match="certificate=True"):
        solve(problem).save_certificate(tmp_path / "c.json")
    with pytest.raises(SolverError, match="certificate is 5"):
        solve(problem, certificate=5)


# -- files as a whole or not at all ---------------------------------------------------------------


def test_gzip_is_written_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compressed certificate that cannot be completed leaves the old one, and nothing beside."""
    problem = read_problem(WORKS)
    certificate = solve(problem, certificate=True).certificate
    assert certificate is not None
    path = tmp_path / "c.json.gz"
    write_certificate(certificate, path)
    old = path.read_bytes()
    assert gzip.decompress(old).startswith(b"{")
    assert old[4:8] == bytes(4)  # no time in it: the same content, the same file
    for error in (OSError(28, "No space left on device"), KeyboardInterrupt()):

        def broken(_: bytes, error: BaseException = error) -> Any:
            yield old[:100]
            raise error

        monkeypatch.setattr("coreplan.proof.certificate.gzipped", broken)
        with pytest.raises((FormatError, KeyboardInterrupt)):
            write_certificate(certificate, path)
        assert path.read_bytes() == old
        assert [each.name for each in tmp_path.iterdir()] == ["c.json.gz"]
    monkeypatch.undo()
    assert verify(problem, read_certificate(path, problem)).confirmed


def test_special_files(tmp_path: Path) -> None:
    """Devices, pipes and open files are written as they are, not replaced."""
    assert is_special("/dev/null")
    assert is_special("/dev/stdout")
    assert is_special("/dev/fd/7")
    assert not is_special(tmp_path / "new.json")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_bytes(b"through", pipe)
    assert os.read(reader, 99) == b"through"
    os.close(reader)
    assert pipe.is_fifo()
    kept = tmp_path / "kept"
    with kept.open("wb") as file:
        file.write(b"before, ")
        file.flush()
        write_bytes([b"in ", b"pieces"], f"/dev/fd/{file.fileno()}")
        file.write(b", after")
    assert kept.read_bytes() == b"before, in pieces, after"


def test_a_plan_on_the_standard_output(tmp_path: Path) -> None:
    """The plan may follow the result on the standard output, also in a file."""
    both = tmp_path / "both"
    command = [sys.executable, "-m", "coreplan.cli", "solve", str(WORKS), "--json"]
    with both.open("w") as file:
        done = subprocess.run(
            [*command, "--save-policy", "/dev/stdout"],
            stdout=file,
        )
    assert done.returncode == 0
    first, rest = both.read_text().split("\n", 1)
    assert json.loads(first)["format"] == "result/1"
    assert json.loads(rest)["format"] == "policy/1"


# -- other commands -------------------------------------------------------------------------------


@needs_full
@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["plan", WORKS, "--save-policy", FULL, "--json"], '"exact": true'),
        (["plan", WORKS, "--save-policy", FULL], "earns in all"),
        (["report", WORKS, "-o", FULL, "--json"], '"optimal": true'),
        (["report", WORKS, "-o", FULL], "Proven best. This plan "),
        (["trace", WORKS, "-o", FULL, "--json"], '"algorithm": "core-2016"'),
        (["crg", WORKS, "-o", FULL, "--json"], '"merged": false'),
    ],
)
def test_files_of_other_commands(run: Run, arguments: list[object], printed: str) -> None:
    """What was found is printed although a file cannot be written, and the exit code is 2."""
    code, out, err = run(*arguments)
    assert code == 2
    assert f"{FULL}: cannot be written: No space left on device" in err
    if "--json" in arguments:
        json.loads(out)
    assert printed in out


@pytest.mark.parametrize("as_json", [True, False])
def test_a_chart_that_fails(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    """The result is printed, and the plan saved, where the chart cannot be made."""
    monkeypatch.setattr("coreplan.domains.maintenance.view.plan_view.rules_of", fail)
    plan = tmp_path / "p.json"
    code, out, _ = run("plan", WORKS, "--save-policy", plan, *(["--json"] if as_json else []))
    assert code == 1
    assert plan.exists()
    if as_json:
        shown = json.loads(out)
        assert shown["result"]["status"] == "optimal"
        assert shown["value"] is None
        assert shown["exact"] is False
    else:
        assert "Proven best. This plan " in out


def test_a_calendar_that_cannot_be_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The problem is there although its calendar is not, and the exit code says that."""
    assert run("template", tmp_path).code == 0

    def refuse(_: Any, path: object) -> NoReturn:
        raise FormatError(str(path), [])

    monkeypatch.setattr("coreplan.cli.import_works.write_calendar", refuse)
    works = tmp_path / "works_with_dates.csv"
    arguments = [works, tmp_path / "hindrance.csv", "--horizon", 12, "--start-date", "2026-03-02"]
    target = tmp_path / "problem.yaml"
    code, out, _ = run("import", *arguments, "-o", target, "--json")
    assert code == 2
    assert json.loads(out)["calendar"] is None
    read_problem(target)


@needs_full
def test_table_and_summary(run: Run, tmp_path: Path) -> None:
    """A summary of results is printed also where the table cannot be written."""
    results = tmp_path / "r.sqlite"
    with Store(results, create=True) as store:
        store.add(make_row(1))
    code, out, err = run("bench", "show", results, "--csv", FULL, "--json")
    assert code == 2
    assert json.loads(out)["rows"] == 1
    assert "cannot be written" in err
