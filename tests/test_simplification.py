"""Simplified problems: their loss is proven, their plans are judged by the original problem."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clocks import ticking
from coreplan import (
    TIMMDP,
    Agent,
    Condition,
    Contractor,
    Entry,
    Hindrance,
    MaintenanceProblem,
    ModelError,
    Result,
    RewardFunction,
    SolverError,
    Status,
    Task,
    read_problem,
    solve,
)
from coreplan.cli import example_path
from coreplan.model import PlanningProblem, TranslatedProblem
from coreplan.solving import build_crgs, simplify
from helpers import from_file, judged_policy_value, scale
from judge import optimal_value
from strategies import problem_dicts, timmdp_dicts
from test_core_2016 import exact_problems

TOLERANCES = st.sampled_from([0.5, 1.0, 2.0, 5.0, 20.0]) | st.floats(0, 50)


def check_bracket(raw: dict[str, Any], result: Result) -> None:
    """The bounds bracket the optimum, and the value is the plan's, by the judge."""
    optimum = optimal_value(raw)
    margin = 1e-9 * scale(raw)
    assert result.value <= optimum + margin
    assert result.upper_bound >= optimum - margin
    assert result.policy is not None
    assert abs(result.policy.evaluate() - result.value) <= margin
    assert abs(judged_policy_value(raw, result.policy) - result.value) <= margin
    closed = result.gap <= result.tolerance * max(1.0, abs(result.value))
    assert (result.status is Status.OPTIMAL) == closed


@given(raw=problem_dicts() | exact_problems(), tolerance=TOLERANCES)
def test_loss_is_proven(raw: dict[str, Any], tolerance: float) -> None:
    """The optima of both problems differ by no more than what the two bounds say."""
    problem = from_file(raw)
    simplified = simplify(problem, tolerance)
    difference = optimal_value(raw) - optimal_value(simplified.problem.to_dict())
    margin = 1e-9 * scale(raw)
    assert -simplified.overstated - margin <= difference <= simplified.understated + margin
    assert abs(difference) <= simplified.loss + margin
    assert simplified.overstated >= 0
    assert simplified.understated >= 0


@pytest.mark.parametrize("algorithm", ["core", "dp", "spudd", "core-2016"])
@given(raw=problem_dicts(), tolerance=TOLERANCES)
def test_every_algorithm_can_solve_a_simplified_problem(
    algorithm: str, raw: dict[str, Any], tolerance: float
) -> None:
    """Restored results have bounds for the original problem, at most the loss apart."""
    simplified = simplify(from_file(raw), tolerance)
    result = simplified.restore(solve(simplified.problem, algorithm=algorithm))
    check_bracket(raw, result)
    assert result.gap <= simplified.loss + 1e-6 * scale(raw)


@given(raw=timmdp_dicts(), tolerance=TOLERANCES)
def test_decentralised_plans_are_bracketed_too(raw: dict[str, Any], tolerance: float) -> None:
    """The loss holds for every policy, so also for the best decentralised one."""
    problem = from_file(raw)
    simplified = simplify(problem, tolerance)
    result = simplified.restore(solve(simplified.problem, algorithm="dec-mdp"))
    optimum = solve(problem, algorithm="dec-mdp").value
    margin = 1e-6 * scale(raw)
    assert result.value - margin <= optimum <= result.upper_bound + margin


@pytest.mark.parametrize("algorithm", ["crg-ps", "core-2016"])
@given(
    raw=problem_dicts() | exact_problems(),
    group=TOLERANCES,
    merge=st.booleans(),
    memo=st.booleans(),
    rewards=st.sampled_from(["graph", "checked"]),
)
def test_grouped_searches_bracket_the_optimum(
    algorithm: str, raw: dict[str, Any], group: float, merge: bool, memo: bool, rewards: str
) -> None:
    """With `group`, bounds bracket the judge's optimum, and the value is that of the plan."""
    problem = from_file(raw)
    result = solve(
        problem, algorithm=algorithm, group=group, merge=merge, memo=memo, rewards=rewards
    )
    check_bracket(raw, result)
    loss = simplify(problem, group).loss
    assert result.gap <= loss + 1e-6 * scale(raw)
    if group:
        assert result.statistics.others["grouping_loss"] == loss
    again = solve(
        problem, algorithm=algorithm, group=group, merge=merge, memo=memo, rewards=rewards
    )
    assert (again.value, again.upper_bound) == (result.value, result.upper_bound)


@given(raw=problem_dicts(), group=TOLERANCES, gap=st.floats(0, 20))
def test_a_gap_adds_to_the_loss(raw: dict[str, Any], group: float, gap: float) -> None:
    """An allowed gap and grouping together: the interval covers both."""
    problem = from_file(raw)
    result = solve(problem, algorithm="core-2016", group=group, absolute_gap=gap)
    check_bracket(raw, result)
    assert result.gap <= simplify(problem, group).loss + gap + 1e-6 * scale(raw)


@pytest.mark.parametrize("algorithm", ["crg-ps", "core-2016"])
@given(raw=problem_dicts(), merge=st.booleans())
def test_tolerance_zero_is_off(algorithm: str, raw: dict[str, Any], merge: bool) -> None:
    """With tolerance 0 the problem is the same object, and a search does the same work."""
    problem = from_file(raw)
    simplified = simplify(problem, 0)
    assert simplified.problem is problem
    assert simplified.loss == 0
    plain = solve(problem, algorithm=algorithm, merge=merge)
    off = solve(problem, algorithm=algorithm, merge=merge, group=0)
    assert off.value == plain.value
    assert off.upper_bound == plain.upper_bound
    memory = {"peak_memory_mb": 0}
    assert off.statistics.to_dict() | memory == plain.statistics.to_dict() | memory


@st.composite
def tables(draw: st.DrawFn) -> TIMMDP:
    """Three agents of one state; each pair has a table of rewards, each transition in one entry."""
    names = ["one", "two", "three"]
    actions = [f"a{k}" for k in range(draw(st.integers(2, 4)))]
    agents = tuple(Agent(name, "s", {"s": {a: {"s": 1.0} for a in actions}}) for name in names)
    functions = []
    for scope in draw(
        st.sampled_from([[(0, 1)], [(0, 1), (1, 2)], [(0, 1), (0, 2), (1, 2)], [(0, 1, 2)]])
    ):
        entries = []
        for _ in range(draw(st.integers(1, 8))):
            chosen = tuple(draw(st.sampled_from(actions)) for _ in scope)
            if chosen in {tuple(c.action[0] for c in e.when.values()) for e in entries}:
                continue
            when = {names[i]: Condition(action=a) for i, a in zip(scope, chosen, strict=True)}
            entries.append(Entry(when, draw(st.integers(-20, 20))))
        functions.append(RewardFunction(tuple(names[i] for i in scope), tuple(entries)))
    return TIMMDP(agents, tuple(functions), horizon=2)


@given(problem=tables(), tolerance=st.integers(1, 15), merge=st.booleans())
def test_graphs_are_never_larger(problem: TIMMDP, tolerance: int, merge: bool) -> None:
    """If a joint transition matches one entry per set of agents, grouping only shrinks graphs."""
    how: dict[str, Any] = {"influence": "features" if merge else "pairs", "merge": merge}
    assignment = {
        function: problem.rewards[function].scope[0] for function in range(len(problem.rewards))
    }
    before = build_crgs(problem, assignment=assignment, **how).size
    simplified = simplify(problem, tolerance).problem
    after = build_crgs(simplified, assignment=assignment, share=True, **how).size
    assert after.nodes <= before.nodes
    assert after.arcs <= before.arcs


def works(horizon: int, cost: float) -> MaintenanceProblem:
    """Two works of one step each that hinder each other."""
    return MaintenanceProblem(
        (
            Contractor("Alpha", (Task("a1", 1, cost=3, revenue=20),)),
            Contractor("Beta", (Task("b1", 1, cost=1, revenue=15),)),
        ),
        horizon=horizon,
        network=(Hindrance(("Alpha/a1", "Beta/b1"), cost=cost),),
    )


def test_dropping_an_interaction_decouples_agents() -> None:
    """An interaction of at most the tolerance is dropped: agents are apart from the beginning."""
    problem = works(1, 2)
    assert build_crgs(problem).groups(0) == [("Alpha", "Beta")]
    assert build_crgs(simplify(problem, 1.9).problem).groups(0) == [("Alpha", "Beta")]
    assert build_crgs(simplify(problem, 2).problem).groups(0) == [("Alpha",), ("Beta",)]
    together = solve(problem, algorithm="core-2016")
    assert (together.value, together.statistics.joint_states_expanded) == (29, 1)
    apart = solve(problem, algorithm="core-2016", group=2)
    assert apart.statistics.joint_states_expanded == 0
    assert apart.statistics.others["crg_arcs"] < together.statistics.others["crg_arcs"]
    # Nothing is earned at most, and 2 is paid at most: no plan is worth more than 31.
    assert (apart.value, apart.upper_bound) == (29, 31)
    assert apart.status is Status.GAP_LIMIT
    assert "can cost at most 2" in apart.message
    assert apart.statistics.others["grouping_loss"] == pytest.approx(2)


def test_loss_follows_the_agents_graphs() -> None:
    """The works are done once: the loss is that of one step, however long the horizon is."""
    for horizon in (1, 4, 12):
        simplified = simplify(works(horizon, 2), 3)
        assert simplified.overstated == pytest.approx(2)
        assert simplified.understated == 0
        result = simplified.restore(solve(simplified.problem, prefer="any"))
        assert result.value in (29, 31)
        assert result.upper_bound == pytest.approx(31)


def robots(*values: float) -> TIMMDP:
    """One robot helps or not, the other does one of several jobs, worth so much with help."""
    jobs = [f"job {k}" for k in range(len(values))]
    helper = Agent("helper", "s", {"s": {a: {"s": 1.0} for a in ("help", "rest")}})
    worker = Agent("worker", "s", {"s": {a: {"s": 1.0} for a in ("none", *jobs)}})
    entries = tuple(
        Entry({"helper": Condition(action="help"), "worker": Condition(action=job)}, value)
        for job, value in zip(jobs, values, strict=True)
    )
    tired = Entry({"helper": Condition(action="help")}, -1)
    return TIMMDP(
        (helper, worker),
        (RewardFunction(("helper",), (tired,)), RewardFunction(("helper", "worker"), entries)),
        horizon=3,
    )


def test_similar_rewards_share_an_arc() -> None:
    """Three jobs worth about 50 become one arc, at a loss of 1.5 per stage in each direction."""
    problem = robots(50, 51, 53, 80)
    how: dict[str, Any] = {"assignment": {1: "helper"}, "influence": "features"}
    before = build_crgs(problem, **how)["helper"].sizes[0]
    simplified = simplify(problem, 3)
    values = [entry.value for entry in simplified.problem.rewards[1].entries]
    assert values == [51.5, 51.5, 51.5, 80]
    after = build_crgs(simplified.problem, share=True, **how)["helper"].sizes[0]
    # Two own actions; with help, an arc for each of four jobs, or one for three and one for one.
    assert (before.action_arcs, before.wildcard_arcs, before.reward_arcs) == (6, 1, 6)
    assert (after.action_arcs, after.wildcard_arcs, after.reward_arcs) == (4, 1, 4)
    assert simplified.overstated == pytest.approx(4.5)
    assert simplified.understated == pytest.approx(4.5)
    result = solve(problem, algorithm="core-2016", group=3)
    assert result.value == solve(problem).value == 237
    assert result.upper_bound == pytest.approx(241.5)


def test_a_closed_gap_is_optimal() -> None:
    """Grouping that changes nothing, or that cannot matter, leaves a proven optimum."""
    problem = robots(50, 80)
    result = solve(problem, algorithm="core-2016", group=3)
    assert result.status is Status.OPTIMAL
    assert result.message == ""
    assert result.statistics.others["grouping_loss"] == 0
    # A cost that good plans never pay: dropping it can only overstate.
    paid = robots(-2, 80)
    result = solve(paid, algorithm="core-2016", group=3)
    assert result.status is Status.OPTIMAL
    assert result.value == result.upper_bound == 237
    assert result.statistics.others["grouping_loss"] == pytest.approx(6)


def test_later_beginnings() -> None:
    """From a later stage and state on, both numbers and restored plans are about what is left."""
    problem = works(4, 2)
    done = {"Alpha": {"done": ["a1"]}, "Beta": {}}
    assert simplify(problem, 2, stage=2).loss == pytest.approx(2)
    simplified = simplify(problem, 2, stage=2, state=done)
    assert simplified.loss == 0
    result = simplified.restore(solve(simplified.problem, stage=2, state=done))
    assert (result.value, result.status) == (14, Status.OPTIMAL)
    with pytest.raises(SolverError, match="another problem, stage or state"):
        simplified.restore(solve(simplified.problem, stage=2))
    with pytest.raises(SolverError, match="another problem, stage or state"):
        simplify(problem, 2).restore(solve(robots(3)))


def test_plans_that_cannot_be_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an exact value, the result has a value that the plan is proven to have at least."""
    problem = works(1, 2)
    simplified = simplify(problem, 2)
    found = solve(simplified.problem)

    def refuse(*_: object, **__: object) -> float:
        raise SolverError("out of reach")

    monkeypatch.setattr("coreplan.solving.simplification.evaluate_policy", refuse)
    result = simplified.restore(found)
    assert result.value == pytest.approx(29)
    assert result.upper_bound == 31
    assert "exact value is not known" in result.message


def test_stopped_searches_have_valid_bounds() -> None:
    """A grouped search that a limit stops keeps bounds for the original problem, and a plan."""
    problem = read_problem(example_path("ring_road.yaml"))
    optimum = solve(problem).value
    with ticking():
        result = solve(problem, algorithm="core-2016", group=10, time_limit=0.05)
    assert result.status is Status.TIME_LIMIT
    assert result.value <= optimum <= result.upper_bound
    assert result.policy is not None
    assert result.policy.problem is problem
    assert result.policy.evaluate() == pytest.approx(result.value)


class Opaque(PlanningProblem):
    """A problem of a domain that cannot change its values."""

    def __init__(self, inner: TIMMDP) -> None:
        self.inner, self.name, self.horizon = inner, inner.name, inner.horizon
        self.index = inner.index  # type: ignore[method-assign]

    def index(self, **_: Any) -> Any:
        """Replaced by that of the inner problem."""

    def to_dict(self) -> dict[str, Any]:
        """The file of the inner problem."""
        return self.inner.to_dict()

    @property
    def agent_names(self) -> tuple[str, ...]:
        """The agents of the inner problem."""
        return self.inner.agent_names


def test_wrong_use_is_refused() -> None:
    """Tolerances, problems and results that make no sense are errors that say why."""
    problem = works(2, 2)
    for wrong in (-1, float("nan"), "much", None, True):
        with pytest.raises(SolverError, match=r"tolerance is .*; expected a number"):
            simplify(problem, wrong)  # type: ignore[arg-type]
    with pytest.raises(SolverError, match="group is -1; expected a number of at least 0"):
        solve(problem, algorithm="core-2016", group=-1)
    with pytest.raises(ModelError, match="found a str; expected a problem"):
        simplify("works", 1)  # type: ignore[arg-type]
    with pytest.raises(SolverError, match="no policy"):
        simplify(problem, 2).restore(replace(solve(problem), policy=None))
    with pytest.raises(SolverError, match="Opaque has no method with_values"):
        simplify(Opaque(robots(2)), 3)
    assert simplify(Opaque(robots(20)), 3).loss == 0
    with pytest.raises(SolverError, match="needs definition='lossless'"):
        build_crgs(problem, definition="literal", share=True)


def test_translated_problems_can_be_simplified() -> None:
    """A domain that translates itself into a TI-MMDP needs nothing more."""

    class Robots(TranslatedProblem):
        name, horizon = "robots", 3

        def to_timmdp(self) -> TIMMDP:
            return robots(50, 51)

    problem = Robots()
    result = solve(problem, algorithm="core-2016", group=2)
    assert result.policy is not None
    assert result.policy.problem is problem
    assert (result.value, result.upper_bound) == (147, pytest.approx(150))
