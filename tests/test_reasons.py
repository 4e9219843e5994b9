"""Why works start when they do: costs and causes, compared with plain recursion."""

from __future__ import annotations

import copy
import datetime
import math
import signal
from typing import Any

import pytest
from hypothesis import given, settings

from cli_runs import Run, one_json
from coreplan import (
    Calendar,
    Contractor,
    Delay,
    Hindrance,
    MaintenanceProblem,
    ModelError,
    Policy,
    Progress,
    Task,
    read_problem,
    solve,
)
from coreplan.domains.maintenance import Closure
from coreplan.domains.maintenance.reasons import Cause, Reason, Shift, find_reasons
from coreplan.domains.maintenance.states import ContractorState
from coreplan.domains.maintenance.view.reasons_text import reason_in_words, reasons_lines
from helpers import from_file, judge_state, scale
from judge import CONTINUE, START, WAIT, Mpp
from strategies import mpp_dicts

ROUNDING = 1e-5
"""Values are proven to a millionth; costs are differences of two of them."""


class Limited(Mpp):
    """The judge's model, in which one work has to start by, or not before, a step.

    Local states of its contractor also have the step in which the work in progress would normally
    end: being busy is an excuse only for what takes longer than normally.
    """

    def __init__(self, raw: dict[str, Any], agent: int, work: str, **limits: int) -> None:
        super().__init__(raw)
        self.agent, self.work = agent, work
        self.earliest, self.latest = limits.get("earliest"), limits.get("latest")

    def value(self, stage: int, joint: Any, memo: dict[Any, float], normal_end: int = -1) -> float:
        """The best value from a situation on; minus infinity if the limit cannot be kept."""
        if stage == self.horizon:
            return 0.0
        key = (stage, joint, normal_end)
        if key in memo:
            return memo[key]
        memo[key] = -math.inf
        for action in self.joint_actions(stage, joint):
            mine = action[self.agent]
            end = normal_end
            if mine.startswith(START):
                task = self.tasks[self.agent][mine.removeprefix(START)]
                certain = task.get("delay", {}).get("probability") == 1
                least = task["duration"] + (task["delay"]["duration"] if certain else 0)
                end = stage + int(least)
            if not self.keeps(stage, joint[self.agent], mine, end):
                continue
            total = 0.0
            for following, probability in self.joint_outcomes(joint, action):
                rest = self.value(stage + 1, following, memo, end)
                total += probability * (self.reward(stage, joint, action, following) + rest)
            memo[key] = max(memo[key], total)
        return memo[key]

    def keeps(self, stage: int, local: Any, mine: str, end: int) -> bool:
        """Whether an action keeps the limit."""
        not_started, _, _ = local
        if self.work not in not_started:
            return True
        if mine == START + self.work:
            return self.earliest is None or stage >= self.earliest
        if stage != self.latest:
            return True
        return mine != WAIT and mine == CONTINUE and end <= stage


def brute(
    raw: dict[str, Any], policy: Policy, reason: Reason, by: int
) -> tuple[float, tuple[Any, ...]]:
    """The true cost of another start, infinite if impossible; and the situation."""
    shift = reason.earlier if by < 0 else reason.later
    named = policy.schedule().states[shift.from_step - policy.stage]
    joint = judge_state(raw, dict(named))
    return cost_from(raw, joint, reason, shift.from_step, by), joint


def cost_from(
    raw: dict[str, Any], joint: tuple[Any, ...], reason: Reason, stage: int, by: int
) -> float:
    """The cost of another start from a situation on."""
    agent = [each["name"] for each in raw["agents"]].index(reason.contractor)
    limits = {"latest": reason.start - 1} if by < 0 else {"earliest": reason.start + 1}
    free = Limited(raw, agent, reason.work).value(stage, joint, {})
    return free - Limited(raw, agent, reason.work, **limits).value(stage, joint, {})


def without(
    raw: dict[str, Any], joint: tuple[Any, ...], cause: Cause
) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """The problem and the situation without a cause."""
    raw = copy.deepcopy(raw)
    if cause.kind == "hindrance":
        raw["network"] = [each for each in raw["network"] if set(each["tasks"]) != set(cause.names)]
        return raw, joint
    (name,) = cause.names
    i = next(i for i, each in enumerate(raw["agents"]) if name.startswith(f"{each['name']}/"))
    agent = raw["agents"][i]
    work = name[len(agent["name"]) + 1 :]
    task = next(each for each in agent["tasks"] if each["name"] == work)
    if cause.kind == "work":
        agent["tasks"].remove(task)
        raw["network"] = [each for each in raw.get("network", []) if name not in each["tasks"]]
        todo, doing, remaining = joint[i]
        joint = (*joint[:i], (todo - {work}, doing, remaining), *joint[i + 1 :])
    elif cause.kind == "price":
        task["cost"] = sum(task["cost"]) / len(task["cost"])
    else:
        del task[cause.kind]
    return raw, joint


@settings(max_examples=40)
@given(raw=mpp_dicts(max_agents=3, max_tasks=2, max_horizon=6, max_work=1000))
def test_costs_and_causes_are_true(raw: dict[str, Any]) -> None:
    """Costs are exact, impossible starts are impossible, and causes are causes: brute force."""
    raw["horizon"] = int(raw["horizon"])
    problem = from_file(raw)
    policy = solve(problem).policy
    assert policy is not None
    found = find_reasons(policy)
    assert found.complete
    room = ROUNDING * scale(raw)
    starts = {(each.contractor, each.task): each.start for each in policy.schedule().works}
    assert {(each.contractor, each.work): each.start for each in found.reasons} == starts
    for reason in found.reasons:
        for by, shift in ((-1, reason.earlier), (1, reason.later)):
            assert shift.searched or shift.low <= room
            cause = shift.cause
            true, joint = brute(raw, policy, reason, by)
            if not shift.possible:
                assert cause is not None
                check_obstacle(raw, reason, by, cause, true)
                own = cause.names == (f"{reason.contractor}/{reason.work}",)
                searched = cause.kind in ("delay", "work") or (cause.kind == "window" and not own)
                if searched:
                    other, situation = without(raw, joint, cause)
                    freed = cost_from(other, situation, reason, shift.from_step, by)
                    assert math.isfinite(freed)
                continue
            assert shift.low - room <= true <= shift.high + room
            assert shift.exact
            if cause is not None:
                assert cause.left is not None
                other, situation = without(raw, joint, cause)
                left = cost_from(other, situation, reason, shift.from_step, by)
                assert left == pytest.approx(cause.left, abs=room)
                assert left < true


def check_obstacle(raw: dict[str, Any], reason: Reason, by: int, cause: Cause, true: float) -> None:
    """A start that is called impossible is so, for the reason that is given."""
    agent = next(each for each in raw["agents"] if each["name"] == reason.contractor)
    task = next(each for each in agent["tasks"] if each["name"] == reason.work)
    first, last = task.get("window", (0, raw["horizon"]))
    if cause.kind == "begin":
        assert reason.start == 0
    elif cause.kind == "end":
        assert reason.start == raw["horizon"] - 1
    elif cause.kind == "window" and cause.names == (f"{reason.contractor}/{reason.work}",):
        assert reason.start in (first, last) or true == math.inf
    else:
        assert true == math.inf


# -- examples --------------------------------------------------------------------------------------


def problem(*tasks: tuple[str, Task], rules: tuple[Hindrance, ...] = ()) -> MaintenanceProblem:
    """Works of contractors, all of which must be done within 8 steps."""
    names = dict.fromkeys(name for name, _ in tasks)
    return MaintenanceProblem(
        tuple(Contractor(name, tuple(t for n, t in tasks if n == name)) for name in names),
        8,
        rules,
        must_complete=True,
    )


def reasons_of(made: MaintenanceProblem, **options: Any) -> dict[str, Reason]:
    """The reasons for the best plan, by work."""
    policy = solve(made, **options).policy
    assert policy is not None
    return {each.work: each for each in find_reasons(policy).reasons}


def test_hindrance_holds_a_work() -> None:
    """A work that waits for another one names the rule, and what it would cost."""
    made = problem(
        ("Alpha", Task("a1", 2, cost=3, window=(0, 0))),
        ("Beta", Task("b1", 2, cost=1)),
        rules=(Hindrance(("Alpha/a1", "Beta/b1"), 7.5),),
    )
    reason = reasons_of(made)["b1"]
    assert reason.earlier.cause == Cause("hindrance", ("Alpha/a1", "Beta/b1"), 0.0)
    calendar = Calendar(datetime.date(2026, 4, 6), "week")
    assert reason_in_words(reason, calendar) == (
        "Beta/b1 starts on 20 Apr 2026: a week earlier costs 7.50 more, because Alpha/a1 and "
        "Beta/b1 hinder each other; a week later costs the same."
    )


def test_a_window_holds_a_work() -> None:
    """A work that starts with its window cannot start earlier."""
    reason = reasons_of(problem(("Alpha", Task("a1", 2, cost=3, window=(3, 4)))))["a1"]
    assert not reason.earlier.possible
    assert "it cannot start earlier, because of its window; a step later costs the same" in (
        reason_in_words(reason)
    )


def test_prices_hold_a_work() -> None:
    """A work that waits for a cheaper step says that its costs depend on the date."""
    made = problem(("Alpha", Task("a1", 1, cost=(5.0, 4, 3, 1, 2, 2, 2, 2))))
    reason = reasons_of(made)["a1"]
    assert (reason.start, reason.earlier.low, reason.later.low) == (3, 2.0, 1.0)
    assert reason.earlier.cause == reason.later.cause == Cause("price", ("Alpha/a1",), 0.0)


def test_an_own_work_is_in_the_way() -> None:
    """A work after another one of its contractor costs the same only if that one moves."""
    made = problem(("Alpha", Task("a1", 2, cost=3)), ("Alpha", Task("a2", 2, cost=3)))
    reason = reasons_of(made)["a2"]
    assert reason.before == "a1"
    assert "a step earlier costs the same if a1 moves" in reason_in_words(reason)


def test_a_work_under_way_is_in_the_way() -> None:
    """A work that follows one under way cannot start earlier."""
    made = problem(("Alpha", Task("a1", 3, cost=3)), ("Alpha", Task("a2", 2, cost=3)))
    state = {"Alpha": ContractorState((), "a1", 2)}
    reason = reasons_of(made, stage=2, state=state)["a2"]
    assert reason.start == 4
    assert reason.earlier.cause == Cause("under_way", ("Alpha/a1",))
    assert "because Alpha/a1 is under way until then" in reason_in_words(reason)


def test_no_time_is_left() -> None:
    """A work that must be completed cannot start later than that."""
    made = problem(("Alpha", Task("a1", 5, cost=3, delay=Delay(0.5, 3))))
    reason = reasons_of(made)["a1"]
    assert reason.later.cause == Cause("delay", ("Alpha/a1",))
    assert "it cannot start later, because it may be delayed" in reason_in_words(reason)
    made = problem(("Alpha", Task("a1", 8, cost=3)))
    assert reasons_of(made)["a1"].later.cause == Cause("must_complete", ())


def test_limits_leave_bounds() -> None:
    """Without work to spend, nothing is claimed, and the text says so."""
    made = problem(
        ("Alpha", Task("a1", 2, cost=3)),
        ("Beta", Task("b1", 2, cost=1)),
        rules=(Hindrance(("Alpha/a1", "Beta/b1"), 7.5),),
    )
    policy = solve(made).policy
    assert policy is not None
    found = find_reasons(policy, work_limit=0.0)
    assert not found.complete
    assert all(each.later.low == 0 and each.later.high == math.inf for each in found.reasons)
    text = "\n".join(reasons_lines(found, 80))
    assert "what a step later costs was not computed" in text
    assert "A limit was reached" in text
    stopped = find_reasons(policy, callback=lambda _: True)
    assert not stopped.complete


def test_ctrl_c_leaves_bounds() -> None:
    """Ctrl-C ends the search with what is known by then; nothing wrong is claimed."""
    made = problem(
        ("Alpha", Task("a1", 2, cost=3)),
        ("Beta", Task("b1", 2, cost=1)),
        rules=(Hindrance(("Alpha/a1", "Beta/b1"), 7.5),),
    )
    policy = solve(made).policy
    assert policy is not None
    pressed = 0

    def press(_: Progress) -> None:
        nonlocal pressed
        pressed += 1
        if pressed == 1:
            signal.raise_signal(signal.SIGINT)

    found = find_reasons(policy, callback=press)
    assert pressed >= 1
    assert not found.complete
    exact = {each.work: each for each in find_reasons(policy).reasons}
    for reason in found.reasons:
        known = exact[reason.work]
        for shift, true in ((reason.earlier, known.earlier), (reason.later, known.later)):
            assert shift.possible == true.possible
            assert shift.low <= true.high
            assert true.low <= shift.high


def test_bounds_are_called_bounds() -> None:
    """A cost that is not exact is never shown as exact."""
    for low, high, words in (
        (1.0, 2.0, "costs between 1.00 and 2.00 more"),
        (0.0, 2.0, "costs at most 2.00 more"),
        (1.0, math.inf, "costs at least 1.00 more"),
    ):
        shift = Shift(0, True, low, high)
        assert words in reason_in_words(Reason("A", "w", 1, shift, shift))


def test_only_plans_of_works() -> None:
    """Plans of other problems are refused with a reason."""
    policy = solve(problem(("Alpha", Task("a1", 2, cost=3))).to_timmdp()).policy
    assert policy is not None
    with pytest.raises(ModelError, match="need a plan of a maintenance problem"):
        find_reasons(policy)


# -- the command -----------------------------------------------------------------------------------


def test_plan_why(run: Run) -> None:
    """`plan --why` has one sentence for each work, in lines of 80 columns."""
    code, out, err = run("plan", "examples/ring_road.yaml", "--why", "--rules", "0")
    assert (code, err) == (0, "")
    lines = out[out.index("Why then:") :].splitlines()
    assert all(len(line) <= 80 for line in lines)
    made = read_problem("examples/ring_road.yaml")
    assert isinstance(made, MaintenanceProblem)
    works = [f"{c.name}/{t.name}" for c in made.contractors for t in c.tasks]
    text = " ".join(" ".join(lines).split())
    assert all(text.count(f"- {name} starts in step") == 1 for name in works)


def test_plan_why_as_json(run: Run) -> None:
    """With --json, the reasons are part of the object."""
    code, out, _ = run("plan", "examples/two_works.yaml", "--why", "--json")
    assert code == 0
    shown = one_json(out)["why"]
    assert shown["complete"] is True
    assert {"earlier", "later", "start"} <= shown["reasons"][0].keys()
    assert "why" not in one_json(run("plan", "examples/two_works.yaml", "--json").out)


def test_plan_why_needs_works(run: Run) -> None:
    """Problems without works have no such reasons."""
    code, _, err = run("plan", "examples/two_robots.yaml", "--why")
    assert code == 2
    assert "only a maintenance problem" in err


def test_closed_periods_are_causes() -> None:
    """A closed period that forbids an earlier start is named."""
    costs = (1.0, 1.0, 1.0, 9.0, 9.0, 9.0)
    closed = (Closure(0, 1, "work", "Easter"),)
    alpha = Contractor("Alpha", (Task("a1", 1, cost=costs),))
    problem = MaintenanceProblem((alpha,), 6, (), True, "works", closed)
    policy = solve(problem).policy
    assert policy is not None
    (reason,) = find_reasons(policy).reasons
    assert reason_in_words(reason) == (
        "Alpha/a1 starts in step 2: it cannot start earlier, because of the closed period Easter; "
        "a step later costs 8.00 more, because its costs depend on the date."
    )
