"""`coreplan demo`: the bundled example."""

from __future__ import annotations

from cli_runs import Run, valid_result


def test_demo(run: Run) -> None:
    """`demo` solves the bundled example to optimality."""
    code, out, err = run("demo")
    assert (code, err) == (0, "")
    assert "4 contractors, 9 works" in out
    assert "Proven best. This plan " in out
    assert valid_result(run("demo", "--json").out)["status"] == "optimal"
