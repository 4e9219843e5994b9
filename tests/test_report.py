"""Reports: every number comes from the plan, and every name is only text."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from coreplan import (
    Calendar,
    Contractor,
    ContractorState,
    Delay,
    Hindrance,
    MaintenanceProblem,
    ModelError,
    Policy,
    Result,
    Task,
    evaluate_plan,
    make_report,
    read_problem,
    simulate,
    solve,
)
from coreplan.analysis import return_distribution
from coreplan.cli import example_path
from coreplan.domains.maintenance import Closure, schedule_policy, value_of_coordination
from coreplan.domains.maintenance.courses import find_courses
from coreplan.domains.maintenance.decision_rules import decision_rules
from coreplan.domains.maintenance.money import split_value
from coreplan.domains.maintenance.planned import planned_schedule
from coreplan.domains.maintenance.reasons import find_reasons
from coreplan.domains.maintenance.report.why import MOST_WORKS
from coreplan.domains.maintenance.timeline import timeline
from coreplan.domains.maintenance.view.reasons_text import reason_in_words
from coreplan.domains.maintenance.view.rules_text import rule_lines
from coreplan.formats import read_result
from coreplan.model.dates import write_date
from helpers import agrees, from_file, random_mpp, scale
from reports import HOSTILE, TITLE, Page, column_of, hostile_problem, report_of
from strategies import mpp_dicts


def ring_road() -> tuple[MaintenanceProblem, Result]:
    """The bundled example and its best plan."""
    problem = read_problem(example_path("ring_road.yaml"))
    assert isinstance(problem, MaintenanceProblem)
    return problem, solve(problem)


def amounts_of(data: dict[str, Any]) -> dict[str, float]:
    """The amounts of the summary by their words."""
    return {each["words"]: each["amount"] for each in data["summary"]["amounts"]}


@settings(max_examples=30)
@given(mpp_dicts())
def test_numbers_come_from_the_plan(raw: dict[str, Any]) -> None:
    """Money, hindrance per rule, costs of works, chances and coordination are recomputed."""
    problem = from_file(raw)
    assert isinstance(problem, MaintenanceProblem)
    result = solve(problem)
    policy = result.policy
    assert policy is not None
    report = make_report(result)
    data = report.data
    assert Page(report.html).data == data
    size = scale(raw)

    def same(one: float, other: float) -> bool:
        return agrees(one / size, other / size)

    money = split_value(policy)
    amounts = amounts_of(data)
    sign = -1 if data["costs"] else 1
    total = "Expected cost" if data["costs"] else "Expected earnings"
    cents = money.in_cents()
    assert amounts["Works"] == cents.works
    assert amounts["Hindrance"] == cents.hindrance
    assert amounts.get("Revenue", 0.0) == cents.revenue
    assert amounts[total] == sign * cents.value
    assert abs(cents.value - policy.evaluate()) <= 0.0051 + 1e-9 * size
    assert data["summary"]["proven"]
    for row, expected in zip(data["hindrance"], money.hindrances, strict=True):
        assert same(sum(amount for _, amount in row), expected)
    expected = [cell["money"] for cell in column_of(data, "expected cost")]
    assert math.fsum(expected) == pytest.approx(cents.works, abs=1e-6)
    completed = [cell["percent"] for cell in column_of(data, "completed")]
    earned = sum(
        chance * work["revenue"] for chance, work in zip(completed, data["works"], strict=True)
    )
    assert same(earned, money.revenue)
    assert math.fsum(data["hindrance_sums"]) == pytest.approx(cents.hindrance, abs=1e-6)
    worth = value_of_coordination(problem, result)
    assert same(data["coordination"]["alone"], worth.policy_alone.evaluate())
    assert same(data["coordination"]["gain"], policy.evaluate() - worth.policy_alone.evaluate())
    shown = data["distribution"]
    returns = return_distribution(policy)
    assert same(shown["mean"], sign * policy.evaluate())
    assert {shown["low"], shown["high"]} == {sign * returns.values[0], sign * returns.values[-1]}
    assert not shown["bins"] or math.isclose(sum(shown["bins"]), 1)


def test_pieces_are_the_courses() -> None:
    """The embedded pieces are the courses, work by work and step by step."""
    problem, result = ring_road()
    assert result.policy is not None
    data = make_report(result).data
    [part] = data["courses"]
    [courses] = find_courses(result.policy)
    names = [
        (contractor.name, task.name)
        for contractor in problem.contractors
        for task in contractor.tasks
    ]
    assert [
        (data["contractors"][work["contractor"]], work["name"]) for work in data["works"]
    ] == names
    assert len(part["pieces"]) == len(courses.pieces)
    for (open_works, starts, following), piece in zip(part["pieces"], courses.pieces, strict=True):
        assert open_works == piece.open
        pairs = list(zip(starts[::2], starts[1::2], strict=True))
        assert [(*names[work], stage) for work, stage in pairs] == [
            (
                problem.contractors[start.contractor].name,
                problem.contractors[start.contractor].tasks[start.task].name,
                start.stage,
            )
            for start in piece.starts
        ]
        assert {
            tuple(map(int, key.split())): number for key, number in following.items()
        } == piece.following


def test_sentences_of_a_proven_plan() -> None:
    """The summary says what the plan costs, that it is the best, and what coordination saves."""
    problem, result = ring_road()
    data = make_report(result).data
    assert data["summary"]["headline"] == "The plan is expected to cost 508.76 in all."
    assert data["summary"]["proof"] == "Proven to be the best plan: no plan costs less."
    worth = value_of_coordination(problem, result)
    assert (
        f"would then be expected to cost {-worth.alone:,.2f}, hindrance included."
        in data["coordination"]["words"]
    )
    part = 100 * worth.gain / -worth.alone
    assert (
        f"This plan saves {worth.gain:,.2f} ({part:.3g} %) compared with planning alone. Planning "
        "alone means that every contractor starts its works when that is best for itself, and as "
        "early as possible where it makes no difference; " in data["coordination"]["words"]
    )
    assert data["subtitle"] == "4 contractors, 9 works, 12 steps"
    assert data["words"]["held"] == ""


def test_sentences_of_a_gap() -> None:
    """Without a proof the summary says how much could be gained at most, by the result's bound."""
    problem = read_problem(example_path("two_works.yaml"))
    plan = evaluate_plan(problem, {"Alpha": {"a1": 0}, "Beta": {"b1": 0}})
    data = make_report(plan).data
    assert plan.value is not None
    assert plan.upper_bound is not None
    assert plan.gap is not None
    assert data["summary"]["headline"] == f"The plan is expected to earn {plan.value:,.2f} in all."
    assert data["summary"]["proof"] == (
        f"Not proven to be the best plan: at most {plan.gap:,.2f} "
        f"({100 * plan.gap / plan.value:.3g} %) could be gained, because no plan can earn more "
        f"than {plan.upper_bound:,.2f}."
    )
    assert not data["summary"]["proven"]
    assert "The best plan gains between" in data["coordination"]["words"]


def test_a_policy_alone() -> None:
    """Of a bare policy nothing is said of optimality; its value is exact."""
    problem = read_problem(example_path("two_works.yaml"))
    assert isinstance(problem, MaintenanceProblem)
    policy = schedule_policy(problem, {"Alpha": {"a1": 0}, "Beta": {"b1": 0}})
    data = make_report(policy).data
    assert data["summary"]["value"] == pytest.approx(policy.evaluate())
    assert data["summary"]["proof"] == "The distance to the best plan has not been computed."
    assert not data["summary"]["proven"]


def test_decentralised_plans() -> None:
    """The proof of a decentralised plan says among which plans it is the best."""
    problem = read_problem(example_path("two_works.yaml"))
    data = make_report(solve(problem, algorithm="dec-mdp")).data
    assert "in which every contractor knows its own works only" in data["summary"]["proof"]


def test_dates() -> None:
    """With a calendar all steps have dates: the first and last days of the calendar."""
    _, result = ring_road()
    calendar = Calendar(date(2026, 12, 21), "week")
    data = make_report(result, calendar=calendar, title="Winter").data
    assert (data["title"], data["unit"]) == ("Winter", "week")
    assert data["subtitle"] == "4 contractors, 9 works, 21 Dec 2026 – 14 Mar 2027"
    assert data["dates"]["first"] == [calendar.label(stage) for stage in range(12)]
    assert (data["dates"]["last"][0], data["dates"]["last"][11]) == ("27 Dec 2026", "14 Mar 2027")
    assert "21 Dec 2026" in {cell["text"] for cell in column_of(data, "start")}
    assert make_report(result).data["dates"] is None


def test_closed_periods() -> None:
    """The page has the closed steps of its plan, by name, and those before it are left out."""
    task = Task("a1", 1, cost=1)
    closed = (Closure(0, 1), Closure(2, 3, name="holiday"), Closure(5, 9, "start"))
    problem = MaintenanceProblem((Contractor("Alpha", (task,)),), 6, (), True, "x", closed)
    result = solve(problem, stage=2, state={"Alpha": ContractorState()})
    assert make_report(result).data["closed"] == [
        {"begin": 2, "end": 4, "no": "work", "name": "holiday"},
        {"begin": 5, "end": 6, "no": "start", "name": "steps 5 to 9"},
    ]


def test_plans_from_a_later_stage() -> None:
    """Works that are under way or done when the plan begins are told apart."""
    problem, _ = ring_road()
    state = {
        "Noord Infra": {"doing": "junction 4", "remaining": 1},
        "Van Dijk": {"doing": "ring east", "remaining": 3},
        "AquaWegen": {"done": ["sluice road"]},
        "Stadsbeheer": {"done": ["cycle path"]},
    }
    data = make_report(solve(problem, stage=4, state=state)).data
    names = [work["name"] for work in data["works"]]
    running = {names[work]: left for work, left in data["running"]}
    assert running == {"junction 4": 1, "ring east": 3}
    assert {names[work] for work in data["done"]} == {"sluice road", "cycle path"}
    assert (data["first"], data["subtitle"]) == (
        4,
        "4 contractors, 9 works, 8 steps, from step 4",
    )
    starts = [cell["text"] for cell in column_of(data, "start")]
    assert starts[names.index("ring east")] == "under way"
    assert starts[names.index("cycle path")] == "done"
    ends = [cell["text"] for cell in column_of(data, "end")]
    assert ends[names.index("ring east")] == "step 6"
    later = "All amounts count from step 4 on: money spent or earned before is not included."
    assert data["summary"]["later"] == later
    assert make_report(solve(problem)).data["summary"]["later"] == ""


def test_large_plans_are_cut() -> None:
    """A page with little room says how likely the courses are that it holds."""
    problem = from_file(random_mpp(4, 3, 9))
    result = solve(problem)
    assert result.policy is not None
    data = make_report(result, most_pieces=150).data
    [courses] = find_courses(result.policy, most_pieces=150)
    assert len(data["courses"][0]["pieces"]) <= 150
    assert f"a chance of {100 * courses.covered:.3g} %" in data["words"]["held"]


def test_out_of_exact_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the exact value is out of reach, what is proven or simulated is labelled so."""
    problem, result = ring_road()
    assert result.policy is not None

    def never(policy: Policy, time_limit: float) -> None:
        from coreplan import SolverError

        raise SolverError("too large")

    monkeypatch.setattr("coreplan.domains.maintenance.report.findings.timeline", never)
    proven = make_report(result).data
    headline = f"The plan is expected to cost at most {-result.value:,.2f} in all."
    assert proven["summary"]["headline"] == headline
    assert proven["summary"]["proven"]
    shown = simulate(result.policy, 100_000, 1)
    assert shown.money is not None
    assert amounts_of(proven)["Works"] == shown.money.in_cents().works
    assert "estimated from 100,000 simulated courses" in proven["summary"]["note"]
    assert proven["hindrance"] == []
    assert column_of(proven, "start")[0].keys() == {"text"}
    assert column_of(proven, "completed")[0] == {"percent": 1}
    assert column_of(proven, "expected cost")[0] == {"text": ""}
    simulated = make_report(result.policy).data
    headline = f"The plan is expected to cost about {-shown.mean:,.2f} in all."
    assert simulated["summary"]["headline"] == headline
    bounded = make_report(evaluate_plan(problem, result.policy)).data
    assert bounded["summary"]["proof"] == "Proven to be the best plan: no plan costs less."


def test_hostile_names_are_text() -> None:
    """No name ends a script, opens an element or loads anything; all arrive as they are."""
    _, report = report_of(hostile_problem())
    page = Page(report.html)
    assert page.data["title"] == TITLE
    assert page.data["contractors"] == HOSTILE
    assert [tag for tag, _ in page.elements].count("script") == 2
    assert [tag for tag, _ in page.elements].count("style") == 1
    assert not any(
        key.startswith("on") or key in ("src", "href", "style")
        for _, attributes in page.elements
        for key in attributes
    )
    assert "alert" not in page.texts["script"][1]
    embedded = report.html.partition('id="data">')[2].partition("</script>")[0]
    assert json.loads(embedded) == page.data | {"language": page.language}
    assert not set("<>&") & set(embedded)
    report.html.encode()  # also what is no text in Unicode


def test_the_page_loads_nothing() -> None:
    """A browser is told to load nothing, and to run and apply nothing but what is in the page."""
    _, result = ring_road()
    report = make_report(result)
    page = Page(report.html)

    def digest(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    assert page.meta("Content-Security-Policy").split("; ") == [
        "default-src 'none'",
        f"style-src 'sha256-{digest(page.texts['style'][0])}'",
        f"script-src 'sha256-{digest(page.texts['script'][1])}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert not re.search(r"https?:|//[a-z]|@import|url\(|<link|<img|innerHTML", report.html)
    assert page.elements[0] == ("html", {"lang": "en"})


def test_shown_sums_add_up() -> None:
    """The amounts of the summary and of every column of the comparison add up to the cent."""
    problem = from_file(random_mpp(4, 2, 9, seed=3))
    result = solve(problem)
    data = make_report(result).data

    def whole(amount: float) -> int:
        assert amount == round(amount, 2)
        return round(100 * amount)

    amounts = {words: whole(amount) for words, amount in amounts_of(data).items()}
    *parts, total = amounts
    sign = -1 if data["costs"] else 1
    signs = {"Revenue": sign, "Works": -sign, "Hindrance": -sign}
    assert sum(signs[part] * amounts[part] for part in parts) == amounts[total]
    rows = {row["words"]: row for row in data["coordination"]["rows"]}
    names = [row["words"] for row in data["coordination"]["rows"] if row.get("name")]
    for column in ("together", "alone"):
        shown = {words: whole(row[column]) for words, row in rows.items()}
        assert sum(signs[part] * shown[part] for part in parts) == shown[total]
        own = signs["Works"] * shown["Works"] + signs["Revenue"] * shown.get("Revenue", 0)
        assert sum(shown[name] for name in names) == own
    saved = {words: whole(row["saved"]) for words, row in rows.items()}
    assert sum(saved[part] for part in parts) == saved[total]
    assert f"{abs(saved[total]) / 100:,.2f}" in data["coordination"]["words"]
    assert whole(data["works_table"]["columns"][7]["total"]) == amounts["Works"]


def test_rules_for_delays_are_those_of_the_terminal() -> None:
    """The page has every rule for delays in the words that the terminal prints."""
    problem, result = ring_road()
    assert result.policy is not None
    calendar = Calendar(date(2026, 3, 2))
    data = make_report(result, calendar=calendar).data
    found = decision_rules(result.policy)
    printed = [str(line).strip() for line in rule_lines(problem, found, calendar, 40)]
    [shown] = data["delays"]["lists"]
    lines = []
    for condition, consequences in shown["rules"]:
        if len(consequences) == 1:
            lines.append(f"- {condition}, {consequences[0]}")
        else:
            lines += [f"- {condition}:", *(f"- {each}" for each in consequences)]
    assert printed == [f"{data['delays']['title']}:", *lines]
    assert len(lines) > 10


def test_ends_of_works() -> None:
    """Starts and ends are those without delays; the latest end stands below if it is later."""
    problem, result = ring_road()
    assert result.policy is not None
    data = make_report(result, calendar=Calendar(date(2026, 3, 2))).data
    planned = planned_schedule(result.policy)
    times = {(work.contractor, work.work): work for work in timeline(result.policy).works}
    calendar = Calendar(date(2026, 3, 2))
    works = [
        (contractor.name, task.name)
        for contractor in problem.contractors
        for task in contractor.tasks
    ]
    course = {(work.contractor, work.task): work for work in planned.works}
    for name, start, end in zip(
        works, column_of(data, "start"), column_of(data, "end"), strict=True
    ):
        assert start["text"] == calendar.label(course[name].start)
        last = calendar.last_day(course[name].end - 1)
        assert end["text"] == write_date(last)
        latest = calendar.last_day(times[name].last_end or 0)
        assert (latest > last) == ("note" in end)
        if "note" in end:
            assert end["note"] == f"latest: {write_date(latest)}"


def test_an_end_after_the_plan() -> None:
    """A work that may not end in the planned time says so instead of giving a last day."""
    task = Task("a1", 2, cost=1, delay=Delay(0.5, 3), revenue=100)
    late = MaintenanceProblem((Contractor("Alpha", (task,)),), 4)
    [end] = column_of(make_report(solve(late)).data, "end")
    assert end == {"text": "step 3", "note": "latest: after step 3"}


def test_the_page_of_a_contractor() -> None:
    """It has the contractor's works, dates, rules and own money, and no amount of anyone else."""
    problem, result = ring_road()
    report = make_report(result, each_contractor=True)
    whole = report.data
    assert list(report.contractors) == list(problem.agent_names)
    rows = {row["words"]: row for row in whole["coordination"]["rows"]}
    for name, page in report.contractors.items():
        data = page.data
        assert Page(page.html).data == data
        assert data["contractor"] == data["contractors"][0] == name
        own = [task.name for task in problem.contractor(name).tasks]
        assert [cell["name"] for cell in column_of(data, "work")] == own
        assert f"expected to cost {rows[name]['together']:,.2f}." in data["summary"]["headline"]
        total = data["works_table"]["columns"][-1]["total"]
        assert total == rows[name]["together"]
        for work in data["works"]:
            if work["contractor"]:
                assert (work["cost"], work["revenue"]) == (0, 0)
        assert data["rules"] == data["hindrance"] == []
        assert not {"coordination", "distribution", "value"} & set(data)
        for other, row in rows.items():
            if other != name and row["together"]:
                assert f"{row['together']:,.2f}" not in json.dumps(data)
        followed, caused = data["delays"]["lists"]
        assert all(each.startswith(f"{name} ") for _, group in followed["rules"] for each in group)
        assert not any(
            each.startswith(f"{name} ") for _, group in caused["rules"] for each in group
        )
    alone = make_report(result, contractor="Van Dijk")
    assert alone.html == report.contractors["Van Dijk"].html
    assert alone.contractors == {}


def test_pages_of_nobody() -> None:
    """An unknown contractor is refused, and so is a plan without contractors."""
    _, result = ring_road()
    with pytest.raises(ModelError, match=r"no contractor 'van dijk'; did you mean 'Van Dijk'\?"):
        make_report(result, contractor="van dijk")
    robots = solve(read_problem(example_path("two_robots.yaml")))
    with pytest.raises(ModelError, match="needs a plan of a maintenance problem"):
        make_report(robots, each_contractor=True)


def test_the_same_plan_gives_the_same_page(tmp_path: Path) -> None:
    """Reports are deterministic: the same bytes, also in the file."""
    problem, result = ring_road()
    first, second = make_report(result), make_report(solve(problem))
    assert first.html == second.html
    first.save(tmp_path / "plan.html")
    assert (tmp_path / "plan.html").read_text(encoding="utf-8") == str(first) == first.html


def test_what_cannot_be_reported(tmp_path: Path) -> None:
    """Results without a plan are refused."""
    _, result = ring_road()
    result.save(tmp_path / "result.json")
    with pytest.raises(ModelError, match="no plan"):
        make_report(read_result(tmp_path / "result.json"))


def test_nothing_to_do() -> None:
    """A problem without works has a report, too."""
    problem = MaintenanceProblem((Contractor("Alpha"),), horizon=3)
    data = make_report(solve(problem)).data
    assert data["summary"]["headline"] == "The plan is expected to cost 0.00 in all."
    assert not data["open"]
    assert data["delays"]["lists"][0]["none"] == "No work in this plan can be delayed."
    certain = MaintenanceProblem((Contractor("Alpha", (Task("a1", 1, cost=2),)),), 2, (), True)
    shown = make_report(solve(certain)).data["distribution"]
    assert shown["words"] == "The plan costs 2.00 in every case."


def test_columns_for_people() -> None:
    """What a works list says beside the problem has columns of its own, after the others."""
    problem, _ = ring_road()
    names = [f"{who.name}/{task.name}" for who in problem.contractors for task in who.tasks]
    details = {names[0]: {"budget code": "<4711>"}, names[2]: {"place": "A10", "budget code": "7"}}
    listed = replace(problem, details=details)
    data = make_report(solve(listed)).data
    titles = [column["title"] for column in data["works_table"]["columns"]]
    assert titles[-2:] == ["budget code", "place"]
    rows = data["works_table"]["rows"]
    assert [cell["name"] for cell in rows[0][-2:]] == ["<4711>", ""]
    assert [cell["name"] for cell in rows[2][-2:]] == ["7", "A10"]
    assert not {"budget code", "place"} & {
        column["title"] for column in make_report(solve(problem)).data["works_table"]["columns"]
    }


def test_why_works_start_when_they_do() -> None:
    """The page has the sentences of `plan --why`, one for each work, and their common note."""
    problem = MaintenanceProblem(
        [
            Contractor("Alpha", [Task("a1", 2, cost=3, window=(0, 0))]),
            Contractor("Beta", [Task("b1", 2, cost=1)]),
        ],
        horizon=5,
        network=[Hindrance(["Alpha/a1", "Beta/b1"], cost=7.5)],
        must_complete=True,
    )
    policy = solve(problem).policy
    why = make_report(policy).data["why"]
    assert why["sentences"] == [reason_in_words(each) for each in find_reasons(policy).reasons]
    assert "costs 7.50 more, because Alpha/a1 and Beta/b1 hinder each other" in why["sentences"][1]
    assert why["note"].startswith("Costs are compared with the best plan")
    page = make_report(policy, contractor="Beta")
    assert "why" not in page.data  # it would tell the costs of others


def test_no_reasons_where_nothing_starts() -> None:
    """A plan that starts nothing says so in place of reasons."""
    problem = MaintenanceProblem([Contractor("Alpha", [Task("a1", 2, cost=3)])], horizon=5)
    assert make_report(solve(problem)).data["why"] == {
        "sentences": [],
        "note": "No work starts if nothing is delayed.",
    }


def test_large_plans_are_not_explained_on_the_page() -> None:
    """Explaining hundreds of works takes minutes, so the page names the command that does it."""
    tasks = [Task(f"t{k}", 1, cost=1) for k in range(MOST_WORKS + 1)]
    problem = MaintenanceProblem(
        [Contractor(f"C{k}", [task]) for k, task in enumerate(tasks)], 2, must_complete=True
    )
    why = make_report(solve(problem)).data["why"]
    assert why["sentences"] == []
    assert "coreplan plan --why" in why["note"]
