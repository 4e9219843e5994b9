"""Rewards for sums over agents in every algorithm and in certificates, compared with the judge."""

from __future__ import annotations

import copy
import json
import random
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certificates import identity_classes, make_certificate, random_clusters, reduced_classes
from coreplan import FormatError, Result, SolverError, Status, _core, solve
from coreplan.model.problem import index_problem
from coreplan.model.sums_as_entries import MOST_ENTRIES, sums_as_entries
from coreplan.policies.saving import policy_to_dict
from coreplan.proof.certificate import Certificate, read_certificate
from coreplan.proof.verify import Verification, verify
from coreplan.solving import simplify
from coreplan.solving.compile import describe
from coreplan.solving.limits import Limits
from coreplan.solving.tuning import Tuning
from helpers import ALGORITHMS, EAGER, from_file, judged_policy_value, precise, scale
from judge import optimal_value
from strategies import aggregate_dicts
from test_dec_mdp import best_decentralised

SEARCH: dict[str, Any] = {"exact": False, **EAGER}
"""`core` without exact solutions of whole teams: with clusters of two agents, and a search."""


def chargers(agents: int, horizon: int, table: list[float], step: float = 1) -> dict[str, Any]:
    """Cars that gain by each step of charging, some slowly, and pay for the number that does."""
    draw = random.Random(agents)
    names = [f"car {i}" for i in range(agents)]
    levels = ["empty", "half", "full"]
    return {
        "format": "ti-mmdp/2",
        "horizon": horizon,
        "agents": [
            {
                "name": name,
                "initial": "empty",
                "transitions": {
                    "empty": {
                        "charge": {"half": 0.75, "empty": 0.25}
                        if draw.random() < 0.5
                        else {"half": 1},
                        "wait": {"empty": 1},
                    },
                    "half": {"charge": {"full": 1}, "wait": {"half": 1}},
                    "full": {"wait": {"full": 1}},
                },
            }
            for name in names
        ],
        "rewards": [
            {
                "scope": [name],
                "entries": [
                    {
                        "when": {name: {"action": "charge", "next": level}},
                        "value": draw.randint(2, 6),
                    }
                    for level in levels[1:]
                ],
            }
            for name in names
        ],
        "aggregates": [
            {
                "name": "peak",
                "amounts": [
                    {"when": {name: {"action": "charge"}}, "amount": step} for name in names
                ],
                "value": {"table": table},
                "step": step,
            }
        ],
    }


PEAK = chargers(5, 5, [0, 0, 0, -8, -20, -40])
"""Five cars, of which two at a time charge for nothing."""
QUOTA = chargers(4, 4, [0, -3, -3, 9, 9])
"""Four cars that gain if three charge at a time."""


def check_result(raw: dict[str, Any], result: Result, optimum: float) -> None:
    """The bounds contain the optimum, and the policy is worth what is said."""
    tolerance = 1e-9 * scale(raw)
    assert result.lower_bound - tolerance <= optimum <= result.upper_bound + tolerance
    assert result.policy is not None
    worth = judged_policy_value(raw, result.policy)
    assert worth >= result.value - tolerance
    if result.status == Status.OPTIMAL and precise(raw):
        assert abs(result.value - optimum) <= 1e-6 * max(1.0, abs(optimum)) + tolerance


# -- algorithms -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("algorithm", "options"),
    ALGORITHMS,
    ids=[f"{name} {' '.join(options)}".strip() for name, options in ALGORITHMS],
)
@given(raw=aggregate_dicts())
def test_every_algorithm_agrees_with_the_judge(
    algorithm: str, options: dict[str, Any], raw: dict[str, Any]
) -> None:
    """The optimal value agrees with the plain Bellman recursion, and the policy is worth it."""
    result = solve(from_file(raw), algorithm=algorithm, **options)
    assert result.status == Status.OPTIMAL
    optimum = optimal_value(raw)
    assert abs(result.value - optimum) <= 1e-9 * scale(raw) or not precise(raw)
    check_result(raw, result, optimum)


@given(
    raw=aggregate_dicts(),
    ideas=st.sets(st.sampled_from(["split", "skip", "floors", "tables", "eliminate", "merge"])),
    deterministic=st.booleans(),
)
def test_searches_agree_with_the_judge(
    raw: dict[str, Any], ideas: set[str], deterministic: bool
) -> None:
    """The search over groups finds the optimum, whichever of its ideas are switched off."""
    options = dict.fromkeys(ideas, False)
    result = solve(
        from_file(raw),
        algorithm="core",
        deterministic=deterministic,
        threads=1,
        **SEARCH,
        **options,
    )
    check_result(raw, result, optimal_value(raw))


@given(raw=aggregate_dicts(), search=st.booleans(), work=st.sampled_from([1e-6, 1e-4, 1e-3, 1e-2]))
def test_bounds_hold_wherever_work_ends(raw: dict[str, Any], search: bool, work: float) -> None:
    """With little work the bounds are wide, but they contain the optimum."""
    result = solve(from_file(raw), algorithm="core", search=search, work_limit=work, **SEARCH)
    check_result(raw, result, optimal_value(raw))


@given(raw=aggregate_dicts())
def test_any_number_of_threads_gives_the_same_plan(raw: dict[str, Any]) -> None:
    """One thread and two find the same bounds and the same plan."""
    problem = from_file(raw)
    one, two = (solve(problem, algorithm="core", threads=k, **SEARCH) for k in (1, 2))
    assert (one.lower_bound, one.upper_bound) == (two.lower_bound, two.upper_bound)
    assert one.policy is not None and two.policy is not None
    assert policy_to_dict(one.policy) == policy_to_dict(two.policy)


@pytest.mark.parametrize("raw", [PEAK, QUOTA], ids=["peak", "quota"])
@pytest.mark.parametrize("options", [{}, SEARCH, {**SEARCH, "threads": 2}, {"exact": False}])
def test_teams_with_one_sum_are_solved(raw: dict[str, Any], options: dict[str, Any]) -> None:
    """A common peak and a quota: the engine closes the gap in all of its ways."""
    result = solve(from_file(raw), algorithm="core", **options)
    optimum = optimal_value(raw)
    check_result(raw, result, optimum)
    assert result.value == pytest.approx(optimum, abs=1e-6)
    assert result.upper_bound == pytest.approx(optimum, abs=1e-5)


def ring(seed: int, agents: int = 10) -> dict[str, Any]:
    """Agents around a ring that interact with their neighbours, two sums, and some triples."""
    draw = random.Random(seed)
    names = [f"a{i}" for i in range(agents)]

    def value() -> float:
        return draw.randint(-20, 20) / 4

    def condition() -> dict[str, Any]:
        key, values = draw.choice([("action", "xy"), ("state", "st")])
        return {key: draw.choice(values)}

    transitions = {
        "s": {"x": {"s": 0.5, "t": 0.5}, "y": {"s": 1.0}},
        "t": {"x": {"s": 1.0}, "y": {"s": 0.25, "t": 0.75}},
    }
    scopes = [
        [names[(i + k) % agents] for k in range(size)]
        for i in range(agents)
        for size in (1, 2, 3)
        if size < 3 or draw.random() < 0.2
    ]
    members = [[name for name in names if draw.random() < 0.75] for _ in range(2)]
    return {
        "format": "ti-mmdp/2",
        "horizon": 4,
        "agents": [{"name": n, "initial": "s", "transitions": transitions} for n in names],
        "rewards": [
            {"scope": who, "entries": [{"when": {n: condition() for n in who}, "value": value()}]}
            for who in scopes
        ],
        "aggregates": [
            {
                "name": f"sum {k}",
                "amounts": [{"when": {name: condition()}, "amount": 1} for name in who],
                "value": {"table": [value() for _ in range(len(who) + 1)]},
            }
            for k, who in enumerate(members)
        ],
    }


@pytest.mark.parametrize("sums", [True, False])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("work", [0.03, 0.1])
def test_certificates_prove_the_bound_after_clusters_have_grown(
    sums: bool, seed: int, work: float
) -> None:
    """Owners of aggregates and triples keep them: the last shares and prices prove the bound."""
    raw = ring(seed)
    if not sums:
        raw = {**raw, "format": "ti-mmdp/1"}
        del raw["aggregates"]
    problem = from_file(raw)
    tuning = Tuning(exact_with_sums=0.0, exact_at_once=0.0)
    options: dict[str, Any] = {"exact": False, "search": False, "tuning": tuning}
    result = solve(problem, algorithm="core", certificate=True, work_limit=work, **options)
    assert result.certificate is not None
    assert result.certificate.upper == result.upper_bound
    found = verify(problem, result.certificate)
    assert found.confirmed, found
    assert max(len(each.agents) for each in result.certificate.clusters) > 2


@given(raw=aggregate_dicts())
def test_dec_mdp_finds_the_best_local_policies(raw: dict[str, Any]) -> None:
    """The decentralised optimum agrees with trying all combinations of local policies."""
    expected = best_decentralised(raw, most=500)
    if expected is None:
        return
    result = solve(from_file(raw), algorithm="dec-mdp")
    assert abs(result.value - expected) <= 1e-8 * scale(raw) or not precise(raw)
    assert result.policy is not None
    worth = judged_policy_value(raw, result.policy)
    assert abs(worth - result.value) <= 1e-8 * scale(raw)


@given(raw=aggregate_dicts(), tolerance=st.sampled_from([0.5, 3.0, 100.0]))
def test_simplified_problems_keep_their_sums(raw: dict[str, Any], tolerance: float) -> None:
    """What grouping entries can cost is bounded as without aggregates: these do not change."""
    simplified = simplify(from_file(raw), tolerance)
    result = simplified.restore(solve(simplified.problem, algorithm="core"))
    check_result(raw, replace(result, status=Status.GAP_LIMIT), optimal_value(raw))


@given(raw=aggregate_dicts())
def test_entries_describe_the_same_rewards(raw: dict[str, Any]) -> None:
    """A problem whose aggregates were described by entries has the judge's value."""
    indexed = index_problem(from_file(raw))
    described = sums_as_entries(indexed, "a test")
    assert not described.aggregates
    optimum = optimal_value(raw)
    limits = Limits()
    graphs = _core.unroll(describe(described), limits.monitor)
    model = _core.compile(graphs, True, limits.monitor)
    assert model.aggregate_count == 0
    value = _core.solve_dp(model, limits.monitor).lower
    assert abs(value - optimum) <= 1e-9 * scale(raw)


@pytest.mark.parametrize("algorithm", ["core-2016", "crg-ps", "spudd"])
def test_too_many_combinations_name_the_aggregate(algorithm: str) -> None:
    """What enumerates sums says which aggregate is too large, and what to use instead."""
    draw = random.Random(1)
    raw = chargers(14, 2, [draw.uniform(-9, 0) for _ in range(15)])
    options = {"encoding": "reference"} if algorithm == "spudd" else {}
    if algorithm == "spudd":
        for agent in raw["agents"]:  # few joint actions, but many combinations
            agent["transitions"] = {"empty": {"charge": {"empty": 1}}}
        raw["rewards"] = []
        raw["aggregates"][0]["amounts"] = [
            {"when": {agent["name"]: {"state": "empty"}}, "amount": 1} for agent in raw["agents"]
        ]
    with pytest.raises(SolverError) as error:
        solve(from_file(raw), algorithm=algorithm, **options)
    assert "'peak'" in str(error.value)
    assert f"{MOST_ENTRIES:,}" in str(error.value)
    assert "'core'" in str(error.value)


# -- certificates ---------------------------------------------------------------------------------


def certified(raw: dict[str, Any], **options: Any) -> tuple[Result, Certificate, Verification]:
    """A result, its certificate, and what the verifier says about it."""
    problem = from_file(raw)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "proof.json"
        result = solve(problem, algorithm="core", certificate=path, **options)
        return result, read_certificate(path, problem), verify(problem, path)


def contains(raw: dict[str, Any], found: Verification) -> None:
    """The proven interval contains the optimum."""
    optimum, tolerance = optimal_value(raw), 1e-12 * scale(raw)
    assert found.lower is None or found.lower <= optimum + tolerance
    assert found.upper is None or found.upper >= optimum - tolerance


@given(raw=aggregate_dicts(), way=st.sampled_from(["kernel", "bounds", "search"]))
def test_certificates_are_confirmed(raw: dict[str, Any], way: str) -> None:
    """Whichever way the engine goes, the verifier confirms both bounds of its result."""
    ways = {"kernel": {}, "bounds": {"exact": False, "search": False}, "search": SEARCH}
    result, certificate, found = certified(raw, threads=1, work_limit=0.5, **ways[way])
    contains(raw, found)
    assert found.confirmed, found
    assert certificate.upper <= result.upper_bound + 1e-6 * scale(raw)


@given(raw=aggregate_dicts(), seed=st.integers(0, 2**32), size=st.sampled_from([0.0, 1.0, 1e3]))
def test_no_prices_make_the_bound_wrong(raw: dict[str, Any], seed: int, size: float) -> None:
    """Whatever the clusters, shares and prices are, the bound is valid."""
    problem = from_file(raw)
    indexed = index_problem(problem)
    draw = random.Random(seed)
    agents = (
        reduced_classes(problem)
        if draw.random() < 0.5
        else [identity_classes(each, 0, problem.horizon) for each in indexed.agents]
    )
    clusters = random_clusters(indexed, agents, draw, lambda d: size * d.uniform(-1, 1))
    prices = tuple(
        None
        if draw.random() < 0.2
        else np.array([size * draw.uniform(-9, 9) for _ in range(problem.horizon)])
        for _ in indexed.aggregates
    )
    certificate = make_certificate(problem, clusters, agents=agents)
    found = verify(problem, replace(certificate, prices=prices))
    assert found.upper is not None
    contains(raw, found)


@given(raw=aggregate_dicts())
def test_one_cluster_is_exact(raw: dict[str, Any]) -> None:
    """With all agents in one cluster, and the engine's classes, the bounds are the optimum."""
    problem = from_file(raw)
    found = verify(problem, make_certificate(problem, agents=reduced_classes(problem)))
    assert found.confirmed, found
    assert found.upper == pytest.approx(optimal_value(raw), rel=1e-9, abs=1e-9 * scale(raw))


@pytest.mark.parametrize("raw", [PEAK, QUOTA], ids=["peak", "quota"])
def test_prices_prove_bounds_that_clusters_alone_do_not(raw: dict[str, Any]) -> None:
    """The certificate of a relaxation has prices; without them it proves less."""
    _, certificate, found = certified(raw, exact=False, search=False, work_limit=0.02)
    assert found.confirmed, found
    contains(raw, found)
    if len(certificate.clusters) > 1:
        assert any(each is not None for each in certificate.prices)
        unpriced = verify(from_file(raw), replace(certificate, prices=()))
        assert unpriced.upper is not None and found.upper is not None
        contains(raw, unpriced)
        assert unpriced.upper > found.upper
        assert not unpriced.upper_proven


@pytest.mark.parametrize("raw", [PEAK, QUOTA], ids=["peak", "quota"])
def test_records_with_sums_are_checked(raw: dict[str, Any]) -> None:
    """A search over groups that share a sum leaves records that prove its bound, and no more."""
    _, certificate, found = certified(raw, **{**SEARCH, "tables": False}, threads=1)
    contains(raw, found)
    assert found.confirmed, found
    if certificate.search is None:
        return
    assert found.records > 0
    assert found.records_wrong == 0
    groups = tuple(replace(g, least=g.least + 0.5) for g in certificate.search.groups)
    bold = replace(certificate, search=replace(certificate.search, groups=groups))
    refused = verify(from_file(raw), bold)
    contains(raw, refused)
    assert refused.records_wrong > 0
    assert not refused.upper_proven


@given(raw=aggregate_dicts(), seed=st.integers(0, 2**32))
def test_damaged_certificates_prove_nothing_wrong(raw: dict[str, Any], seed: int) -> None:
    """Other claims are refused; other prices are no proof of better bounds than there are."""
    problem = from_file(raw)
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "proof.json"
        solve(problem, algorithm="core", certificate=path, threads=1, work_limit=0.2, **SEARCH)
        document = json.loads(path.read_text(encoding="utf-8"))
        damaged = copy.deepcopy(document)
        kind = draw.choice(["upper", "lower", "prices", "length"])
        if kind in ("upper", "lower"):
            damaged[kind] += (-1 if kind == "upper" else 1) * (1 + scale(raw))
        elif kind == "prices":
            damaged["prices"] = [None] * len(raw["aggregates"])
        else:
            damaged["prices"] = [None] * (len(raw["aggregates"]) + 1)
        path.write_text(json.dumps(damaged), encoding="utf-8")
        if kind == "length":
            with pytest.raises(FormatError, match="one item for each"):
                verify(problem, path)
            return
        found = verify(problem, path)
    contains(raw, found)
    if kind in ("upper", "lower"):
        assert not found.confirmed
