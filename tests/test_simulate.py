"""Simulation: against exact values, exact distributions, and itself on other threads."""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
import re
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coreplan.analysis.reward_tables
from clocks import ticking
from coreplan import (
    TIMMDP,
    Agent,
    Condition,
    Contractor,
    ContractorState,
    Delay,
    Entry,
    Hindrance,
    LimitError,
    MaintenanceProblem,
    ModelError,
    Policy,
    RewardFunction,
    SolverError,
    Task,
    simulate,
)
from coreplan.analysis import SimulationProgress, execution_sequences
from coreplan.analysis.sequences import returns
from coreplan.domains.maintenance.money import split_value
from coreplan.policies import plan_graph
from coreplan.policies.evaluation import evaluate_entries
from coreplan.policies.rules import TeamRule
from helpers import coupled_team, from_file, interrupt, judged_policy_value, random_mpp, scale
from strategies import problem_dicts
from team_rules import random_teams, with_teams
from test_policy import crowd, policy_of, robots, with_local_rule


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("algorithm", ["dp", "core-2016", "teams"])
def test_the_exact_value_is_in_the_interval(algorithm: str, seed: int) -> None:
    """On random problems, of optimal and of random plans, the 99.99 % interval holds the value."""
    raw = random_mpp(3, 2, 6, seed)
    solver = "dp" if algorithm == "teams" else algorithm
    policy = policy_of(from_file(raw), algorithm=solver)
    if algorithm == "teams":
        policy = random_teams(policy, Random(seed))
    estimate = policy.estimate(2000, seed, confidence=0.9999)
    tolerance = 1e-9 * abs(estimate.mean)  # where nothing is left to chance
    expected = judged_policy_value(raw, policy)
    assert estimate.low - tolerance <= expected <= estimate.high + tolerance
    assert estimate.low <= estimate.mean <= estimate.high
    assert (estimate.runs, estimate.confidence) == (2000, 0.9999)


def test_intervals_hold_the_value_as_often_as_they_say() -> None:
    """Of 300 intervals of 80 %, about 80 % hold the exact value, and means scatter around it."""
    policy = policy_of(crowd(5))
    value = policy.evaluate()
    estimates = [policy.estimate(100, seed, 0.8) for seed in range(300)]
    holding = sum(each.low <= value <= each.high for each in estimates)
    assert 0.73 < holding / 300 < 0.87
    means = [each.mean for each in estimates]
    assert abs(np.mean(means) - value) < 4 * np.std(means) / math.sqrt(300)


def test_the_seed_decides() -> None:
    """The same seed gives the same estimate, another one another; more runs a narrower one."""
    policy = policy_of(crowd(5))
    one = policy.estimate(500, 7)
    assert one == policy.estimate(500, seed=7, confidence=0.95) == policy.estimate(500, 7)
    assert one.confidence == 0.95
    assert one != policy.estimate(500, 8)
    many = policy.estimate(50_000, 7)
    assert many.high - many.low < (one.high - one.low) / 5
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.mean = 0.0  # type: ignore[misc]


@pytest.mark.parametrize("runs", [2, 71, 1024, 1025, 5000])
def test_runs_do_not_depend_on_what_is_simulated_beside_them(
    runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any number of threads, and of runs begun together, gives the same numbers to the last bit."""
    policy = policy_of(crowd(5))
    one = simulate(policy, runs, 3, threads=1)
    module = importlib.import_module("coreplan.analysis.simulator")
    monkeypatch.setattr(module, "MOST_AT_ONCE", 1024)
    monkeypatch.setattr(module, "MOST_DECISION_BYTES", 0)
    for threads in (1, 2, 5):
        other = simulate(policy, runs, 3, threads=threads)
        assert one.value == other.value
        assert one.own == other.own
        assert one.shared == other.shared
        assert one.functions == other.functions
        assert np.array_equal(one.returns, other.returns)
    assert len(one.returns) == one.runs == one.asked == runs
    assert not one.stopped


def test_a_longer_simulation_continues_a_shorter_one() -> None:
    """The first runs of a seed are the same, however many follow."""
    policy = policy_of(crowd(5))
    short, long = (np.sort(simulate(policy, runs, 3).returns) for runs in (1024, 4096))
    left = list(long)
    for each in short:
        left.remove(each)
    assert len(left) == 3072


def test_where_nothing_is_left_to_chance_the_mean_is_the_value() -> None:
    """The runs of a deterministic plan are all the same; probabilities count as they are."""
    estimate = policy_of(robots()).estimate(2, 0)
    assert (estimate.mean, estimate.low, estimate.high) == (5.0, 5.0, 5.0)
    mass = 1 - 5e-10
    lossy = Agent("lossy", "s", {"s": {"go": {"s": mass}}})
    earn = RewardFunction(("lossy",), (Entry({"lossy": Condition(action="go")}, 1e6),))
    policy = policy_of(TIMMDP((lossy,), (earn,), 2))
    assert policy.estimate(5, 0).mean == pytest.approx(1e6 * (mass + mass**2), rel=1e-15)


def test_a_team_of_thirty_is_estimated() -> None:
    """Where the exact value is out of reach, it is said so, and an estimate is not."""
    alone = policy_of(crowd(30), memory_limit=50)
    unknowing = TeamRule(tuple(range(30)), np.zeros(0, np.uint32), numbers=np.zeros(0, np.uint64))
    team = with_teams(alone, [unknowing])
    with pytest.raises(SolverError, match=r"out of reach: .*Policy\.estimate"):
        team.evaluate()
    estimate = team.estimate(1000, 3, 0.9999)
    # Nobody but us knows that this team does what everybody does alone.
    assert estimate == alone.estimate(1000, 3, 0.9999)
    assert estimate.low < alone.evaluate() < estimate.high


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"runs": 1}, "runs is 1; expected a whole number of at least 2"),
        ({"runs": -5}, "runs is -5"),
        ({"runs": True}, "runs is true"),
        ({"runs": 100.0}, "runs is 100; expected a whole number"),
        ({"runs": "100"}, "runs is '100'"),
        ({"seed": -1}, "seed is -1; expected a whole number of at least 0"),
        ({"seed": None}, "seed is null"),
        ({"seed": 0.5}, "seed is 0.5"),
        ({"confidence": 0}, "confidence is 0; expected a number between 0 and 1"),
        ({"confidence": 1}, "confidence is 1; expected a number between 0 and 1"),
        ({"confidence": 95}, "confidence is 95"),
        ({"confidence": math.nan}, "confidence is nan"),
        ({"confidence": "0.9"}, "confidence is '0.9'"),
    ],
)
def test_what_makes_no_sense_is_refused(change: dict[str, Any], words: str) -> None:
    """There are at least two runs, a seed that is a whole number, and a chance below certainty."""
    policy: Policy = policy_of(robots())
    with pytest.raises(ModelError, match=words):
        policy.estimate(**{"runs": 10, "seed": 1, **change})


def test_any_confidence_below_certainty_will_do() -> None:
    """The interval grows with the confidence, and is finite even next to certainty."""
    policy = policy_of(crowd(5))
    widths = []
    for confidence in (1e-9, 0.5, 0.99, 1 - 1e-16):
        estimate = policy.estimate(50, 1, confidence)
        widths.append(estimate.high - estimate.low)
    assert widths == sorted(widths)
    assert 0 < widths[0] < widths[-1] < math.inf


# -- the parts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", ["dp", "teams", "local"])
def test_every_part_agrees_with_exact_evaluation(kind: str, seed: int) -> None:
    """Means per entry, agent and set of agents are those of exact evaluation, within chance."""
    policy = policy_of(from_file(coupled_team(seed)))
    if kind == "teams":
        policy = random_teams(policy, Random(seed))
    elif kind == "local":
        policy = with_local_rule(policy)
    runs = 20_000
    shown = simulate(policy, runs, seed, confidence=1 - 1e-6)
    value, amounts = evaluate_entries(policy)
    assert shown.value.low - 1e-9 <= value <= shown.value.high + 1e-9
    entries = policy.indexed.entries
    expected: dict[tuple[str, ...], float] = {}
    functions = [0.0] * len(policy.indexed.functions)
    most = [0.0] * len(functions)
    for entry, amount in zip(entries, amounts, strict=True):
        names = tuple(policy.indexed.agent_names[i] for i, _ in entry.members)
        expected[names] = expected.get(names, 0.0) + amount
        functions[entry.function] += amount
        most[entry.function] += abs(entry.value) * policy.horizon
    own = {(name,): each for name, each in shown.own.items()}
    assert set(expected) <= {**own, **shown.shared}.keys()
    for names, estimate in {**own, **shown.shared}.items():
        assert estimate.low - 1e-9 <= expected.get(names, 0.0) <= estimate.high + 1e-9
    # The interval of Hoeffding, which holds whatever the law is.
    for mean, exact, size in zip(shown.functions, functions, most, strict=True):
        assert abs(mean - exact) <= 2 * size * math.sqrt(math.log(2 / 1e-6) / (2 * runs)) + 1e-9
    parts = sum(each.mean for each in {**own, **shown.shared}.values())
    assert parts == pytest.approx(shown.mean, rel=1e-9, abs=1e-9)
    assert sum(shown.functions) == pytest.approx(shown.mean, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_money_and_completions_of_road_works(seed: int) -> None:
    """Revenue, works, hindrance and steps of completion are those of exact evaluation."""
    raw = random_mpp(3, 2, 7, seed)
    policy = policy_of(from_file(raw), algorithm="core")
    problem = policy.problem
    assert isinstance(problem, MaintenanceProblem)
    runs = 40_000
    shown = simulate(policy, runs, seed)
    exact = split_value(policy)
    assert shown.money is not None
    assert shown.money.value == shown.mean
    for mean, value in (
        (shown.money.revenue, exact.revenue),
        (shown.money.works, exact.works),
        (shown.money.hindrance, exact.hindrance),
        *zip(shown.money.hindrances, exact.hindrances, strict=True),
    ):
        assert mean == pytest.approx(value, rel=0.02, abs=1.5)
    total = shown.money.revenue - shown.money.works - shown.money.hindrance
    assert total == pytest.approx(shown.mean, rel=1e-9)
    # Completions, from the graph of all that can happen.
    graph = plan_graph(policy)
    for each in shown.completions:
        expected = [0.0] * policy.horizon
        for situation in graph.situations:
            for outcome in situation.outcomes:
                before = situation.state[each.contractor].done
                after = graph.situations[outcome.next].state[each.contractor].done
                if each.task in set(after) - set(before):
                    expected[situation.stage] += situation.probability * outcome.probability
        margin = 5 * 0.5 / math.sqrt(runs)
        assert np.allclose(each.shares, expected, rtol=0, atol=margin)
        assert each.undone == pytest.approx(1 - sum(expected), abs=margin)
        assert each.undone == pytest.approx(1 - sum(each.shares), abs=1e-12)
        if sum(expected) > 0.1:
            mean = sum(k * share for k, share in enumerate(each.shares)) / sum(each.shares)
            assert each.mean == pytest.approx(mean)
    names = [(each.contractor, each.task) for each in shown.completions]
    assert names == [(c.name, t.name) for c in problem.contractors for t in c.tasks]


@given(problem_dicts(max_work=300), st.integers(0, 2**70))
def test_the_distribution_is_that_of_execution_sequences(raw: dict[str, Any], seed: int) -> None:
    """Every simulated return is one that can come about, and about as often as it should."""
    policy = policy_of(from_file(raw))
    exact: dict[float, float] = {}
    for sequence, probability in execution_sequences(policy):
        earned = returns(policy.problem, sequence).total
        exact[earned] = exact.get(earned, 0.0) + probability
    shown = simulate(policy, 2000, seed, threads=1)
    possible = np.array(sorted(exact))
    tolerance = 1e-9 * scale(raw)
    at = np.abs(possible[:, None] - np.unique(shown.returns)[None, :]).min(axis=0)
    assert at.max() <= tolerance
    # Kolmogorov and Smirnov, with a level that no honest run will ever reach; also for laws with
    # jumps. Returns are taken together where rounding tells them apart.
    steps = np.cumsum([exact[each] for each in possible.tolist()])
    apart = np.append(np.diff(possible) > 2 * tolerance, True)
    below = np.searchsorted(shown.returns, possible[apart] + tolerance, side="right") / 2000
    assert np.abs(below - steps[apart]).max() < math.sqrt(math.log(2 / 1e-9) / (2 * 2000)) + 1e-8


def test_what_is_too_large_for_a_table_is_looked_up_entry_by_entry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Entries that have no common table give the same numbers."""
    policy = policy_of(from_file(coupled_team(5)))
    together = simulate(policy, 3000, 1)
    monkeypatch.setattr(coreplan.analysis.reward_tables, "MOST_CELLS", 1)
    alone = simulate(policy, 3000, 1)
    assert np.allclose(alone.returns, together.returns, rtol=1e-12, atol=1e-12)
    assert alone.functions == pytest.approx(together.functions)
    assert alone.shared.keys() == together.shared.keys()
    for names, each in alone.shared.items():
        assert each.mean == pytest.approx(together.shared[names].mean)
        assert each.low == pytest.approx(together.shared[names].low)


def test_a_policy_from_the_middle_on() -> None:
    """Simulation starts where the policy does; works that are done are not completed again."""
    problem = from_file(random_mpp(2, 2, 8))
    state = {"C0": ContractorState(done=("w0",), doing="w1", remaining=1), "C1": ContractorState()}
    policy = policy_of(problem, stage=3, state=state)
    shown = simulate(policy, 20_000, 1, confidence=0.9999)
    assert shown.value.low <= policy.evaluate() <= shown.value.high
    assert [each.task for each in shown.completions] == ["w1", "w0", "w1"]
    first = shown.completions[0]
    assert (first.stage, first.mean, first.undone) == (3, 3.0, 0.0)
    assert first.shares == (1.0, 0.0, 0.0, 0.0, 0.0)


# -- reading, stopping -----------------------------------------------------------------------------


def test_quantiles_and_histograms() -> None:
    """Quantiles are returns that came about; histograms count every run once."""
    shown = simulate(policy_of(crowd(5)), 5000, 1)
    assert list(shown.returns) == sorted(shown.returns)
    assert shown.quantile(0) == shown.returns[0]
    assert shown.quantile(1) == shown.returns[-1]
    assert shown.quantile(0.5) in shown.returns
    assert np.mean(shown.returns <= shown.quantile(0.3)) >= 0.3
    counts, ends = shown.histogram(7)
    assert (sum(counts), len(counts), len(ends)) == (5000, 7, 8)
    assert shown.deviation == pytest.approx(np.std(shown.returns, ddof=1))
    with pytest.raises(ModelError, match=r"share is 1\.5"):
        shown.quantile(1.5)


def test_it_can_be_read() -> None:
    """The summary has the mean and the tables, and the dictionary is plain JSON."""
    policy = policy_of(from_file(random_mpp(2, 2, 6)))
    shown = simulate(policy, 1000, 1)
    lines = str(shown).splitlines()
    assert lines[0].startswith("1,000 runs from seed 1 in ")
    what = "cost" if shown.mean < 0 else "earnings"
    assert lines[1].startswith(f"mean {what} {abs(shown.mean):,.2f}, between ")
    assert any(line.startswith("C0/w0") for line in lines)
    plain = json.loads(json.dumps(shown.to_dict(), allow_nan=False))
    assert plain["value"]["mean"] == shown.mean
    assert sum(plain["histogram"]["counts"]) == 1000
    assert plain["money"]["revenue"] == shown.money.revenue if shown.money else False


def test_costs_are_positive_numbers() -> None:
    """A plan that costs money is told by its costs: none of its numbers has a minus sign."""
    problem = MaintenanceProblem(
        (
            Contractor("Alpha", (Task("a1", 2, cost=3, delay=Delay(0.3, 2)),)),
            Contractor("Beta", (Task("b1", 2, cost=1),)),
        ),
        horizon=4,
        network=(Hindrance(("Alpha/a1", "Beta/b1"), cost=7.5),),
        must_complete=True,
    )
    shown = simulate(policy_of(problem), 1000, 1)
    lines = str(shown).splitlines()
    assert shown.money is not None
    assert lines[1].startswith(f"mean cost {-shown.mean:,.2f}, between {-shown.value.high:,.2f} ")
    cents = shown.money.in_cents()
    assert lines[2] == (f"works {cents.works:,.2f}, hindrance {cents.hindrance:,.2f}, revenue 0.00")
    dearest, cheapest = -shown.returns[0], -shown.returns[-1]
    assert lines[3].startswith(f"single runs: cost from {cheapest:,.2f} to {dearest:,.2f}, ")
    shares = re.findall(r"in (\d+) % (?:of cases it costs at most )?([\d.]+)", lines[4])
    assert [float(share) for share, _ in shares] == [5, 25, 50, 75, 95]
    for share, amount in shares:
        assert np.mean(-shown.returns <= float(amount) + 0.005) >= float(share) / 100
        assert np.mean(-shown.returns < float(amount) - 0.005) <= float(share) / 100
    for name, each in shown.own.items():
        row = next(line for line in lines if line.startswith(f"{name} "))
        assert row.split()[1:] == [
            f"{-each.mean:,.2f}",
            f"{-each.high:,.2f}",
            "to",
            f"{-each.low:,.2f}",
        ]
    assert any(line.startswith("own costs, less revenue") for line in lines)
    assert any(line.startswith("cost of hindrance") for line in lines)
    assert not re.search(r"-\d", "\n".join(lines))


def test_a_callback_sees_progress_and_can_stop() -> None:
    """It is told of more and more runs; when it says stop, those so far are the result."""
    policy = policy_of(crowd(5))
    seen: list[SimulationProgress] = []
    whole = simulate(policy, 50_000, 1, callback=seen.append)
    done = [each.runs for each in seen]
    assert done == sorted(set(done))
    assert done[-1] == 50_000
    assert seen[-1].mean == pytest.approx(whole.mean)
    part = simulate(policy, 50_000, 1, callback=lambda _: True)
    assert part.runs == done[0] < 50_000
    assert part.stopped
    assert part.mean == pytest.approx(seen[0].mean)
    assert part.summary().startswith(f"stopped after {part.runs:,} of 50,000 runs from seed 1 in ")


def test_a_time_limit_keeps_the_runs_so_far() -> None:
    """A simulation that would take for ever ends, with all the runs that are through."""
    policy = policy_of(crowd(5))
    with ticking():
        shown = simulate(policy, 10**12, 1, time_limit=0.3)
    assert 2 <= shown.runs < 10**12
    assert len(shown.returns) == shown.runs
    with pytest.raises(LimitError, match="stopped before two runs were complete"), ticking():
        simulate(policy, 10**6, 1, time_limit=1e-9)


def test_ctrl_c_keeps_the_runs_so_far() -> None:
    """Ctrl-C ends a simulation at once, with all the runs that are through."""
    script = """
import json
from coreplan import simulate
from test_policy import crowd, policy_of
policy = policy_of(crowd(5))
told = []
def tell(progress):
    if not told:
        print("searching", flush=True)
    told.append(progress)
shown = simulate(policy, 10**12, 1, callback=tell)
print(json.dumps({"runs": shown.runs, "stopped": shown.stopped, "told": told[-1].runs}))
"""
    report = interrupt(script)
    assert report["stopped"]
    assert report["runs"] == report["told"] >= 2


@pytest.mark.parametrize("threads", [0, -1, True, 1.5, "2"])
def test_threads_are_a_whole_number(threads: Any) -> None:
    """Anything else is refused."""
    with pytest.raises(ModelError, match=r"threads is .*; expected a whole number of at least 1"):
        simulate(policy_of(robots()), 10, 1, threads=threads)
