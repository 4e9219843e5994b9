"""Dates, week numbers and closed periods on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli_runs import Run
from cli_runs import run as run
from coreplan import MaintenanceProblem, read_problem
from test_formats_problem import ROBOTS

WORKS = """
format: mpp/1
name: small
horizon: 10
must_complete: true
agents:
  - name: Alpha
    tasks:
      - {name: bridge, duration: 2, cost: 3, delay: {probability: 0.3, duration: 1}}
      - {name: tunnel, duration: 1, cost: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}
"""
CALENDAR = "format: calendar/1\nstart: 2026-03-02\n"
STATE = "Alpha: {done: [bridge]}\n"


@pytest.fixture
def works(tmp_path: Path) -> Path:
    """A problem with a calendar beside it, and a state."""
    path = tmp_path / "works.yaml"
    path.write_text(WORKS, encoding="utf-8")
    (tmp_path / "works.calendar.yaml").write_text(CALENDAR, encoding="utf-8")
    (tmp_path / "now.yaml").write_text(STATE, encoding="utf-8")
    return path


def close(works: Path, *periods: str) -> None:
    """Add closed periods to the calendar."""
    lines = "".join(f"  - {{{period}}}\n" for period in periods)
    works.with_name("works.calendar.yaml").write_text(f"{CALENDAR}closed:\n{lines}", "utf-8")


@pytest.mark.parametrize("command", ["solve", "plan", "explain", "trace"])
def test_stages_by_date(run: Run, works: Path, command: str) -> None:
    """--stage takes a date or a week; one within a step stands for the step, and that is said."""
    state = ("--state", works.with_name("now.yaml"), "--json")
    by_number = run(command, works, "--stage", "3", *state)
    assert by_number.code == 0 and by_number.err == ""
    first = json.loads(by_number.out)
    for date in ("2026-03-23", "wk 13", "25 mrt 2026", "2026-W13"):
        ran = run(command, works, "--stage", date, *state)
        assert ran.code == 0
        assert json.loads(ran.out).get("value") == first.get("value")
        note = "25 Mar 2026 for 23 Mar – 29 Mar 2026" if "mrt" in date else ""
        assert note in ran.err and bool(note) == bool(ran.err)


def test_stages_by_date_need_a_calendar(run: Run, works: Path) -> None:
    """Without a calendar the error says how to give one; --start-date is enough."""
    works.with_name("works.calendar.yaml").unlink()
    given = ("--stage", "2026-03-23", "--state", works.with_name("now.yaml"))
    ran = run("solve", works, *given)
    assert ran.code == 2
    assert "add --start-date DATE, or write a calendar beside it, works.calendar.yaml" in ran.err
    assert run("solve", works, *given, "--start-date", "2026-W10").code == 0
    assert run("explain", works, *given, "--start-date", "2026-W10").code == 0
    ran = run("trace", works, *given)
    assert ran.code == 2 and "--start-date" not in ran.err and "works.calendar.yaml" in ran.err


@pytest.mark.parametrize(
    ("date", "said"),
    [
        ("2026-03-01", "before the first day of the plan, 2 Mar 2026"),
        ("2026-05-11", "after the plan; its last week is 4 May – 10 May 2026"),
        ("06-04-2026", "--dates dmy (the day) or --dates mdy (the month)"),
        ("soon", "neither the number of a step, from 0, nor a date"),
        ("2026-02-30", "is not a valid date"),
    ],
)
def test_stages_that_are_no_step(run: Run, works: Path, date: str, said: str) -> None:
    """A date outside the plan, or one that is not clear, is an error with the reason."""
    ran = run("solve", works, "--stage", date, "--state", works.with_name("now.yaml"))
    assert ran.code == 2 and said in " ".join(ran.err.split())


def test_the_order_of_dates_as_an_option(run: Run, works: Path) -> None:
    """--dates decides ambiguous dates in --start-date, --stage and files."""
    state = works.with_name("now.yaml")
    given = (works, "--start-date", "03/02/2026", "--state", state, "--json")
    ran = run("solve", *given, "--stage", "03/09/2026", "--dates", "mdy")
    assert ran.code == 0
    assert json.loads(ran.out)["value"] == pytest.approx(-2)
    assert run("solve", *given, "--stage", "1").code == 2


def test_schedules_and_states_by_date(run: Run, works: Path) -> None:
    """Dates in schedules and states are steps; all dates of a file decide their order together."""
    schedule = works.with_name("schedule.yaml")
    schedule.write_text("Alpha: {bridge: 06-04-2026, tunnel: 16-03-2026}\n", encoding="utf-8")
    ran = run("evaluate", works, "--schedule", schedule, "--json")
    assert ran.code == 0 and "'06-04-2026' is 6 Apr 2026" in ran.err
    assert json.loads(ran.out)["value"] == pytest.approx(-3 - 6 - 0.9)
    schedule.write_text("Alpha: {bridge: 2026-03-09, tunnel: 2026-03-16}\n", encoding="utf-8")
    ran = run("evaluate", works, "--schedule", schedule)
    said = "cannot start work 'tunnel' on 16 Mar 2026: it works on 'bridge' in 9 Mar – 22"
    assert ran.code == 2 and said in " ".join(ran.err.split())
    schedule.write_text("Alpha: {bridge: 06-04-2026, tunnel: 16-03-2026}\n", encoding="utf-8")
    for command in (("simulate", "--schedule"), ("solve", "--start")):
        assert run(command[0], works, command[1], schedule, "--json").code == 0
    state = works.with_name("now.yaml")
    times = "times: {bridge: [2026-03-02, 2026-03-15]}"
    state.write_text(f"Alpha: {{done: [bridge], {times}}}\n", encoding="utf-8")
    ran = run("solve", works, "--stage", "wk 12", "--state", state, "--json")
    assert ran.code == 0 and ran.err == ""
    works.with_name("works.calendar.yaml").unlink()
    ran = run("evaluate", works, "--schedule", schedule)
    assert ran.code == 2 and "schedule.yaml:1:17" in ran.err and "--start-date" in ran.err


def test_closed_periods_change_the_plan(run: Run, works: Path) -> None:
    """A closed period of the calendar holds for every command that reads the problem."""
    assert json.loads(run("solve", works, "--json").out)["value"] == pytest.approx(-7.9)
    close(works, "name: fair, from: wk 10, no: start")
    ran = run("plan", works)
    assert "no start in fair (2 Mar – 8 Mar 2026)" in " ".join(ran.out.split())
    assert "1 closed period" in ran.out
    assert json.loads(run("solve", works, "--json").out)["value"] == pytest.approx(-8.9)
    proof = works.with_name("proof.json")
    plan = works.with_name("plan.json")
    saving = ("--certificate", proof, "--save-policy", plan)
    assert run("solve", works, "--json", *saving).code == 0
    assert run("verify", works, proof).code == 0
    assert run("evaluate", works, "--policy", plan, "--json").code == 0
    assert run("report", works, "-o", works.with_name("plan.html"), "--json").code == 0
    close(works, "name: fair, from: wk 11, no: start")
    for command in (("verify", works, proof), ("evaluate", works, "--policy", plan)):
        ran = run(*command)
        assert ran.code == 2 and "has changed since" in " ".join(ran.err.split())


def test_closed_periods_without_room(run: Run, works: Path) -> None:
    """If works do not fit beside closed periods, the error names works, period and calendar."""
    close(works, "name: summer holiday, from: 2026-03-27, to: 2026-05-31")
    for command in ("solve", "plan", "check", "info"):
        ran = run(command, works)
        said = " ".join(ran.err.split())
        assert ran.code == 2
        assert "works.calendar.yaml" in said
        assert "'bridge', 'tunnel' do not fit together beside the closed period summer" in said
        assert "cannot finish all its works by 10 May 2026, delays included" in said


def test_closed_periods_are_for_works(run: Run, tmp_path: Path) -> None:
    """A calendar with closed periods beside a problem of another domain is an error."""
    path = tmp_path / "works.json"
    path.write_text(ROBOTS, encoding="utf-8")
    close(path, "from: wk 11")
    ran = run("solve", path)
    assert ran.code == 2 and "closed periods are for works (mpp/1)" in " ".join(ran.err.split())


LIST = """contractor;work;duration (weeks);cost per week;earliest start;latest start
Alpha;bridge;2;3;06-04-2026;wk 20
Alpha;tunnel;1;2;13-04-2026;
Beta;road;2;4;;1 juli 2026
"""


def test_lists_with_dates_and_closed_periods(run: Run, tmp_path: Path) -> None:
    """Import reads dates by column, says how, and keeps closed periods in the calendar."""
    works, problem = tmp_path / "list.csv", tmp_path / "p.yaml"
    works.write_text(LIST, encoding="utf-8")
    given = ("import", works, "--horizon", 20, "--must-complete", "-o", problem)
    closed = ("--closed", "holiday: 04-05-2026..17-05-2026", "--closed", "wk 22: no start")
    ran = run(*given, "--start-date", "2026-W14", *closed, "--json")
    assert ran.code == 0
    notes = " ".join(json.loads(ran.out)["notes"])
    assert "(as '13-04-2026' shows): '06-04-2026' is 6 Apr 2026" in notes
    written = (tmp_path / "p.calendar.yaml").read_text(encoding="utf-8")
    assert '{name: holiday, from: "2026-05-04", to: "2026-05-17", "no": work}' in written
    assert '{from: "2026-05-25", to: "2026-05-31", "no": start}' in written
    read = read_problem(problem)
    assert isinstance(read, MaintenanceProblem)
    windows = [task.window for contractor in read.contractors for task in contractor.tasks]
    assert windows == [(1, 6), (2, 19), (0, 13)]
    # A second import without --closed keeps the periods, and says it.
    ran = run(*given, "--start-date", "2026-W14", "--force", "--json")
    assert "keeps them: holiday (4 May – 17 May 2026)" in " ".join(json.loads(ran.out)["notes"])
    assert (tmp_path / "p.calendar.yaml").read_text(encoding="utf-8") == written
    # Periods without room are refused, and nothing is written.
    before = problem.read_bytes()
    all_closed = ("--closed", "wk 14..wk 40", "--force")
    ran = run(*given, "--start-date", "2026-W14", *all_closed)
    assert ran.code == 2 and "'bridge' does not fit beside the closed period" in ran.err
    assert problem.read_bytes() == before
    assert run(*given, "--closed", "wk 20", "--force").code == 2


def test_lists_whose_dates_are_not_decided(run: Run, tmp_path: Path) -> None:
    """Without a date that shows the order, the error says what to write; --dates decides."""
    works, problem = tmp_path / "list.csv", tmp_path / "p.yaml"
    works.write_text(LIST.replace("13-04", "12-04").replace("wk 20", "wk 40"), encoding="utf-8")
    given = ("import", works, "--horizon", 40, "--start-date", "2026-W14", "-o", problem)
    ran = run(*given)
    assert ran.code == 2
    assert "write 2026-04-06 or 2026-06-04, or say what comes first: --dates dmy" in ran.err
    ran = run(*given, "--dates", "mdy", "--json")
    assert "the month first (--dates mdy): '06-04-2026' is 4 Jun 2026" in ran.out
    titles = LIST.replace("cost per week", "cost 06-04-2026;cost 13-04-2026")
    works.write_text(
        titles.replace(";2;3;", ";2;3;3;").replace(";1;2;", ";1;2;2;").replace(";4;", ";4;4;"),
        encoding="utf-8",
    )
    ran = run("import", works, "--start-date", "2026-W15", "-o", tmp_path / "q.yaml", "--json")
    assert "dates in titles are read with the day first (as '13-04-2026' shows)" in ran.out
    works.write_text(titles.replace("cost 13-04-2026", "cost 12-04-2026"), encoding="utf-8")
    ran = run("import", works, "--start-date", "2026-W15", "-o", tmp_path / "r.yaml")
    assert ran.code == 2 and "'06-04-2026' could be 6 Apr 2026 or 4 Jun 2026" in ran.err
