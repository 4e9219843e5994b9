"""CRG-PS and CoRe as published, against the judge on random problems of both formats."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clocks import LOOK, ticking
from core_2016_reference import CoreReference
from coreplan import SolverError, Status, read_problem, solve
from coreplan.cli import example_path
from coreplan.solving.crg import ASSIGNMENTS
from helpers import agrees, from_file, scale
from judge import optimal_value
from strategies import problem_dicts

ALGORITHMS = ["crg-ps", "core-2016"]
CRG_PS_READINGS = {
    "decouple": st.sampled_from(["table", "search"]),
    "rewards": st.sampled_from(["graph", "entries", "checked"]),
}
READINGS = {
    **CRG_PS_READINGS,
    "bounds": st.sampled_from(["returns", "expected"]),
    "action_order": st.sampled_from(["promising", "listed"]),
    "update_bounds": st.booleans(),
    "independent_actions": st.booleans(),
}
CHANCES = [(1.0,), (0.5, 0.5), (0.25, 0.75), (0.5, 0.25, 0.25)]


@st.composite
def exact_problems(draw: st.DrawFn, most_stages: int = 3) -> dict[str, Any]:
    """TI-MMDPs whose numbers add up without rounding, so that ties are ties everywhere."""
    names = ["one", "two", "three"][: draw(st.integers(2, 3))]
    agents = []
    for name in names:
        states = [f"s{k}" for k in range(draw(st.integers(2, 3)))]
        actions = [f"a{k}" for k in range(draw(st.integers(2, 3)))]
        transitions: dict[str, Any] = {}
        for state in states:
            transitions[state] = {}
            for action in actions[: draw(st.integers(1, len(actions)))]:
                chances = draw(st.sampled_from([p for p in CHANCES if len(p) <= len(states)]))
                following = draw(st.permutations(states))
                transitions[state][action] = dict(zip(following, chances, strict=False))
        agents.append({"name": name, "initial": "s0", "transitions": transitions})
    # Without memory the search grows with all that can happen.
    horizon = draw(st.integers(1, most_stages - (len(names) > 2)))

    def condition(agent: dict[str, Any]) -> dict[str, Any]:
        states = list(agent["transitions"])
        actions = sorted({a for each in agent["transitions"].values() for a in each})
        made: dict[str, Any] = {"action": draw(st.sampled_from(actions))}
        if draw(st.booleans()):
            made["state"] = draw(st.sampled_from(states))
        if draw(st.integers(0, 3)) == 0:
            made["next"] = draw(st.sampled_from(states))
        return made

    rewards = []
    values = st.integers(-8, 8).filter(bool)
    for _ in range(draw(st.integers(2, 5))):
        scope = sorted(draw(st.sets(st.sampled_from(range(len(names))), min_size=1)))
        entries = []
        for _ in range(draw(st.integers(1, 3))):
            entry = {
                "when": {names[i]: condition(agents[i]) for i in scope},
                "value": draw(values),
            }
            if draw(st.integers(0, 3)) == 0:
                entry["stages"] = [draw(st.integers(0, horizon - 1))]
            entries.append(entry)
        rewards.append({"scope": [names[i] for i in scope], "entries": entries})
    return {
        "format": "ti-mmdp/1",
        "name": "exact",
        "horizon": horizon,
        "agents": agents,
        "rewards": rewards,
    }


@given(raw=exact_problems(), reading=st.fixed_dictionaries(READINGS))
def test_counts_are_the_references(raw: dict[str, Any], reading: dict[str, Any]) -> None:
    """Value, joint states expanded and joint actions evaluated are those of plain Python code."""
    reference = CoreReference(
        raw,
        bounds=reading["bounds"],
        decouple=reading["decouple"],
        action_order=reading["action_order"],
        update_bounds=reading["update_bounds"],
    )
    value = reference.solve()
    result = solve(from_file(raw), algorithm="core-2016", merge=False, **reading)
    assert result.value == value
    assert result.statistics.joint_states_expanded == reference.counts.expanded
    assert result.statistics.joint_actions_evaluated == reference.counts.evaluated
    assert result.statistics.others["joint_actions_pruned"] == reference.counts.pruned


@given(raw=exact_problems(most_stages=2), decouple=st.sampled_from(["table", "search"]))
def test_counts_without_bounds_are_the_references(raw: dict[str, Any], decouple: str) -> None:
    """The same for CRG-PS."""
    reference = CoreReference(raw, prune=False, decouple=decouple)
    value = reference.solve()
    result = solve(from_file(raw), algorithm="crg-ps", merge=False, decouple=decouple)
    assert result.value == value
    assert result.statistics.joint_states_expanded == reference.counts.expanded
    assert result.statistics.joint_actions_evaluated == reference.counts.evaluated


@given(raw=problem_dicts(), reading=st.fixed_dictionaries(READINGS), memo=st.booleans())
def test_readings_find_the_optimum(
    raw: dict[str, Any], reading: dict[str, Any], memo: bool
) -> None:
    """Whatever the reading of the algorithm, its value and its policy's are the judge's."""
    result = solve(from_file(raw), algorithm="core-2016", memo=memo, **reading)
    assert result.status is Status.OPTIMAL
    assert agrees(result.value, optimal_value(raw))
    assert result.policy is not None
    assert agrees(result.policy.evaluate(), result.value, 1e-9 * scale(raw))


@given(raw=problem_dicts(), reading=st.fixed_dictionaries(CRG_PS_READINGS), memo=st.booleans())
def test_readings_without_bounds_find_the_optimum(
    raw: dict[str, Any], reading: dict[str, Any], memo: bool
) -> None:
    """The same for CRG-PS."""
    result = solve(from_file(raw), algorithm="crg-ps", memo=memo, **reading)
    assert agrees(result.value, optimal_value(raw))


@given(raw=problem_dicts(), merge=st.booleans())
def test_every_transition_earns_what_its_path_says(raw: dict[str, Any], merge: bool) -> None:
    """Without pruning, every joint transition's reward by the graph is the sum of the entries."""
    # A path that says something else ends the search with an error.
    solve(from_file(raw), algorithm="crg-ps", merge=merge, rewards="checked", decouple="search")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@given(
    raw=problem_dicts(),
    merge=st.booleans(),
    memo=st.booleans(),
    assignment=st.sampled_from(ASSIGNMENTS),
)
def test_value_is_the_judges(
    algorithm: str, raw: dict[str, Any], merge: bool, memo: bool, assignment: str
) -> None:
    """The value is that of the plain Bellman recursion, with any options."""
    result = solve(
        from_file(raw), algorithm=algorithm, merge=merge, memo=memo, assignment=assignment
    )
    assert result.status is Status.OPTIMAL
    assert agrees(result.value, optimal_value(raw))


@given(raw=problem_dicts(), gap=st.floats(0, 50), relative=st.booleans())
def test_gap_is_respected(raw: dict[str, Any], gap: float, relative: bool) -> None:
    """With a gap allowed, the value is at most that much worse, and the bounds bracket."""
    if relative:
        result = solve(from_file(raw), algorithm="core-2016", relative_gap=gap / 100)
    else:
        result = solve(from_file(raw), algorithm="core-2016", absolute_gap=gap)
    optimum = optimal_value(raw)
    tolerance = 1e-9 * scale(raw)
    assert result.value <= optimum + tolerance
    assert result.upper_bound >= optimum - tolerance
    allowed = gap / 100 * abs(optimum) if relative else gap
    assert optimum - result.value <= allowed + tolerance
    assert result.status in (Status.OPTIMAL, Status.GAP_LIMIT)
    assert result.policy is not None
    assert result.policy.evaluate() >= result.value - tolerance


@given(raw=problem_dicts())
def test_bounds_only_save_work(raw: dict[str, Any]) -> None:
    """CoRe evaluates no more joint actions than CRG-PS, and remembering saves more."""
    problem = from_file(raw)
    plain = solve(problem, algorithm="crg-ps").statistics
    pruned = solve(problem, algorithm="core-2016").statistics
    remembered = solve(problem, algorithm="crg-ps", memo=True).statistics
    assert pruned.joint_actions_evaluated <= plain.joint_actions_evaluated
    assert remembered.joint_actions_evaluated <= plain.joint_actions_evaluated


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_stopped_search_has_valid_bounds_and_a_policy(algorithm: str) -> None:
    """A search that is stopped leaves bounds that bracket the optimum and a real policy."""
    problem = read_problem(example_path("ring_road.yaml"))
    optimum = solve(problem).value
    with ticking():
        result = solve(problem, algorithm=algorithm, time_limit=0.02)
    assert result.status is Status.TIME_LIMIT
    assert 0.02 <= result.seconds < 0.02 + 100 * LOOK  # it looks few more times
    assert result.value <= optimum <= result.upper_bound
    assert result.policy is not None
    assert result.policy.evaluate() == pytest.approx(result.value)


def test_unknown_options_are_refused() -> None:
    """An option that cannot be honoured is an error, not ignored."""
    problem = read_problem(example_path("two_works.yaml"))
    with pytest.raises(SolverError, match=r"no assignment 'balanecd'.*did you mean"):
        solve(problem, algorithm="core-2016", assignment="balanecd")
    with pytest.raises(SolverError, match="relative_gap"):
        solve(problem, algorithm="crg-ps", relative_gap=0.1)
    with pytest.raises(SolverError, match="says nothing of"):
        solve(problem, algorithm="core-2016", assignment={})
    for option in ("bounds", "decouple", "action_order", "rewards"):
        with pytest.raises(SolverError, match=f"{option} is 'both'; expected one of"):
            solve(problem, algorithm="core-2016", **{option: "both"})
    with pytest.raises(SolverError, match="independent_actions"):
        solve(problem, algorithm="core-2016", independent_actions="yes")
    with pytest.raises(SolverError, match="bounds"):
        solve(problem, algorithm="crg-ps", bounds="expected")
