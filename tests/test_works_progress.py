"""Works lists that carry the plan and the progress: the situation of a day, and what cannot be."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from coreplan import ContractorState, FormatError, ModelError, evaluate_plan, read_works, solve
from coreplan.domains.maintenance import WorksList
from coreplan.domains.maintenance.parts import Contractor, Delay, Hindrance, Task
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.policies.policy import Policy
from coreplan.view.report import make_report
from reports import column_of

MONDAY = datetime.date(2026, 3, 2)
TODAY = datetime.date(2026, 4, 27)  # the first day of step 8
TITLES = (
    "contractor,work,duration,delay chance,delay duration,cost,latest start,planned start,"
    "actual start,status,weeks left"
)
WEEKS = [MONDAY + datetime.timedelta(weeks=k) for k in range(26)]


def read(folder: Path, *rows: str, **options: Any) -> WorksList:
    """Write a list with these rows and read it, with 26 weeks from March on."""
    path = folder / "works.csv"
    path.write_text("\n".join([TITLES, *rows]) + "\n")
    given = {"horizon": 26, "start_date": MONDAY, "today": TODAY, "must_complete": True}
    return read_works(path, **{**given, **options})


def errors(folder: Path, *rows: str, **options: Any) -> list[str]:
    """What is said of a list, a line for each mistake, without the folder."""
    with pytest.raises(FormatError) as caught:
        read(folder, *rows, **options)
    return str(caught.value).replace(f"{folder}/", "").splitlines()


def state_of(folder: Path, row: str, **options: Any) -> ContractorState:
    """The state of Alpha, whose only work is in this row: duration 3, 30 %: 2 more."""
    made = read(folder, f"Alpha,a,3,30%,2,1,,,{row}", **options)
    assert made.state is not None
    return made.state["Alpha"]


@pytest.mark.parametrize(
    ("row", "state"),
    [
        (",,", ContractorState()),
        (",not started,", ContractorState()),
        (",Not started,3", ContractorState()),
        (",niet gestart,", ContractorState()),
        (",loopt,2", ContractorState(doing="a", remaining=2)),
        (",läuft,2", ContractorState(doing="a", remaining=2)),
        (",in Ausführung,2", ContractorState(doing="a", remaining=2)),
        (",afgerond,", ContractorState(done=("a",))),
        (",done,", ContractorState(done=("a",))),
        ("2026-04-06,done,0", ContractorState(done=("a",))),
        (",,0", ContractorState(done=("a",))),
        (",running,2", ContractorState(doing="a", remaining=2)),
        ("2026-04-20,in progress,4", ContractorState(doing="a", remaining=4)),
        # On time, because nobody says anything else: 3 weeks from 20 Apr.
        ("2026-04-20,running,", ContractorState(doing="a", remaining=2)),
        ("2026-04-20,,", ContractorState(doing="a", remaining=2)),
        # Wednesday is in the week of 20 Apr.
        ("2026-04-22,running,", ContractorState(doing="a", remaining=2)),
        # Running after 3 weeks: it must be delayed by 2.
        ("2026-04-06,running,", ContractorState(doing="a", remaining=2)),
        ("2026-03-30,running,", ContractorState(doing="a", remaining=1)),
        # Five weeks are over: it must be done.
        ("2026-03-23,,", ContractorState(done=("a",))),
        # The delay becomes known one step after the start.
        ("2026-04-27,running,", ContractorState(starting="a")),
        ("2026-04-27,,3", ContractorState(starting="a")),
        ("2026-04-27,running,5", ContractorState(doing="a", remaining=5)),
    ],
)
def test_the_state_of_a_work(tmp_path: Path, row: str, state: ContractorState) -> None:
    """Status, actual start and steps left give the state, as precisely as the model knows it."""
    assert state_of(tmp_path, row) == state


def test_assumptions_are_said(tmp_path: Path) -> None:
    """What the list does not say is assumed in words, with its row."""
    made = read(
        tmp_path,
        "Alpha,a,3,30%,2,1,,,2026-04-20,running,",
        "Beta,b,3,30%,2,1,,,2026-04-06,running,",
        "Gamma,c,3,30%,2,1,,,2026-04-27,running,",
        "Delta,d,3,30%,2,1,,,2026-03-23,,",
    )
    notes = [note.replace(f"{tmp_path}/", "") for note in made.notes]
    assert notes[1:] == [
        "going on from 27 Apr 2026: 1 of 4 works done, 3 running; money spent before is left out",
        "works.csv, row 2: 'a' counts as not delayed, 2 weeks left; if it is delayed, give the "
        "steps left",
        "works.csv, row 3: 'b' counts as delayed, 2 weeks left",
        "works.csv, row 4: 'c' starts now: whether it is delayed is known one step later",
        "works.csv, row 5: 'd' counts as done: its time is over, and no status is given",
    ]


CONTRADICTIONS = [
    (",soon,", "column J (status): found 'soon'; expected the status: not started, running or"),
    (",runing,", "did you mean 'running'?"),
    (",running,", "column J (status): the work is running, but neither its actual start nor"),
    (",running,0", "column K (weeks left): found 0 left for a work that is running"),
    (",running,1.5", "found '1.5'; expected the steps left, a whole number"),
    (",running,-1", "found '-1'; expected the steps left, a whole number"),
    (",done,2", "column K (weeks left): found 2 weeks left for a work that is done"),
    (",,2", "column K (weeks left): found 2 weeks left, but neither a status nor an actual"),
    (",not started,2", "found 2 weeks left for a work that has not started and takes 3 weeks"),
    ("2026-04-20,not started,", "found the status 'not started', but an actual start, 20 Apr 2026"),
    ("2026-05-04,running,", "column I (actual start): found '2026-05-04', which is after today"),
    ("2026-04-28,running,", "found '2026-04-28', which is after today, 27 Apr 2026 (--today)"),
    ("2026-04-13,done,", "column J (status): the work cannot be done on 27 Apr 2026: it has st"),
    ("2026-03-16,running,", "takes at most 5 weeks, which is over; write done as its status"),
    ("2026-04-06,,", "is either done or delayed; give the status, done or running"),
    ("2026-01-05,running,", "column I (actual start): found the date 2026-01-05; expected the ac"),
    ("x,running,", "column I (actual start): expected the actual start, a step or a date"),
]


@pytest.mark.parametrize(("row", "said"), CONTRADICTIONS)
def test_contradictions_are_located(tmp_path: Path, row: str, said: str) -> None:
    """What cannot be true of one work is one error, with row and column."""
    [line] = errors(tmp_path, "Beta,b,1,,,1,,,,,", f"Alpha,a,3,30%,2,1,,,{row}")
    assert line.startswith("works.csv, row 3, column ")
    assert said in line


def test_two_running_works(tmp_path: Path) -> None:
    """A contractor cannot run two works at once, and the second row is named."""
    [line] = errors(tmp_path, "Alpha,a,3,,,1,,,,running,1", "Alpha,b,3,,,1,,,,running,2")
    assert line == (
        "works.csv, row 3, column J (status): contractor 'Alpha' is already working on 'a' (row 2),"
        " and does one work at a time; correct one of them"
    )


def test_works_that_overlapped(tmp_path: Path) -> None:
    """A contractor cannot have started a work before the one before could be done."""
    rows = ["Alpha,a,3,,,1,,,2026-03-16,done,", "Alpha,b,3,,,1,,,2026-03-30,done,"]
    [line] = errors(tmp_path, *rows)
    assert line.startswith("works.csv, row 3, column I (actual start): contractor 'Alpha' cannot")
    assert "it then works on 'a' (row 2), at least until 5 Apr 2026" in line
    rows[1] = rows[1].replace("03-30", "04-06")
    assert read(tmp_path, *rows).state == {"Alpha": ContractorState(done=("a", "b"))}


def test_the_rest_must_fit(tmp_path: Path) -> None:
    """What can no longer be completed is an error at its row if everything has to be done."""
    late = "Alpha,a,3,,,1,2026-04-20,,,,"
    [line] = errors(tmp_path, late)
    assert line.startswith("works.csv, row 2, column G (latest start): the work has not started")
    made = read(tmp_path, late, must_complete=False)
    assert any("row 2: 'a' can no longer start" in note for note in made.notes)
    rows = ["Alpha,a,3,,,1,,,,running,15", "Alpha,b,4,,,1,,,,,"]
    [line] = errors(tmp_path, *rows)
    assert line.startswith("works.csv, row 2, column A (contractor): contractor 'Alpha' can no lon")
    assert "by 30 Aug 2026 from 27 Apr 2026 on: 'b' remain" in line
    assert read(tmp_path, rows[0].replace("15", "14"), rows[1]).stage == 8


@pytest.mark.parametrize(
    ("today", "said"),
    [
        (datetime.date(2026, 3, 1), "is before the plan begins on 2 Mar 2026"),
        (datetime.date(2026, 8, 31), "is after the plan ends on 30 Aug 2026"),
        (26, "expected a step of the plan, from 0 to 25"),
    ],
)
def test_a_day_outside_the_plan(tmp_path: Path, today: Any, said: str) -> None:
    """Today must be a day of the plan."""
    with pytest.raises(ModelError, match=said):
        read(tmp_path, "Alpha,a,3,,,1,,,,,", today=today)


def test_a_day_without_a_calendar(tmp_path: Path) -> None:
    """Without dates of steps, today can be the number of a step but no date."""
    row = "Alpha,a,3,,,1,,,6,running,"
    made = read(tmp_path, row, start_date=None, today=8)
    assert made.state == {"Alpha": ContractorState(doing="a", remaining=1)}
    with pytest.raises(ModelError, match="the first day of step 0 is not known"):
        read(tmp_path, row, start_date=None)


def test_without_a_day_nothing_has_begun(tmp_path: Path) -> None:
    """Without today the list gives a problem from its start on, and says what has started."""
    made = read(tmp_path, "Alpha,a,3,,,1,,,,done,", "Alpha,b,3,,,1,,,,,", today=None)
    assert (made.stage, made.state) == (0, None)
    assert made.begun == {"Alpha/a": f"{tmp_path}/works.csv, row 2"}


# -- works that start on the day itself ------------------------------------------------------------


def starting_now(must_complete: bool) -> MaintenanceProblem:
    """Two contractors with delays and hindrance; no work earns anything."""
    return MaintenanceProblem(
        (
            Contractor("Alpha", (Task("a", 2, 5, Delay(0.3, 2)), Task("x", 1, 4))),
            Contractor("Beta", (Task("b", 2, (1, 1, 9, 2, 3, 1, 1, 1), Delay(0.5, 1)),)),
        ),
        8,
        (Hindrance(("Alpha/a", "Beta/b"), 6),),
        must_complete,
    )


@pytest.mark.parametrize("must_complete", [False, True])
def test_a_decided_start_happens(must_complete: bool) -> None:
    """A work that starts now is started even if waiting were better, and may still be delayed."""
    problem = starting_now(must_complete)
    now = {"Alpha": ContractorState(), "Beta": ContractorState(starting="b")}
    result = solve(problem, stage=2, state=now)
    assert result.policy is not None
    assert result.policy.act(2)["Beta"] == "start b"
    best = -float("inf")
    for alpha, hindered in (("wait", 0), ("a", 6), ("x", 0)):
        value = -9.0 - hindered - {"wait": 0, "a": 5, "x": 4}[alpha]
        for chance_b, left_b in ((0.5, 1), (0.5, 2)):
            ways = {"wait": [(1.0, {})], "x": [(1.0, {"done": ["x"]})]}
            ways["a"] = [(p, {"doing": "a", "remaining": left}) for p, left in ((0.7, 1), (0.3, 3))]
            for chance_a, at in ways[alpha]:
                after = {"Alpha": at, "Beta": {"doing": "b", "remaining": left_b}}
                value += chance_a * chance_b * solve(problem, stage=3, state=after).value
        best = max(best, value)
    assert result.value == pytest.approx(best)


def test_a_decided_start_stays_in_saved_plans(tmp_path: Path) -> None:
    """A plan that begins with a decided start can be saved, loaded, evaluated and improved."""
    problem = starting_now(True)
    now = {"Alpha": ContractorState(), "Beta": ContractorState(starting="b")}
    result = solve(problem, stage=2, state=now)
    assert result.policy is not None
    result.policy.save(tmp_path / "plan.json")
    loaded = Policy.load(tmp_path / "plan.json", problem)
    assert loaded.evaluate() == pytest.approx(result.value)
    assert evaluate_plan(problem, loaded).upper_bound == pytest.approx(result.upper_bound)
    given = {"Alpha": {}, "Beta": {"starting": "b"}}
    assert solve(problem, stage=2, state=given).value == result.value


@pytest.mark.parametrize(
    "state",
    [
        {"starting": "c"},
        {"starting": "b", "done": ["b"]},
        {"starting": "b", "doing": "b", "remaining": 1},
    ],
)
def test_starts_that_cannot_be(state: Any) -> None:
    """A decided start of a work that is unknown, done or under way is an error."""
    with pytest.raises(ModelError, match="Beta"):
        solve(starting_now(False), stage=2, state={"Alpha": {}, "Beta": state})


# -- planned starts --------------------------------------------------------------------------------


def test_planned_starts_are_a_schedule(tmp_path: Path) -> None:
    """The planned starts of the works that have not started are valued from today on."""
    made = read(
        tmp_path,
        "Alpha,a,3,30%,2,10,,2026-04-06,2026-04-20,running,",
        "Alpha,b,2,,,3,,2026-05-25,,,",
        "Beta,c,2,,,5,,2026-03-02,,done,",
    )
    assert made.planned["Alpha"] == {"a": 5, "b": 12}
    assert made.schedule() == {"Alpha": {"b": 12}, "Beta": {}}
    report = evaluate_plan(made.problem, made.schedule(), stage=made.stage, state=made.state)
    assert report.value == pytest.approx(-26)


def test_missing_planned_starts(tmp_path: Path) -> None:
    """Every work without a planned start is named by its row; works that have started need none."""
    made = read(
        tmp_path,
        "Alpha,a,3,,,1,,2026-06-01,,,",
        "Alpha,b,3,,,1,,,,,",
        "Beta,c,3,,,1,,,,done,",
        "Beta,d,3,,,1,,,,,",
    )
    with pytest.raises(FormatError) as caught:
        made.schedule()
    lines = str(caught.value).replace(f"{tmp_path}/", "").splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "works.csv, row 3, column H (planned start)",
        "works.csv, row 5, column H (planned start)",
    ]
    assert "give the planned start of 'b', which has not started" in lines[0]


def test_no_planned_starts_at_all(tmp_path: Path) -> None:
    """A list without the column, or with an empty one, gets one message, not one for each row."""
    rows = [f"Alpha,a{k},1,,,1,,,,," for k in range(5)]
    with pytest.raises(FormatError, match=r"column H .*'planned start' is empty; fill in the sta"):
        read(tmp_path, *rows).schedule()
    path = tmp_path / "plain.csv"
    path.write_text("contractor,work,duration,cost\nA,a,1,1\nA,b,1,1\n")
    with pytest.raises(FormatError, match="'planned start' is missing; add it"):
        read_works(path, horizon=4).schedule()


def test_impossible_planned_starts(tmp_path: Path) -> None:
    """A planned start that cannot be is an error at its cell."""
    made = read(tmp_path, "Alpha,a,3,,,1,,2026-06-01,,,", "Alpha,b,3,,,1,,2026-06-08,,,")
    with pytest.raises(FormatError) as caught:
        made.schedule()
    [line] = str(caught.value).replace(f"{tmp_path}/", "").splitlines()
    assert line.startswith("works.csv, row 3, column H (planned start): contractor 'Alpha' cannot")


# -- the report ------------------------------------------------------------------------------------


def test_the_report_of_a_running_list(tmp_path: Path) -> None:
    """Done works are shown as done, and the columns of the list stand beside its works."""
    path = tmp_path / "works.csv"
    path.write_text(
        "contractor,work,duration,cost,status,weeks left,road,budget code\n"
        "Alpha,a,3,1,done,,A2,=X1\nAlpha,b,3,1,running,2,A27,\nBeta,c,1,1,,,,<b>\n"
    )
    made = read_works(path, horizon=12, must_complete=True, today=4)
    data = make_report(solve(made.problem, stage=made.stage, state=made.state)).data
    shown = {
        title: column_of(data, title) for title in ("start", "completed", "road", "budget code")
    }
    assert [cell["text"] for cell in shown["start"][:2]] == ["done", "under way"]
    assert [cell["percent"] for cell in shown["completed"]] == [1, 1, 1]
    assert [cell["name"] for cell in shown["road"]] == ["A2", "A27", ""]
    assert [cell["name"] for cell in shown["budget code"]] == ["=X1", "", "<b>"]
