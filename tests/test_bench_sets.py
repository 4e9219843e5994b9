"""Test sets: what problems look like, that they are the same everywhere, what is refused."""

from __future__ import annotations

import hashlib
import itertools
import math
import pickle
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coreplan import (
    TIMMDP,
    ContractorState,
    MaintenanceProblem,
    ModelError,
    Status,
    read_problem,
    solve,
)
from coreplan.bench.sets import TEST_SETS, Instance, count_instances, generate
from coreplan.bench.sets.draw import Draw, cosine, season
from coreplan.bench.sets.works import _split
from coreplan.solving import compile_problem

PAPER = ("rand3", "rand4", "rand5", "coordint", "mpp", "pyra")
SMALL: dict[str, dict[str, Any]] = {
    "pyra": {"agents": [2, 5, 7], "horizon": [4, 6]},
    "large": {"agents": [10], "contention": ["low", "high"]},
}
"""Parameters with which each set has few and small groups."""
DIGESTS = {
    "rand3": {
        "rand3-0000": "29b2ad17a556e27a53283ca48e866a95b1e15e05f582b8017c63470d1cae12e5",
        "rand3-0001": "9969cdd7c2d59e875437aaa530b70871a756a1a73e3844a5959b3e0a25890403",
    },
    "rand4": {
        "rand4-0000": "2b4efe92157e6de8e0b2baeb8a3bff8b247225483cf00e740b29508a553c2357",
        "rand4-0001": "aac212355a34a9ece390053a7babace215627721e8e21f86f8f16d307296272b",
    },
    "rand5": {
        "rand5-0000": "819cd56ba74dc5be574c3f336293b78593ddb4fbfbc48f1775c7a5db4aa46787",
        "rand5-0001": "289318a753579f3731c90d02108fc3c34bded0db68fa69cd498c5b77de33e812",
    },
    "coordint": {
        "coordint-0000": "9a5ee0bd01b06d65368aee3d52d8bb0f94da9c34af01ca6e830eb498ef5715fe",
        "coordint-0001": "5fad527b788de6f9a6a2d462aa3f46f0cfee665db19649a2000039027e0b8f60",
    },
    "mpp": {
        "mpp-2-0000": "f3393fb06bbbeea674d44d04cb29078daacc225851c650926dad67f555dde6f8",
        "mpp-4-0001": "d39e0e3d951fa58bf37992ac289ff1af8e0c8ef45cf601b5f2f1d2c9504f89dc",
    },
    "pyra": {
        "pyra-2-4-0000": "a0829db27a339cc4731210058014745b5fee6870e9c0576401782030183f6f90",
        "pyra-7-6-0001": "832980a649f128a6f8cce6eb116d15b9e857ffafc66e3ba3bf97b77af77700ad",
    },
    "large": {
        "large-10-low-0000": "a50cc1366a68921c03fa9ca8c4bdb12b377ea47412ebe036b61248ab55dfca77",
        "large-10-high-0001": "76c889a9384aaf6c74f1031d2c1c75532cb37f0949de6f49461811fa2c217c00",
    },
    "mixed": {
        "mixed-0000": "e8fab34602438084cb1bebbdf4962ff6cb999343f0f5bacd182d3406c6e85a22",
        "mixed-0001": "89fa83ea89cb384c1172d7c135f14b6057e8b8f807afb09d083d6533880a5492",
    },
}
"""Of the first two instances of some groups, seed 0: what was published once stays so."""


def instances(name: str, count: int, seed: int = 0) -> list[Instance]:
    """Some instances of each group of a set, of a size that can be solved in no time."""
    return list(generate(name, count, seed, **SMALL.get(name, {})))


def works(instance: Instance) -> MaintenanceProblem:
    """The problem of an instance, which has to be a maintenance problem."""
    assert isinstance(instance.problem, MaintenanceProblem)
    return instance.problem


def longest(problem: MaintenanceProblem) -> list[int]:
    """Per contractor, how long all its works take if all are delayed."""
    return [
        sum(task.duration + (task.delay.duration if task.delay else 0) for task in each.tasks)
        for each in problem.contractors
    ]


@pytest.mark.parametrize("name", TEST_SETS)
def test_files_are_the_same_on_every_machine(name: str) -> None:
    """The text of instances is what it was when the set was published."""
    made = {each.name: each.digest() for each in instances(name, 2)}
    assert {key: made[key] for key in DIGESTS[name]} == DIGESTS[name]


def test_other_processes_make_the_same() -> None:
    """Neither the hash seed nor what was made before has any influence."""
    script = (
        "from coreplan.bench.sets import generate\n"
        "print(*(i.digest() for n in ('mixed', 'rand5') for i in generate(n, 3, 5)))"
    )
    expected = [each.digest() for name in ("mixed", "rand5") for each in generate(name, 3, 5)]
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split() == expected


@pytest.mark.parametrize("name", TEST_SETS)
def test_instances_do_not_depend_on_the_count(name: str) -> None:
    """Instance k of a group is the same whatever else is made."""
    few = {each.name: each for each in instances(name, 1)}
    many = {each.name: each for each in instances(name, 3)}
    assert len(many) == 3 * len(few)
    assert all(many[key] == few[key] for key in few)


def test_groups_do_not_depend_on_other_groups() -> None:
    """A group of mpp is the same when it is asked for alone."""
    alone = list(generate("mpp", 2, agents=3))
    assert alone == [each for each in generate("mpp", 2) if each.parameters["agents"] == 3]


@pytest.mark.parametrize("name", TEST_SETS)
def test_seeds_differ(name: str) -> None:
    """Another seed gives other problems, all of them, and no two of a seed are the same."""
    digests = [each.digest() for seed in (0, 1) for each in instances(name, 3, seed)]
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize("name", TEST_SETS)
def test_instances_are_what_they_say(name: str, tmp_path: Path) -> None:
    """Names, parameters, texts and digests belong to the problem; the text can be read back."""
    for each in instances(name, 2):
        assert each.set == name
        assert each.name == each.problem.name
        assert re.fullmatch(rf"{name}(-[a-z0-9]+)*-\d{{4}}", each.name)
        assert each.parameters["horizon"] == each.problem.horizon
        problem = each.problem
        team = problem.agents if isinstance(problem, TIMMDP) else problem.contractors
        assert each.parameters["agents"] == len(team)
        assert each.parameters.keys() == TEST_SETS[name].parameters.keys()
        assert each.digest() == hashlib.sha256(each.text().encode("utf-8")).hexdigest()
        path = tmp_path / f"{each.name}.json"
        path.write_text(each.text(), encoding="utf-8")
        assert read_problem(path) == problem
        assert pickle.loads(pickle.dumps(each)) == each


@pytest.mark.parametrize("name", [name for name in TEST_SETS if name != "large"])
def test_small_instances_are_solved(name: str) -> None:
    """Small problems can be compiled, and are solved to the optimum."""
    for each in instances(name, 4, seed=3):
        result = solve(each.problem, threads=1, work_limit=20)
        assert result.status is Status.OPTIMAL, each.name


def test_large_instances_can_be_compiled() -> None:
    """Large problems are feasible, and small enough to start with."""
    for each in generate("large", 2, agents=[10, 60]):
        compiled = compile_problem(each.problem)
        assert len(compiled.sizes) == each.parameters["agents"]


def test_default_sizes() -> None:
    """The sets are as large as the paper's, where it says so."""
    sizes = {name: count_instances(name) for name in TEST_SETS}
    assert sizes["rand3"] == sizes["rand4"] == sizes["rand5"] == sizes["coordint"] == 1000
    assert sizes["mpp"] == 1200
    assert all(
        sum(1 for _ in generate(name, 2)) == count_instances(name, 2)
        for name in ("rand3", "mpp", "mixed")
    )


@pytest.mark.parametrize("name", PAPER)
def test_laws_of_the_authors(name: str) -> None:
    """Costs follow a season around a base, hindrance and delays are within limits, all is due."""
    for each in instances(name, 12):
        problem = works(each)
        horizon = problem.horizon
        assert problem.must_complete
        for task in itertools.chain(*(contractor.tasks for contractor in problem.contractors)):
            assert task.revenue == 0
            assert task.delay is None or 0 <= task.delay.probability <= 1
            if name == "coordint":
                assert isinstance(task.cost, float)
                assert 10 <= task.cost <= 50
                continue
            assert isinstance(task.cost, tuple)
            # With base b and amplitude a, stage 0 costs b (1 + a), and stages add up to h b.
            base = sum(task.cost) / horizon
            assert 10 - 0.01 <= base <= 50 + 0.01
            amplitude = task.cost[0] / base - 1
            assert -0.05 <= amplitude <= 1.05
            for stage, cost in enumerate(task.cost):
                shape = 1 + amplitude * math.cos(2 * math.pi * stage / horizon)
                assert abs(cost - base * shape) < 0.03
        for hindrance in problem.network:
            assert isinstance(hindrance.cost, float)
            assert 50 <= hindrance.cost <= 100
            assert len(hindrance.tasks) == 2


@pytest.mark.parametrize("durations", ["drawn", "shortest"])
@pytest.mark.parametrize("name", ["rand3", "rand4", "rand5", "mpp", "pyra"])
def test_works_and_delays_fill_the_horizon(name: str, durations: str) -> None:
    """If everything is delayed, a contractor has the idle steps left, and no more."""
    for each in generate(name, 6, durations=durations, **SMALL.get(name, {})):
        problem = works(each)
        tasks = len(problem.contractors[0].tasks)
        idle = min(int(each.parameters["idle"]), problem.horizon - tasks - 1)
        assert longest(problem) == [problem.horizon - idle] * len(problem.contractors)
        for contractor in problem.contractors:
            late = sum(task.delay is not None for task in contractor.tasks)
            assert late == min(tasks, problem.horizon - idle - tasks)
            if durations == "shortest":
                assert all(task.duration == 1 for task in contractor.tasks)


def test_durations_vary() -> None:
    """Where the horizon has room, works and delays of all lengths that fit turn up."""
    (contractors,) = zip(
        *(works(each).contractors for each in generate("mpp", 300, agents=1, horizon=8)),
        strict=True,
    )
    # Of 7 steps, 3 works and 3 delays have one each; the last one goes to works or to delays.
    steps = Counter(task.duration for each in contractors for task in each.tasks)
    delays = Counter(
        task.delay.duration for each in contractors for task in each.tasks if task.delay
    )
    assert set(steps) == set(delays) == {1, 2}
    assert 100 < steps[2] < 200
    assert steps[2] + delays[2] == 300


@pytest.mark.parametrize(("total", "parts"), [(0, 0), (3, 3), (7, 3), (50, 49), (60, 50)])
def test_splits(total: int, parts: int) -> None:
    """Every part has a step, and all steps are given out, however few there are."""
    for seed in range(5):
        split = _split(Draw(str(seed)), total, parts)
        assert len(split) == parts
        assert sum(split) == total
        assert all(part >= 1 for part in split)


def test_revenue() -> None:
    """With a revenue, works need not be done, and earn three to four times what they cost."""
    for each in generate("mpp", 3, revenue="drawn"):
        problem = works(each)
        assert not problem.must_complete
        for task in itertools.chain(*(contractor.tasks for contractor in problem.contractors)):
            assert isinstance(task.cost, tuple)
            base = sum(task.cost) / problem.horizon
            assert 2.99 <= task.revenue / task.duration / base <= 4.01


@pytest.mark.parametrize("horizon", [3, 4, 5])
def test_rand(horizon: int) -> None:
    """Two contractors with two works, of which any two of different contractors interfere."""
    for each in generate(f"rand{horizon}", 5):
        problem = works(each)
        assert problem.horizon == horizon
        assert [len(contractor.tasks) for contractor in problem.contractors] == [2, 2]
        assert len({hindrance.tasks for hindrance in problem.network}) == 4


def test_coordint_needs_reactions() -> None:
    """In every instance seeing the other's delay is worth something; more if work costs little."""
    means = []
    for cost in (1.0, 0.02):
        losses = []
        for each in generate("coordint", 60, cost=cost):
            central = solve(each.problem, threads=1).value
            alone = solve(each.problem, algorithm="dec-mdp").value
            assert alone < central < 0
            losses.append(1 - central / alone)
        means.append(sum(losses) / len(losses))
    assert means[0] < means[1]


def test_coordint_reacts_one_step_after_the_start() -> None:
    """The best plan lets the second work follow early or late, as the other's first work goes."""
    for each in generate("coordint", 9):
        problem = works(each)
        delay = (problem.horizon - 1) // 2
        policy = solve(problem, threads=1).policy
        assert policy.act(0) == {"C1": "start w1", "C2": "start w1"}
        ready, late = ContractorState(done=("w1",)), ContractorState(doing="w1", remaining=delay)
        assert policy.act(1, {"C1": late, "C2": ready})["C2"] == "start w2"
        assert policy.act(1, {"C1": ready, "C2": late})["C1"] == "start w2"
        early = policy.act(1, {"C1": ready, "C2": ready})
        assert sorted(early.values()) == ["start w2", "wait"]


def test_mpp() -> None:
    """Two to four contractors with three works, horizons in turn, hindrance along a tree."""
    made = list(generate("mpp", 12))
    assert Counter(each.parameters["agents"] for each in made) == {2: 12, 3: 12, 4: 12}
    assert Counter(each.problem.horizon for each in made) == dict.fromkeys(range(5, 11), 6)
    for each in made:
        problem = works(each)
        assert all(len(contractor.tasks) == 3 for contractor in problem.contractors)
        assert_tree(problem, links=4)


def assert_tree(problem: MaintenanceProblem, links: int) -> None:
    """So many pairs of works of each two contractors of a tree interfere."""
    pairs = Counter(tuple(work.split("/")[0] for work in each.tasks) for each in problem.network)
    assert len(pairs) == len(problem.contractors) - 1
    assert set(pairs.values()) <= {links}
    reached = {problem.contractors[0].name}
    for _ in pairs:
        reached |= {name for pair in pairs if reached & set(pair) for name in pair}
    assert len(reached) == len(problem.contractors)


def test_networks() -> None:
    """The network can be another one: a tree with more links, or random pairs."""
    for each in generate("mpp", 3, agents=5, network="tree", links=2):
        assert_tree(works(each), links=2)
    for each in generate("mpp", 3, agents=3, network="pairs", density=0):
        assert not works(each).network
    some = [
        works(each).network for each in generate("mpp", 20, agents=3, network="pairs", density=0.3)
    ]
    assert 0.2 < sum(map(len, some)) / (20 * 27) < 0.4
    # A higher density adds to what is there.
    more = [
        works(each).network for each in generate("mpp", 20, agents=3, network="pairs", density=0.6)
    ]
    assert all(set(few) < set(many) for few, many in zip(some, more, strict=True))


def test_pyra() -> None:
    """The first work of contractor k interferes with those of 2k and 2k + 1, and nothing else."""
    for each in generate("pyra", 1, agents=[2, 3, 6, 10, 63], horizon=[4, 8]):
        problem = works(each)
        agents = len(problem.contractors)
        expected = {
            (f"C{k // 2}/w1", f"C{k}/w1") for k in range(2, agents + 1)
        }  # everybody but the first has one above
        assert {hindrance.tasks for hindrance in problem.network} == expected
        assert len(problem.network) == agents - 1


def test_large() -> None:
    """About as many pairs of contractors interfere as there are contractors, all in one team."""
    for each in generate("large", 2, agents=[10, 40]):
        problem = works(each)
        agents = len(problem.contractors)
        pairs = {
            tuple(sorted(work.split("/")[0] for work in hindrance.tasks))
            for hindrance in problem.network
        }
        assert agents - 3 <= len(pairs) <= agents
        assert max(longest(problem)) <= 18
        assert problem.horizon in (26, 52)
    low, high = (
        sum(len(works(each).network) for each in generate("large", 3, agents=30, contention=kind))
        for kind in ("low", "high")
    )
    assert low < high


def test_mixed() -> None:
    """Cyclic agents, scopes of three and more, gains and losses; all kinds of rewards turn up."""
    seen: Counter[str] = Counter()
    for each in generate("mixed", 60):
        problem = each.problem
        assert isinstance(problem, TIMMDP)
        for agent in problem.agents:
            assert reachable_again(agent.transitions, agent.initial)
        shared = [function for function in problem.rewards if len(function.scope) > 1]
        assert max(len(function.scope) for function in shared) >= 3
        values = [entry.value for function in shared for entry in function.entries]
        assert min(values) < 0 < max(values)
        coupled = {name for function in shared for name in function.scope}
        seen["apart"] += len(coupled) < len(problem.agents)
        for entry in itertools.chain(*(function.entries for function in problem.rewards)):
            seen["stages"] += entry.stages is not None
            for condition in entry.when.values():
                seen["state"] += isinstance(condition.state, tuple)
                seen["action"] += condition.action is not None
                seen["next"] += isinstance(condition.next, tuple)
                seen["feature"] += condition.next is not None and not isinstance(
                    condition.next, tuple
                )
    assert all(
        seen[kind] >= 5 for kind in ("apart", "stages", "state", "action", "next", "feature")
    )
    assert {len(i.problem.agents) for i in generate("mixed", 12)} == {3, 4, 5}  # type: ignore[union-attr]


def reachable_again(transitions: Any, initial: str) -> bool:
    """Whether an agent can come back to where it starts after it has left."""
    reached = {after for law in transitions[initial].values() for after in law} - {initial}
    for _ in transitions:
        reached |= {n for s in reached for law in transitions[s].values() for n in law}
    return initial in reached


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("mp", {}, "no test set 'mp'; did you mean 'mpp'?"),
        ("mpp", {"agent": 2}, "no parameter 'agent'; did you mean 'agents'?"),
        ("mpp", {"count": 0}, "count: found 0; expected how many instances of a group"),
        ("mpp", {"seed": -1}, "seed: found -1"),
        ("mpp", {"seed": 1.5}, "seed: found 1.5"),
        ("mpp", {"agents": []}, "agents: found an empty list"),
        ("mpp", {"agents": [2, 2]}, "agents: a value is given twice"),
        ("mpp", {"agents": True}, "agents: found true"),
        ("mpp", {"agents": None}, "agents: found null"),
        ("mpp", {"agents": [2, 0]}, "agents[1]: found 0; expected a whole number from 1 to"),
        ("mpp", {"agents": 2.5}, "agents[0]: found 2.5; expected a whole number"),
        ("mpp", {"tasks": [2, 3]}, "tasks: found [2, 3]; expected a whole number"),
        ("mpp", {"density": math.nan}, "density: found nan; expected a number from 0 to 1"),
        (
            "mpp",
            {"network": "trees"},
            "expected 'pairs' or 'tree' or 'pyramid'; did you mean 'tree'?",
        ),
        ("mpp", {"network": 3}, "network: found 3"),
        ("mpp", {"horizon": [7, 2]}, "3 tasks do not fit into a horizon of 2"),
        ("large", {"horizon": 10}, "do not fit into a horizon of 10"),
        ("coordint", {"horizon": 4}, "the horizon is 4; expected an odd number"),
        ("coordint", {"agents": 3}, "agents: found 3; expected 2; this set has no other"),
        (
            "large",
            {"contention": "middle"},
            "contention[0]: found 'middle'; expected 'low' or 'high'",
        ),
    ],
)
def test_what_is_refused(name: str, parameters: dict[str, Any], message: str) -> None:
    """What makes no sense is refused at once, in words."""
    with pytest.raises(ModelError) as refused:
        generate(name, **parameters)
    assert message in str(refused.value)


@given(st.data())
def test_parameters_in_any_combination(data: st.DataObject) -> None:
    """Whatever the parameters are within their limits, problems are feasible, or it is said why."""
    name = data.draw(st.sampled_from([each for each in TEST_SETS if each != "coordint"]))
    given_values: dict[str, Any] = {}
    for key, parameter in TEST_SETS[name].parameters.items():
        if parameter.choices:
            value: Any = st.sampled_from(parameter.choices)
        elif parameter.kind is int:
            value = st.integers(int(parameter.least), min(int(parameter.most), 8))
        else:
            value = st.floats(parameter.least, parameter.most)
        if data.draw(st.booleans()):
            given_values[key] = data.draw(value)
    try:
        made = next(generate(name, 1, **given_values))
    except ModelError as refused:
        assert "do not fit into a horizon" in str(refused)
    else:
        assert made.parameters.items() >= given_values.items()


@given(st.integers(-50, 50), st.integers(0, 50), st.text(max_size=5))
def test_draws(low: int, more: int, seed: str) -> None:
    """Whole numbers are within their limits, orders are permutations, and seeds decide."""
    draw, again = Draw(seed), Draw(seed)
    numbers = [draw.integer(low, low + more) for _ in range(20)]
    assert all(low <= number <= low + more for number in numbers)
    assert numbers == [again.integer(low, low + more) for _ in range(20)]
    assert sorted(draw.shuffled(range(more))) == list(range(more))
    assert draw.some("abc", 2) in (["a", "b"], ["a", "c"], ["b", "c"])


def test_draws_are_fair() -> None:
    """Every number and every order comes up about as often as the others."""
    draw = Draw("fair")
    numbers = Counter(draw.integer(1, 6) for _ in range(6000))
    assert all(850 < numbers[k] < 1150 for k in range(1, 7))
    orders = Counter(tuple(draw.shuffled("abc")) for _ in range(6000))
    assert len(orders) == 6
    assert all(850 < count < 1150 for count in orders.values())


@given(st.floats(-1000, 1000))
def test_cosine(turns: float) -> None:
    """The series is the cosine, far better than what is written."""
    assert abs(cosine(turns) - math.cos(2 * math.pi * turns)) < 1e-11
    assert season(4, 0.25, turns)[0] == 1 + 0.25 * cosine(turns)
