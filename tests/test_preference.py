"""Among equally good plans: the wanted one is found, and the value stays what it is."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coreplan import (
    Contractor,
    Delay,
    Hindrance,
    MaintenanceProblem,
    Policy,
    Progress,
    SolverError,
    Status,
    Task,
    solve,
)
from coreplan.model.indexed import IndexedProblem
from coreplan.model.problem import index_problem
from coreplan.policies import plan_graph
from coreplan.proof.verify import verify
from coreplan.solving.preference import closeness_of, lead_of
from coreplan.solving.tuning import Tuning
from helpers import from_file

PATIENT = Tuning(least_preference=100.0)
"""However long it takes: these problems are small."""


@st.composite
def flat_problems(draw: st.DrawFn, most_agents: int = 3) -> dict[str, Any]:
    """Small maintenance problems full of ties: whole numbers, and chances that add up exactly."""
    horizon = draw(st.integers(3, 6))
    agents = []
    for i in range(draw(st.integers(1, most_agents))):
        tasks = []
        for k in range(draw(st.integers(1, 2))):
            task: dict[str, Any] = {
                "name": f"{'abc'[i]}{k}",
                "duration": 1,
                "cost": draw(
                    st.integers(0, 3) | st.lists(st.integers(1, 3), min_size=8, max_size=8)
                ),
                "revenue": draw(st.sampled_from([0, 3, 20])),
            }
            if isinstance(task["cost"], list):
                task["cost"] = task["cost"][:horizon]
            chance = draw(st.sampled_from([0, 0, 0.25, 0.5]))
            if chance:
                task["delay"] = {"probability": chance, "duration": 1}
            tasks.append(task)
        agents.append({"name": ["Beta", "Alpha", "Gamma"][i], "tasks": tasks})
    pairs = [
        (one, other)
        for one, other in itertools.combinations(agents, 2)
        if draw(st.booleans()) or draw(st.booleans())
    ]
    network = [
        {
            "tasks": [
                f"{one['name']}/{draw(st.sampled_from(one['tasks']))['name']}",
                f"{other['name']}/{draw(st.sampled_from(other['tasks']))['name']}",
            ],
            "cost": draw(st.integers(1, 5)),
        }
        for one, other in pairs
    ]
    return {"format": "mpp/1", "horizon": horizon, "agents": agents, "network": network}


def best_lead(indexed: IndexedProblem, sign: int) -> tuple[Fraction, Fraction]:
    """The optimal value, and the best lead of all optimal plans: by brute force, exactly."""
    value, lead = best_of(indexed, lambda _, __, stage: (sign * (indexed.horizon - stage),))
    return value, sign * lead


def best_of(
    indexed: IndexedProblem,
    rank: Callable[[str, str, int], tuple[int, ...]],
    bonus: Callable[[str, str, int], float] = lambda *_: 0.0,
) -> tuple[Fraction, ...]:
    """The optimal value, and the best sums over all starts among the optimal plans, in order.

    The value has a bonus for each start.
    """
    agents = indexed.agents
    everyone = range(len(agents))

    def matches(i: int, condition: int, state: int, action: int, after: int) -> bool:
        asked = agents[i].conditions[condition]
        return (
            (asked.states is None or state in asked.states)
            and (asked.actions is None or action in asked.actions)
            and (asked.nexts is None or after in asked.nexts)
        )

    width = len(rank("", "", 0))

    @functools.cache
    def best(stage: int, joint: tuple[int, ...]) -> tuple[Fraction, ...]:
        if stage == indexed.horizon:
            return (Fraction(0),) * (1 + width)
        found = []
        for choices in itertools.product(
            *(agents[i].choices(stage, joint[i]).values() for i in everyone)
        ):
            actions = [agents[i].choice_action[choices[i]] for i in everyone]
            total = [Fraction(0)] * (1 + width)
            for i in everyone:
                task = agents[i].tasks[actions[i]]
                if task is not None:
                    total[0] += Fraction(bonus(agents[i].name, task, stage))
                    for k, each in enumerate(rank(agents[i].name, task, stage)):
                        total[1 + k] += each
            for outcome in itertools.product(*(agents[i].outcomes(choices[i]) for i in everyone)):
                after = tuple(each[1] for each in outcome)
                chance = Fraction(1)
                for each in outcome:
                    chance *= Fraction(each[2])
                reward = sum(
                    (
                        Fraction(entry.value)
                        for entry in indexed.entries
                        if (entry.stages is None or stage in entry.stages)
                        and all(
                            matches(i, c, joint[i], actions[i], after[i]) for i, c in entry.members
                        )
                    ),
                    Fraction(0),
                )
                rest = best(stage + 1, after)
                total[0] += chance * reward
                total = [one + chance * more for one, more in zip(total, rest, strict=True)]
            found.append(tuple(total))
        return max(found)

    return best(indexed.stage, tuple(agent.start for agent in agents))


def decisions(policy: Policy) -> dict[Any, dict[str, str]]:
    """What everybody does, by name, in all joint states that a policy leads to."""
    return {
        (each.stage, tuple(sorted((name, str(state)) for name, state in each.state.items()))): dict(
            each.action
        )
        for each in plan_graph(policy).situations
        if each.stage < policy.horizon
    }


# -- the wanted plan -------------------------------------------------------------------------------


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("prefer", ["early", "late"])
@given(raw=flat_problems())
def test_the_preference_is_optimal_among_the_optima(
    raw: dict[str, Any], prefer: str, exact: bool
) -> None:
    """The value is the optimum, and no optimal plan starts earlier (or later): brute force."""
    problem = from_file(raw)
    value, lead = best_lead(index_problem(problem), 1 if prefer == "early" else -1)
    result = solve(problem, prefer=prefer, exact=exact, tuning=PATIENT)
    assert result.value == pytest.approx(float(value), rel=1e-9, abs=1e-9)
    assert result.policy is not None
    assert result.policy.evaluate() == pytest.approx(float(value), rel=1e-9, abs=1e-9)
    assert result.statistics.others["preference_gap"] == 0
    assert lead_of(result.policy).evaluate() == pytest.approx(float(lead), rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("exact", [True, False])
@given(raw=flat_problems(), data=st.data())
def test_an_old_plan_is_kept_as_far_as_possible(
    raw: dict[str, Any], exact: bool, data: st.DataObject
) -> None:
    """No optimal plan is closer to the old starts, and no equally close one is earlier."""
    problem = from_file(raw)
    indexed = index_problem(problem)
    keep = {
        agent["name"]: {
            task["name"]: data.draw(st.integers(0, raw["horizon"] + 1))
            for task in agent["tasks"]
            if data.draw(st.integers(0, 3))
        }
        for agent in raw["agents"]
    }

    def rank(agent: str, task: str, stage: int) -> tuple[int, ...]:
        old = keep.get(agent, {}).get(task)
        near = 0 if old is None else abs(indexed.horizon - old) - abs(stage - old)
        return near, indexed.horizon - stage

    value, near, lead = best_of(indexed, rank)
    result = solve(problem, keep=keep, exact=exact, tuning=PATIENT)
    assert result.policy is not None
    assert result.value == pytest.approx(float(value), rel=1e-9, abs=1e-9)
    assert result.policy.evaluate() == pytest.approx(float(value), rel=1e-9, abs=1e-9)
    assert closeness_of(result.policy, keep).evaluate() == pytest.approx(float(near), abs=1e-6)
    # A much smaller reward decides among these: it may miss what is almost as early.
    assert lead_of(result.policy).evaluate() == pytest.approx(float(lead), abs=1e-3)


def test_a_plan_that_is_still_optimal_is_kept() -> None:
    """The starts of an optimal plan are kept, whatever plan would be found otherwise."""
    works = tuple(Task(f"w{k}", duration=2, cost=5, revenue=50) for k in range(3))
    problem = MaintenanceProblem((Contractor("A", works), Contractor("B", works)), horizon=20)
    old = solve(problem, prefer="late").policy
    assert old is not None
    starts = old.schedule().to_schedule()
    kept = solve(problem, keep=starts).policy
    plain = solve(problem).policy
    assert kept is not None
    assert plain is not None
    assert kept.schedule().to_schedule() == starts != plain.schedule().to_schedule()


@pytest.mark.parametrize("value", ["mine", {"A": 3}, {"A": {"a": 1.5}}, {"A": {"a": None}}])
def test_what_is_no_old_plan(value: Any) -> None:
    """Anything but starts of works is refused with the place of the mistake."""
    problem = MaintenanceProblem((Contractor("A", (Task("a", 1, cost=1, revenue=2),)),), horizon=3)
    with pytest.raises(SolverError, match="keep"):
        solve(problem, keep=value)


@given(raw=flat_problems())
def test_the_value_and_its_proof_do_not_change(raw: dict[str, Any]) -> None:
    """Bounds and status are those of any optimal plan, to the last bit."""
    problem = from_file(raw)
    results = [solve(problem, prefer=prefer) for prefer in ("any", "early", "late")]
    assert len({(each.value, each.upper_bound, each.status) for each in results}) == 1


def test_works_do_not_wait_for_nothing() -> None:
    """With the same cost in all weeks and nobody in the way, works follow each other at once."""
    works = tuple(Task(f"w{k}", duration=2, cost=5, revenue=50) for k in range(3))
    problem = MaintenanceProblem((Contractor("A", works), Contractor("B", works)), horizon=20)
    early, late = (solve(problem, prefer=prefer).policy for prefer in ("early", "late"))
    assert early is not None
    assert late is not None
    assert lead_of(early).evaluate() == pytest.approx(2 * (20 + 18 + 16))
    assert lead_of(late).evaluate() < 2 * (8 + 6 + 4)


def test_the_first_plan_stays_where_work_is_short() -> None:
    """Where the preference takes too much work, what is found is optimal, and the gap is told."""
    tasks = [
        tuple(Task(f"{n}{k}", 1, cost=1, revenue=9, delay=Delay(0.5, 1)) for k in range(2))
        for n in "ABCD"
    ]
    contractors = tuple(Contractor(n, each) for n, each in zip("ABCD", tasks, strict=True))
    network = tuple(
        Hindrance((f"{one.name}/{a.name}", f"{other.name}/{b.name}"), 3)
        for one, other in itertools.combinations(contractors, 2)
        for a in one.tasks
        for b in other.tasks
    )
    problem = MaintenanceProblem(contractors, horizon=20, network=network)
    little = Tuning(least_preference=1e-3, preference_part=0.0)
    short = solve(problem, exact=False, tuning=little)
    plain = solve(problem, exact=False, prefer="any")
    whole = solve(problem, exact=False, tuning=PATIENT)
    assert short.value == plain.value == whole.value
    for result in (short, plain, whole):
        assert result.policy is not None
        assert result.policy.evaluate() == pytest.approx(result.value, rel=1e-9)
    assert plain.policy is not None
    assert short.policy is not None
    assert whole.policy is not None
    leads = [lead_of(each.policy).evaluate() for each in (plain, short, whole) if each.policy]
    assert leads[0] <= leads[1] + 1e-9
    assert leads[1] <= leads[2] + 1e-6
    if "preference_gap" in short.statistics.others:
        assert leads[2] - leads[1] <= short.statistics.others["preference_gap"] + 1e-6
    assert whole.statistics.others["preference_gap"] == 0


def test_a_plan_that_was_given_stays() -> None:
    """Somebody's own plan is not changed for another one that is as good."""
    works = (Task("w", duration=2, cost=5, revenue=50),)
    problem = MaintenanceProblem((Contractor("A", works),), horizon=9)
    late = solve(problem, prefer="late").policy
    assert late is not None
    again = solve(problem, start=late)
    assert again.policy is not None
    assert decisions(again.policy) == decisions(late)


def test_stopping_meanwhile_leaves_an_optimal_plan() -> None:
    """Asked to stop once the optimum is proven, it hands over an optimal plan, not a worse one."""
    works = tuple(Task(f"w{k}", 1, cost=1, revenue=9, delay=Delay(0.5, 1)) for k in range(2))
    contractors = tuple(Contractor(name, works) for name in "ABCD")
    network = tuple(
        Hindrance((f"{one}/w0", f"{other}/w1"), 3) for one, other in itertools.pairwise("ABCD")
    )
    problem = MaintenanceProblem(contractors, horizon=16, network=network)
    proven = solve(problem, exact=False, prefer="any")

    def stop(progress: Progress) -> bool:
        return progress.lower_bound >= proven.value - 1e-9

    result = solve(problem, exact=False, callback=stop)
    assert result.policy is not None
    assert result.policy.evaluate() == pytest.approx(result.value, rel=1e-9)
    if result.status is Status.OPTIMAL:
        assert result.value == pytest.approx(proven.value, rel=1e-9)


@pytest.mark.parametrize("value", ["soon", None, 1, ["early"]])
def test_what_is_no_preference(value: Any) -> None:
    """Anything but the three words is refused by name."""
    problem = MaintenanceProblem((Contractor("A", (Task("a", 1, cost=1, revenue=2),)),), horizon=3)
    with pytest.raises(SolverError, match=r"prefer is .*'early', 'late', 'any'"):
        solve(problem, prefer=value)


# -- whatever order, whatever names ----------------------------------------------------------------


@given(raw=flat_problems(), data=st.data())
def test_the_order_of_agents_does_not_matter(raw: dict[str, Any], data: st.DataObject) -> None:
    """Listed in another order, everybody does the same in all joint states."""
    shuffled = {**raw, "agents": data.draw(st.permutations(raw["agents"]))}
    plans = [solve(from_file(each), tuning=PATIENT) for each in (raw, shuffled)]
    assert plans[0].value == pytest.approx(plans[1].value, rel=1e-12, abs=1e-12)
    first, second = (each.policy for each in plans)
    assert first is not None
    assert second is not None
    assert decisions(first) == decisions(second)


@given(raw=flat_problems(), data=st.data())
def test_names_do_not_matter(raw: dict[str, Any], data: st.DataObject) -> None:
    """With other names the plan is as good and as early; the same if their order is the same."""
    names = [agent["name"] for agent in raw["agents"]]
    others = data.draw(st.permutations(["Kappa", "Lambda", "Mu"]))[: len(names)]
    new = dict(zip(names, others, strict=True))

    def renamed(place: str) -> str:
        agent, task = place.split("/")
        return f"{new[agent]}/{task}"

    changed = {
        **raw,
        "agents": [{**agent, "name": new[agent["name"]]} for agent in raw["agents"]],
        "network": [
            {**each, "tasks": [renamed(place) for place in each["tasks"]]}
            for each in raw["network"]
        ],
    }
    plans = [solve(from_file(each), tuning=PATIENT) for each in (raw, changed)]
    first, second = (each.policy for each in plans)
    assert first is not None
    assert second is not None
    assert plans[0].value == plans[1].value
    assert lead_of(first).evaluate() == pytest.approx(lead_of(second).evaluate(), abs=1e-6)
    if sorted(names) == sorted(names, key=new.__getitem__):
        back = {value: key for key, value in new.items()}
        told = {
            (stage, tuple(sorted((back[name], text) for name, text in state))): dict(
                sorted((back[name], action) for name, action in actions.items())
            )
            for (stage, state), actions in decisions(second).items()
        }
        assert told == decisions(first)


@pytest.mark.parametrize("prefer", ["early", "late", "any"])
def test_nobody_has_any_task(prefer: str) -> None:
    """Where no task can be started, all plans are equally early."""
    result = solve(MaintenanceProblem((Contractor("Alpha", ()),), horizon=2), prefer=prefer)
    assert result.value == 0
    assert result.policy is not None
    assert result.policy.act(0) == {"Alpha": "wait"}


@settings(max_examples=30)
@given(flat_problems(), st.sampled_from(["early", "late"]), st.booleans())
def test_the_certificate_is_about_the_plan_that_is_wanted(
    raw: dict[str, Any], prefer: str, exact: bool
) -> None:
    """The upper bound rests on the model that was solved, not on the one of the preferred plan."""
    problem = from_file(raw)
    result = solve(problem, prefer=prefer, exact=exact, tuning=PATIENT, certificate=True)
    assert result.certificate is not None
    assert result.certificate.policy is result.policy
    found = verify(problem, result.certificate)
    assert found.confirmed, str(found)
