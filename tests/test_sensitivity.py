"""What hindrance rules, windows and delays cost: against solving both problems by other means."""

from __future__ import annotations

import dataclasses
import importlib
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import judge
from clocks import standing, ticking
from coreplan import (
    Contractor,
    Hindrance,
    LimitError,
    MaintenanceProblem,
    ModelError,
    Result,
    SolverError,
    Status,
    Task,
    solve,
)
from coreplan.domains.maintenance import Sensitivity, sensitivity
from coreplan.domains.maintenance.changes import KINDS, Change, find_changes
from coreplan.domains.maintenance.coordination import plan_alone
from coreplan.domains.maintenance.influence import Influence, _carry_over
from coreplan.domains.maintenance.money import split_value
from coreplan.domains.maintenance.view.influences import influence_in_words
from helpers import from_file, scale
from strategies import mpp_dicts

# The package gives the function of this name; here the module is meant.
MODULE = importlib.import_module("coreplan.domains.maintenance.influence")

TWO = MaintenanceProblem(
    (
        Contractor("Alpha", (Task("a1", 2, cost=3, revenue=20, window=(0, 0)),)),
        Contractor("Beta", (Task("b1", 2, cost=1, revenue=15, window=(0, 1)),)),
    ),
    horizon=4,
    network=(Hindrance(("Alpha/a1", "Beta/b1"), cost=7.5),),
)


def changed(raw: dict[str, Any], change: Change, relax: bool) -> dict[str, Any]:
    """A raw problem after a change, made from the raw dictionary alone."""
    after = {**raw, "agents": [{**agent, "tasks": [*agent["tasks"]]} for agent in raw["agents"]]}
    if change.kind == "hindrance":
        after["network"] = [*raw["network"]]
        rule = after["network"].pop(change.place[0])
        if relax:
            cost = rule["cost"]
            half = [each / 2 for each in cost] if isinstance(cost, list) else cost / 2
            after["network"].append({**rule, "cost": half})
        return after
    i, j = change.place
    task = dict(after["agents"][i]["tasks"][j])
    assert change.tasks == (f"{raw['agents'][i]['name']}/{task['name']}",)
    if change.kind == "windows":
        first, last = task.pop("window")
        if relax:
            task["window"] = [max(first - 1, 0), last + 1]
    else:
        delay = task.pop("delay")
        if relax:
            task["delay"] = {**delay, "probability": delay["probability"] / 2}
    after["agents"][i]["tasks"][j] = task
    return after


def check_brackets(raw: dict[str, Any], report: Sensitivity, relax: bool = False) -> None:
    """Whether all intervals hold the difference of the optima that the judge finds."""
    before = judge.optimal_value(raw)
    slack = 1e-8 * scale(raw)
    for each in report.influences:
        truth = judge.optimal_value(changed(raw, each.change, relax)) - before
        assert each.low - slack <= truth <= each.high + slack, each


def count_changes(raw: dict[str, Any]) -> int:
    """How many rules, windows and delays there are."""
    tasks = [task for agent in raw["agents"] for task in agent["tasks"]]
    delays = [task.get("delay", {"probability": 0})["probability"] > 0 for task in tasks]
    return len(raw.get("network", [])) + sum("window" in task for task in tasks) + sum(delays)


@given(mpp_dicts(max_work=500), st.booleans())
def test_changes_are_those_of_the_optimum(raw: dict[str, Any], relax: bool) -> None:
    """Without limits all numbers are exact, and are what the judge finds by solving both."""
    report = sensitivity(from_file(raw), relax=relax)
    assert report.status is Status.OPTIMAL
    assert len(report.influences) == count_changes(raw)
    assert all(each.exact and each.examined for each in report.influences)
    check_brackets(raw, report, relax)


@given(mpp_dicts(max_work=500), st.booleans(), st.floats(0, 5))
def test_intervals_hold_the_truth_if_searches_stop_early(
    raw: dict[str, Any], relax: bool, above: float
) -> None:
    """If searches leave gaps, and poor plans, the intervals still hold the truth."""

    def poor(problem: MaintenanceProblem, **_: Any) -> Result:
        exact = solve(problem, algorithm="dp")
        policy = plan_alone(problem)
        value = min(policy.evaluate(), exact.value)
        upper = exact.upper_bound + above
        return Result("p", "core", Status.TIME_LIMIT, value, value, upper, 0.0, policy=policy)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MODULE, "solve", poor)
        patch.setattr(MODULE, "SHORTEST", 0.05)
        with ticking(0.001):
            report = sensitivity(from_file(raw), relax=relax, time_limit=0.2)
    check_brackets(raw, report, relax)


@given(mpp_dicts(max_work=500), st.booleans())
def test_what_is_not_examined_has_valid_bounds(raw: dict[str, Any], relax: bool) -> None:
    """If no changed problem is solved, the bounds are valid, and none counts as examined."""
    calls = []

    def first_only(problem: MaintenanceProblem, **options: Any) -> Result:
        calls.append(problem)
        if len(calls) > 1:
            raise LimitError("memory_limit", "no memory")
        return solve(problem, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MODULE, "solve", first_only)
        report = sensitivity(from_file(raw), relax=relax)
    check_brackets(raw, report, relax)
    for each in report.influences:
        assert each.examined == each.exact
        assert each.result is None
    if not all(each.exact for each in report.influences):
        assert report.status is Status.MEMORY_LIMIT


def test_what_is_certain_counts() -> None:
    """Costs that nobody can avoid are part of the bounds, too."""
    raw = {
        "format": "mpp/1",
        "horizon": 3,
        "must_complete": True,
        "agents": [
            {
                "name": "A",
                "tasks": [
                    {"name": "a", "duration": 1, "cost": 1},
                    {
                        "name": "b",
                        "duration": 1,
                        "cost": 1,
                        "delay": {"probability": 0.5, "duration": 1},
                    },
                ],
            },
            {"name": "B", "tasks": [{"name": "c", "duration": 3, "cost": -1}]},
        ],
    }
    (influence,) = sensitivity(from_file(raw)).influences
    assert (influence.low, influence.high) == (0.5, 0.5)


@settings(max_examples=30)
@given(mpp_dicts(max_work=500), st.sampled_from([1e-4, 1e-3, 3e-3, 1e-2]))
def test_tiny_time_limits(raw: dict[str, Any], time_limit: float) -> None:
    """Whatever the time limit, there is an error or intervals that hold the truth."""
    problem = from_file(raw)
    try:
        with ticking():
            report = sensitivity(problem, time_limit=time_limit)
    except LimitError:
        return
    assert len(report.influences) == count_changes(raw)
    check_brackets(raw, report)


@given(mpp_dicts(max_work=500))
def test_a_plan_is_carried_over(raw: dict[str, Any]) -> None:
    """The base's plan, without a rule of hindrance, is worth what it was and what it pays less."""
    problem = from_file(raw)
    policy = solve(problem).policy
    money = split_value(policy)
    for change in find_changes(problem, ["hindrance"]):
        carried = _carry_over(policy, change.apply(problem))
        expected = money.value + money.hindrances[change.place[0]]
        assert carried.evaluate() == pytest.approx(expected, abs=1e-9 * scale(raw))


def test_some_are_solved_rather_than_all_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search gets twice the time of the problem as it is, even if then others get none."""
    times = []

    def slow(problem: MaintenanceProblem, **options: Any) -> Result:
        times.append(options["time_limit"])
        return dataclasses.replace(solve(problem), seconds=20.0)

    monkeypatch.setattr(MODULE, "solve", slow)
    with standing():
        sensitivity(COSTLY, time_limit=100)
    assert times[:2] == [30, 40]


def test_what_the_plan_pays_is_known() -> None:
    """For a rule of hindrance there is what the plan for the problem as it is pays for it."""
    tight = dataclasses.replace(TWO, horizon=2, must_complete=True)
    report = sensitivity(tight)
    paid = {each.change.kind: each.paid for each in report.influences}
    assert paid == {"hindrance": split_value(report.result.policy).hindrances[0], "windows": None}
    assert paid["hindrance"] == 15


def test_the_most_costly_come_first() -> None:
    """Influences are in descending order of what is certain, then of what is possible."""
    report = sensitivity(TWO)
    found = [(each.change.kind, each.change.tasks, each.low) for each in report.influences]
    # Alpha must start at once and Beta at once or one step later: they meet for one step. The rule
    # and Beta's window cost just that; Alpha could as well start after Beta.
    assert found == [
        ("hindrance", ("Alpha/a1", "Beta/b1"), 7.5),
        ("windows", ("Alpha/a1",), 7.5),
        ("windows", ("Beta/b1",), 7.5),
    ]
    more = dataclasses.replace(
        TWO, contractors=(*TWO.contractors, Contractor("C", (Task("c", 1, 1, revenue=9),)))
    )
    more = dataclasses.replace(more, network=(Hindrance(("C/c", "Beta/b1"), cost=1), *TWO.network))
    lows = [each.low for each in sensitivity(more).influences]
    assert lows == sorted(lows, reverse=True)
    assert sensitivity(more).influences[-1].change.tasks == ("C/c", "Beta/b1")


def test_only_some_kinds() -> None:
    """`only` picks kinds; an unknown one is an error that names those there are."""
    assert {each.change.kind for each in sensitivity(TWO, only="windows").influences} == {"windows"}
    both = sensitivity(TWO, only=["windows", "hindrance"])
    assert len(both.influences) == 3
    assert sensitivity(TWO, only="delays").influences == ()
    with pytest.raises(SolverError, match="did you mean 'windows'"):
        sensitivity(TWO, only="window")


@pytest.mark.parametrize("options", [{"algorithm": "dp"}, {"merge": False, "threads": 1}])
def test_options_of_the_searches(options: dict[str, Any]) -> None:
    """Other algorithms and options give the same numbers."""
    report = sensitivity(COSTLY, **options)
    assert report.result.algorithm == options.get("algorithm", "core")
    assert report.influences == sensitivity(COSTLY).influences


@pytest.mark.parametrize("name", ["stage", "state", "start", "certificate"])
def test_options_of_one_problem_only(name: str) -> None:
    """Options that make sense for one problem only are refused by name."""
    with pytest.raises(SolverError, match=f"the sensitivity analysis has no option {name}"):
        sensitivity(COSTLY, **{name: 1})


def test_not_a_maintenance_problem() -> None:
    """A general TI-MMDP has no rules, windows and delays, and the error says so."""
    with pytest.raises(ModelError, match="only a maintenance problem"):
        sensitivity(TWO.to_timmdp())


def interrupt_at(number: int) -> Callable[..., None]:
    """Press Ctrl-C before a search, by number; the first is that of the problem as it is."""
    calls: list[object] = []

    def started(change: Change | None, done: int, total: int) -> None:
        assert (change is None) == (not calls)
        assert 0 <= done < total == 4
        calls.append(change)
        if len(calls) == number:
            raise KeyboardInterrupt

    return started


COSTLY = MaintenanceProblem(
    tuple(
        Contractor(name, (Task("w", 2, cost=3, revenue=20, window=window),))
        for name, window in (("A", (0, 0)), ("B", None), ("C", (0, 0)), ("D", None))
    ),
    horizon=3,
    network=tuple(Hindrance(tasks, cost=7.5) for tasks in (("A/w", "B/w"), ("C/w", "D/w"))),
)


def test_interrupts_keep_what_there_is() -> None:
    """Ctrl-C between searches ends with what was examined; the rest has bounds of its own."""
    whole = sensitivity(COSTLY)
    assert whole.status is Status.OPTIMAL
    report = sensitivity(COSTLY, started=interrupt_at(3))
    assert report.status is Status.INTERRUPTED
    searched = [each for each in report.influences if each.result is not None]
    assert len(searched) == 1
    assert searched[0] in whole.influences
    left = [each for each in report.influences if not each.examined]
    assert left
    assert report.influences[-len(left) :] == tuple(left)
    assert "interrupted: " in report.summary()
    with pytest.raises(KeyboardInterrupt):
        sensitivity(COSTLY, started=interrupt_at(1))


def test_a_callback_stops_all() -> None:
    """A callback that asks to stop ends all searches, not only the one that runs."""
    report = sensitivity(COSTLY, callback=lambda _: True)
    assert report.status is Status.INTERRUPTED
    assert all(each.result is None for each in report.influences)


def test_time_left_is_used_for_a_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not solved in its share of the time is searched again with much more."""
    given_times: dict[MaintenanceProblem, list[float]] = {}

    def slow(problem: MaintenanceProblem, **options: Any) -> Result:
        times = given_times.setdefault(problem, [])
        times.append(options["time_limit"])
        exact = solve(problem)
        started = options["options"].start is not None
        assert started == (len(times) > 1 or len(problem.network) == 1)
        if len(times) == 1 and problem.contractors[0].tasks[0].window is None:
            return dataclasses.replace(
                exact, status=Status.TIME_LIMIT, upper_bound=exact.upper_bound + 1
            )
        return exact

    monkeypatch.setattr(MODULE, "solve", slow)
    with standing():
        report = sensitivity(COSTLY, time_limit=100)
    assert report.status is Status.OPTIMAL
    (twice,) = [times for times in given_times.values() if len(times) > 1]
    assert twice[1] > 1.5 * twice[0]
    assert max(max(times) for times in given_times.values()) <= 100


def test_words() -> None:
    """Sentences say what is changed, and how the best plan changes, exactly or in bounds."""
    rule = Hindrance(("A/a", "B/b", "C/c"), cost=[1, 2])
    change = Change("hindrance", rule.tasks, rule, None, (0,), True)

    def say(low: float, high: float, value: float = 100.0, examined: bool = True) -> str:
        text = influence_in_words(Influence(change, low, high, examined), value)
        begin = "Without the rule that A/a, B/b and C/c hinder each other (1 to 2 per step), "
        assert text.startswith(begin)
        return text.removeprefix(begin)

    assert say(4, 4) == "the best plan earns 4.00 more (4 %)"
    assert say(4, 4, -100) == "the best plan costs 4.00 less (4 %)"
    assert say(-4, -4) == "the best plan earns 4.00 less (4 %)"
    assert say(0, 0) == "the best plan earns the same"
    assert say(-1e-12, -1e-12, -1) == "the best plan costs the same"
    assert say(1, 2) == "the best plan earns between 1.00 and 2.00 more"
    assert say(0, 2) == "the best plan earns at most 2.00 more (2 %)"
    assert say(-1, 2) == "the best plan earns between 1.00 less and 2.00 more"
    assert say(-2, -1, -5) == "the best plan costs between 2.00 more and 1.00 more"
    assert say(0, math.inf, examined=False) == "the effect is not known (not examined)"
    assert say(3, math.inf) == "the best plan earns at least 3.00 more"
    assert say(-math.inf, 3) == "the best plan earns at most 3.00 more"
    known = dataclasses.replace(Influence(change, 1, 2, True), paid=1.5)
    assert influence_in_words(known, 9).endswith("; the best known plan pays 1.50 for it")
    assert say(0.004, 0.004) == "the best plan earns 0.004 more (0.004 %)"
    assert say(4, 4, 0.0) == "the best plan earns 4.00 more"


def test_the_end_says_what_is_missing() -> None:
    """The last line says why numbers are not exact, and how many were not examined."""
    report = sensitivity(COSTLY)
    assert "exact" not in report.summary()
    loose = tuple(dataclasses.replace(each, high=each.high + 1) for each in report.influences)
    for status, why in (
        (Status.TIME_LIMIT, "the time limit was reached"),
        (Status.MEMORY_LIMIT, "the memory limit was reached"),
        (Status.GAP_LIMIT, "the gap limit was reached"),
    ):
        known = dataclasses.replace(report, influences=loose, status=status)
        assert known.summary().endswith(f"{why}: not all numbers are exact")
    unknown = (*loose[1:], dataclasses.replace(loose[0], examined=False))
    report = dataclasses.replace(report, influences=unknown, status=Status.TIME_LIMIT)
    assert report.summary(2).endswith(
        "and 2 more, not shown\nthe time limit was reached: 1 of 4 changes were not examined"
    )


def test_all_changes_have_words() -> None:
    """Every kind of change, removed and relaxed, is named with what holds now."""
    raw = {
        "format": "mpp/1",
        "horizon": 9,
        "agents": [
            {
                "name": name,
                "tasks": [
                    {
                        "name": "w",
                        "duration": 1,
                        "cost": 1,
                        "window": [2, 5],
                        "delay": {"probability": 0.25, "duration": 2},
                    }
                ],
            }
            for name in ("A", "B")
        ],
        "network": [{"tasks": ["A/w", "B/w"], "cost": 7.5}],
    }
    problem = from_file(raw)
    removed, relaxed = sensitivity(problem).summary(), sensitivity(problem, relax=True).summary()
    assert "Without the rule that A/w and B/w hinder each other (7.5 per step), " in removed
    assert "If A/w could start at any time (now steps 2 to 5), " in removed
    assert "If B/w were never delayed (now with a chance of 25 %, by 2 steps), " in removed
    assert "With half the cost of the rule that A/w and B/w hinder each other (now 7.5" in relaxed
    assert "If A/w could start 1 step earlier or later (now steps 2 to 5), " in relaxed
    assert "If B/w were delayed half as often (now with a chance of 25 %, by 2 steps), " in relaxed
    assert (
        "the problem has no rule, window or delay of this kind"
        in sensitivity(TWO, only="delays").summary()
    )
    assert len(KINDS) == 3


def test_windows_that_say_nothing() -> None:
    """A window that leaves out no stage, and a rule that costs nothing, change nothing."""
    problem = MaintenanceProblem(
        (
            Contractor("A", (Task("a", 1, cost=1, revenue=2, window=(0, 7)),)),
            Contractor("B", (Task("b", 1, cost=1, revenue=2),)),
        ),
        horizon=4,
        network=(Hindrance(("A/a", "B/b"), cost=0),),
    )
    report = sensitivity(problem)
    assert [(each.low, each.high, each.examined) for each in report.influences] == [
        (0, 0, True)
    ] * 2
    assert all(each.result is None for each in report.influences)
