"""The verifier: what it proves, what it confirms, what it refuses."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coreplan
from certificates import (
    identity_classes,
    make_certificate,
    one_cluster,
    random_clusters,
    reduced_classes,
    some_classes,
)
from coreplan import MaintenanceProblem, _core, cli, read_problem, solve, write_problem
from coreplan.cli import example_path
from coreplan.policies.rules import GONE
from coreplan.proof.certificate import (
    AgentClasses,
    Certificate,
    Cluster,
    index_problem,
    write_certificate,
)
from coreplan.proof.elimination import find_needed
from coreplan.proof.local import Rewards, local_models
from coreplan.proof.verify import Verification, verify
from helpers import from_file, judged_policy_value, random_mpp, scale
from judge import optimal_value
from strategies import problem_dicts

SIZES: dict[str, Callable[[random.Random], float]] = {
    "none": lambda _: 0.0,
    "small": lambda draw: draw.uniform(-1, 1),
    "mixed": lambda draw: draw.choice([0.0, 1.0, -3.0, 100.0, 1e6 * draw.random()]),
    "huge": lambda draw: draw.uniform(-1e18, 1e18),
}


def two_workers(hindrance: float, revenue: float = 20.0) -> MaintenanceProblem:
    """Two contractors with one task each, which hinder each other at three stages."""
    raw = {
        "format": "mpp/1",
        "name": "two workers",
        "horizon": 3,
        "agents": [
            {"name": "A", "tasks": [{"name": "a", "duration": 1, "cost": 1, "revenue": revenue}]},
            {"name": "B", "tasks": [{"name": "b", "duration": 1, "cost": [1, 2, 3], "revenue": 9}]},
        ],
        "network": [{"tasks": ["A/a", "B/b"], "cost": hindrance}],
    }
    problem = from_file(raw)
    assert isinstance(problem, MaintenanceProblem)
    return problem


def drop_action(classes: AgentClasses, action: int, layer: int) -> AgentClasses:
    """Leave an action out, wherever a state of a layer has it beside others."""
    position = 0
    begin, after, action_of = [0], [], []
    for t in range(len(classes.class_count)):
        for node in range(int(classes.layer_begin[t]), int(classes.layer_begin[t + 1])):
            number = classes.class_begin[t] + classes.class_of[node]
            width = int(classes.action_begin[number + 1] - classes.action_begin[number])
            row = range(position, position + width)
            position += width
            kept = [k for k in row if t != layer or classes.action_of[k] != action] or [row[0]]
            action_of += [classes.action_of[k] for k in kept]
            after += [classes.after[k] for k in kept]
            begin.append(len(action_of))
    arrays = {"action_begin": begin, "after": after, "action_of": action_of}
    return replace(classes, **{key: np.array(v, dtype=np.uint32) for key, v in arrays.items()})


# -- the upper bound ------------------------------------------------------------------------------


@given(raw=problem_dicts(), seed=st.integers(0, 2**32), size=st.sampled_from(sorted(SIZES)))
def test_no_shares_make_the_bound_wrong(raw: dict[str, Any], seed: int, size: str) -> None:
    """The proven upper bound is never below the optimum, whatever the clusters and the shares."""
    problem = from_file(raw)
    indexed = index_problem(problem)
    agents = [identity_classes(each, 0, problem.horizon) for each in indexed.agents]
    clusters = random_clusters(indexed, agents, random.Random(seed), SIZES[size])
    found = verify(problem, make_certificate(problem, clusters))
    assert found.upper is not None
    assert found.upper >= optimal_value(raw) - 1e-13 * scale(raw)
    assert found.upper_proven == (found.upper <= found.upper_claimed + found.tolerance)
    if size in ("none", "small"):
        assert found.upper_error <= 1e-9 * scale(raw)


@given(raw=problem_dicts())
def test_one_cluster_is_exact(raw: dict[str, Any]) -> None:
    """With all agents in one cluster both claims are confirmed, and the bounds are the optimum."""
    problem = from_file(raw)
    found = verify(problem, make_certificate(problem))
    assert found.confirmed, found
    assert found.upper is not None and found.lower is not None
    assert found.upper == pytest.approx(optimal_value(raw), rel=1e-9, abs=1e-9 * scale(raw))
    assert found.gap == found.upper - found.lower
    assert -1e-13 * scale(raw) <= found.gap <= 1e-9 * scale(raw)


@given(raw=problem_dicts())
def test_what_the_engine_removes_is_not_needed(raw: dict[str, Any]) -> None:
    """The classes of the engine's reduction are accepted, and keep the optimum."""
    problem = from_file(raw)
    found = verify(problem, make_certificate(problem, agents=reduced_classes(problem)))
    assert found.confirmed, found
    assert found.upper == pytest.approx(optimal_value(raw), rel=1e-9, abs=1e-9 * scale(raw))


@pytest.mark.parametrize("seed", range(5))
def test_engine_reduction_of_dense_problems(seed: int) -> None:
    """The same where much hinders much: many rounds, many actions left out, many states merged."""
    raw = random_mpp(3, 2, 6, seed)
    problem = from_file(raw)
    agents = reduced_classes(problem)
    found = verify(problem, make_certificate(problem, agents=agents))
    assert found.confirmed, found
    pairs = [Cluster(each, (None, None)) for each in ((0, 1), (0, 2), (1, 2))]
    loose = verify(problem, make_certificate(problem, pairs, agents=agents))
    assert loose.upper is not None and found.upper is not None
    assert loose.upper >= found.upper - 1e-6


@given(raw=problem_dicts(), seed=st.integers(0, 2**32))
def test_classes_and_shares_together(raw: dict[str, Any], seed: int) -> None:
    """With the engine's classes, any clusters and shares still give a valid bound."""
    problem = from_file(raw)
    agents = reduced_classes(problem)
    indexed = index_problem(problem)
    clusters = random_clusters(indexed, agents, random.Random(seed), SIZES["mixed"])
    found = verify(problem, make_certificate(problem, clusters, agents=agents))
    assert found.upper is not None
    assert found.upper >= optimal_value(raw) - 1e-13 * scale(raw)


@given(raw=problem_dicts(), seed=st.integers(0, 2**32), part=st.sampled_from([0.1, 0.5, 0.9]))
def test_left_out_actions_never_prove_too_much(raw: dict[str, Any], seed: int, part: float) -> None:
    """Whichever actions and states are left out: refused, or a bound that is valid."""
    problem = from_file(raw)
    indexed = index_problem(problem)
    draw = random.Random(seed)
    agents = []
    for agent in indexed.agents:
        left_out = {
            (t, s, agent.actions.index(action))
            for t in range(problem.horizon)
            for s in range(len(agent.states))
            for action in list(agent.choices(t, s))[draw.choice([0, 1]) :][:-1]
            if draw.random() < part
        }
        agents.append(
            some_classes(agent, 0, problem.horizon, lambda *at, out=left_out: at not in out)
        )
    found = verify(problem, make_certificate(problem, agents=agents))
    if found.upper is not None:
        assert found.upper >= optimal_value(raw) - 1e-13 * scale(raw)


@given(raw=problem_dicts())
def test_all_that_is_not_needed_can_go(raw: dict[str, Any]) -> None:
    """What is left when everything is dropped that can be has the same optimum."""
    check_all_that_can_go(raw)


@pytest.mark.parametrize("seed", range(5))
def test_all_that_is_not_needed_can_go_in_dense_problems(seed: int) -> None:
    """The same where much hinders much."""
    check_all_that_can_go(random_mpp(3, 2, 6, seed))


def check_all_that_can_go(raw: dict[str, Any]) -> None:
    """Verify a certificate of no more than what the verifier itself needs."""
    problem = from_file(raw)
    indexed = index_problem(problem)
    rewards = Rewards(indexed)
    models = local_models(indexed, rewards)
    nothing = [[np.zeros(len(layer.row_state), bool) for layer in m.layers] for m in models]
    needed = find_needed(models, rewards, nothing)
    agents = []
    for model, agent, keep in zip(models, indexed.agents, needed.keep, strict=True):
        kept = {
            (t, int(layer.states[layer.row_state[r]]), int(model.action_of_choice[choice]))
            for t, layer in enumerate(model.layers)
            for r, choice in enumerate(layer.row_choice)
            if keep[t][r]
        }
        agents.append(some_classes(agent, 0, problem.horizon, lambda *at, of=kept: at in of))
    found = verify(problem, make_certificate(problem, agents=agents))
    assert found.confirmed, found
    assert found.upper == pytest.approx(optimal_value(raw), rel=1e-9, abs=1e-9 * scale(raw))


@given(raw=problem_dicts(), seed=st.integers(0, 2**32))
def test_tampered_classes_never_prove_too_much(raw: dict[str, Any], seed: int) -> None:
    """Whatever is merged, left out or taken for gone: refused, or a bound that is valid."""
    problem = from_file(raw)
    certificate = make_certificate(problem, agents=reduced_classes(problem))
    draw = random.Random(seed)
    agents = list(certificate.agents)
    for _ in range(draw.randint(1, 2)):
        i = draw.randrange(len(agents))
        agents[i] = tamper(agents[i], draw)
    found = verify(problem, replace(certificate, agents=tuple(agents)))
    if found.upper is not None:
        assert found.upper >= optimal_value(raw) - 1e-13 * scale(raw)


def tamper(classes: AgentClasses, draw: random.Random) -> AgentClasses:
    """Change something of an agent's classes such that the arrays still fit together."""
    kind = draw.choice(["merge", "gone", "action"])
    if len(classes.action_of) == 0:
        return classes
    if kind == "action":
        action_of = classes.action_of.copy()
        action_of[draw.randrange(len(action_of))] = draw.choice(action_of)
        return replace(classes, action_of=action_of)
    layer = draw.randrange(len(classes.class_count))
    first, last = int(classes.layer_begin[layer]), int(classes.layer_begin[layer + 1])
    node, other = draw.randrange(first, last), draw.randrange(first, last)

    def width(t: int, number: int) -> int:
        at = int(classes.class_begin[t]) + number
        return 0 if number == GONE else int(np.diff(classes.action_begin)[at])

    widths = [
        width(t, int(classes.class_of[each]))
        for t in range(len(classes.class_count))
        for each in range(int(classes.layer_begin[t]), int(classes.layer_begin[t + 1]))
    ]
    position = sum(widths[:node])
    target = GONE if kind == "gone" else int(classes.class_of[other])
    row = list(classes.action_of[position : position + widths[node]])
    wanted = width(layer, target)
    if wanted and not row:
        return classes
    new = (row * wanted)[:wanted]
    action_of = np.concatenate(
        [
            classes.action_of[:position],
            np.array(new, dtype=np.uint32),
            classes.action_of[position + widths[node] :],
        ]
    )
    class_of = classes.class_of.copy()
    class_of[node] = target
    return replace(classes, class_of=class_of, action_of=action_of)


# -- what is refused ------------------------------------------------------------------------------


def test_states_that_differ_are_not_merged() -> None:
    """A class of states that do not behave alike is refused, with the state's name."""
    raw = {
        "format": "mpp/1",
        "horizon": 3,
        "agents": [
            {"name": "A", "tasks": [{"name": n, "duration": 1, "cost": 1} for n in "ac"]},
            {"name": "B", "tasks": [{"name": "b", "duration": 1, "cost": 1, "revenue": 9}]},
        ],
        "network": [{"tasks": ["A/a", "B/b"], "cost": -4}],
    }
    problem = from_file(raw)
    certificate = make_certificate(problem)
    for stage, words in ((1, "interactions"), (0, "next states")):
        agents = list(certificate.agents)
        class_of = agents[0].class_of.copy()
        first = int(agents[0].layer_begin[1])
        assert agents[0].class_count[1] == 3
        a_done, c_done = first + 1, first + 2
        assert class_of[a_done] == 1 and class_of[c_done] == 2
        if stage == 1:
            class_of[c_done] = 1
            agents[0] = replace(agents[0], class_of=class_of)
        else:
            # Two class actions of the first state stand for the same action.
            action_of = agents[0].action_of.copy()
            action_of[1] = action_of[2]
            agents[0] = replace(agents[0], action_of=action_of)
        found = verify(problem, replace(certificate, agents=tuple(agents)))
        assert found.upper is None and not found.upper_proven
        assert f"agent 'A', stage {stage}" in found.notes[0]
        assert found.lower_proven
        if stage == 1:
            assert f"its {words} differ from those of the class" in found.notes[0]


def test_actions_that_matter_are_missed() -> None:
    """An action that may be needed must not be left out; the message names it."""
    problem = two_workers(5.0)
    certificate = make_certificate(problem)
    dropped = drop_action(certificate.agents[1], 2, 0)  # the best alone
    found = verify(problem, replace(certificate, agents=(certificate.agents[0], dropped)))
    assert found.upper is None
    assert "agent 'B', stage 0, state" in found.notes[0]
    assert "action 'start b'" in found.notes[0]
    assert "leaves out this action, but an optimal plan may need it" in found.notes[0]


def test_actions_that_lose_too_much_may_be_left_out() -> None:
    """What robust elimination justifies is accepted, and the bound stays exact."""
    problem = two_workers(0.5)
    certificate = make_certificate(problem)
    # To wait at stage 0 loses 1, the next cost being higher; hindrance costs no more than 0.5.
    dropped = drop_action(certificate.agents[1], 0, 0)
    assert len(dropped.action_of) < len(certificate.agents[1].action_of)
    found = verify(problem, replace(certificate, agents=(certificate.agents[0], dropped)))
    assert found.confirmed, found
    stricter = two_workers(1.5)
    certificate = make_certificate(stricter)
    dropped = drop_action(certificate.agents[1], 0, 0)
    found = verify(stricter, replace(certificate, agents=(certificate.agents[0], dropped)))
    assert found.upper is None


def test_ties_count_as_not_needed() -> None:
    """An action that loses exactly what playing safe costs may be left out."""
    problem = two_workers(1.0)
    certificate = make_certificate(problem)
    dropped = drop_action(certificate.agents[1], 0, 0)
    found = verify(problem, replace(certificate, agents=(certificate.agents[0], dropped)))
    assert found.confirmed, found


def test_gains_forbid_elimination() -> None:
    """Where agents can gain together, an action that loses much alone may be needed."""
    problem = two_workers(-0.5)
    certificate = make_certificate(problem)
    dropped = drop_action(certificate.agents[1], 0, 0)
    found = verify(problem, replace(certificate, agents=(certificate.agents[0], dropped)))
    assert found.upper is None
    assert "action 'wait'" in found.notes[0]


def test_states_that_can_be_reached_are_not_gone() -> None:
    """A state that needed actions lead to must have a class."""
    problem = two_workers(5.0)
    certificate = make_certificate(problem)
    classes = certificate.agents[0]
    node = int(classes.layer_begin[1])
    class_of = classes.class_of.copy()
    class_of[node] = GONE
    begin = int(classes.action_begin[classes.class_begin[1]])
    width = int(classes.action_begin[classes.class_begin[1] + 1]) - begin
    action_of = np.delete(classes.action_of, np.arange(begin, begin + width))
    gone = replace(classes, class_of=class_of, action_of=action_of)
    found = verify(problem, replace(certificate, agents=(gone, certificate.agents[1])))
    assert found.upper is None
    assert "has no class for this state, but an optimal plan may reach it" in found.notes[0]


def test_other_states_than_those_that_can_be_reached() -> None:
    """The listed states must be all that can be reached."""
    problem = two_workers(5.0)
    certificate = make_certificate(problem)
    classes = certificate.agents[0]
    state = classes.state.copy()
    state[[1, 2]] = state[[2, 1]]
    wrong = replace(classes, state=state)
    found = verify(problem, replace(certificate, agents=(wrong, certificate.agents[1])))
    assert found.upper is None
    assert "are not those that can be reached" in found.notes[0]


def test_duplicates_need_not_be_listed() -> None:
    """An action that is like another one in all but its name and loss may be left out."""
    raw = {
        "format": "ti-mmdp/1",
        "name": "duplicates",
        "horizon": 2,
        "agents": [
            {
                "name": "X",
                "initial": "s",
                "transitions": {"s": {"good": {"s": 1}, "bad": {"s": 1}, "see": {"s": 1}}},
            },
            {
                "name": "Y",
                "initial": "s",
                "transitions": {"s": {a: {"s": 1} for a in ("see", "b")}},
            },
        ],
        "rewards": [
            {"scope": ["X"], "entries": [{"when": {"X": {"action": "bad"}}, "value": -1}]},
            {
                "scope": ["X", "Y"],
                "entries": [{"when": {"X": {"action": "see"}, "Y": {"action": "see"}}, "value": 4}],
            },
        ],
    }
    problem = from_file(raw)
    certificate = make_certificate(problem)
    for action in (0, 1):  # the better one or the worse one
        dropped = drop_action(certificate.agents[0], action, 0)
        changed = replace(certificate, agents=(dropped, certificate.agents[1]))
        found = verify(problem, changed)
        assert found.confirmed, found
    dropped = drop_action(certificate.agents[0], 2, 0)
    assert (
        verify(problem, replace(certificate, agents=(dropped, *certificate.agents[1:]))).upper
        is None
    )


@pytest.mark.parametrize(
    "cluster",
    [
        Cluster((), ()),
        Cluster((1, 0), (None, None)),
        Cluster((0, 7), (None, None)),
        Cluster((0,), (None, None)),
        Cluster((0,), (np.zeros(1),)),
    ],
)
def test_clusters_that_make_no_sense(cluster: Cluster) -> None:
    """Clusters are checked again where they did not come from a file."""
    problem = two_workers(5.0)
    found = verify(problem, make_certificate(problem, [cluster]))
    assert found.upper is None
    assert "is inconsistent" in found.notes[0]


def test_large_clusters_are_not_solved() -> None:
    """A cluster whose table does not fit proves nothing, and the notes say so."""
    problem = two_workers(5.0)
    found = verify(problem, make_certificate(problem), most_cells=5)
    assert found.upper is None
    assert "joint after-states at one stage, more than 5" in found.notes[0]


def test_gains_that_no_cluster_counts() -> None:
    """Without clusters, gains are counted as if the others did their best, costs as nothing."""
    problem = two_workers(-4.0)
    found = verify(problem, make_certificate(problem, []))
    assert found.upper == pytest.approx(19 + 8 + 4, abs=1e-9)
    problem = two_workers(4.0)
    found = verify(problem, make_certificate(problem, []))
    assert found.upper == pytest.approx(19 + 8, abs=1e-9)


# -- claims ---------------------------------------------------------------------------------------


@given(raw=problem_dicts())
def test_lower_bound_is_the_policys_value(raw: dict[str, Any]) -> None:
    """The proven lower bound is the policy's value, by the judge's recursion."""
    problem = from_file(raw)
    certificate = make_certificate(problem, algorithm="core")
    found = verify(problem, certificate)
    expected = judged_policy_value(raw, certificate.policy)
    assert found.lower == pytest.approx(expected, rel=1e-9, abs=1e-9 * scale(raw))
    assert found.lower is not None and found.lower <= expected + 1e-13 * scale(raw)
    higher = replace(certificate, lower=expected + 1e-6 * scale(raw))
    assert not verify(problem, higher).lower_proven


def test_claims_that_are_too_good() -> None:
    """A claim that is better than what can be proven is not confirmed, though the bounds stand."""
    problem = two_workers(5.0)
    true = make_certificate(problem)
    found = verify(problem, replace(true, upper=true.upper - 1e-6, lower=true.lower + 1e-6))
    assert not found.upper_proven and not found.lower_proven and not found.confirmed
    assert found.upper is not None and found.upper >= true.upper
    assert "NOT CONFIRMED: the certificate proves at most" in str(found)
    weaker = verify(problem, replace(true, upper=true.upper + 3, lower=true.lower - 3))
    assert weaker.confirmed
    assert weaker.gap_claimed == pytest.approx(6 + true.upper - true.lower)


def test_changed_shares_cost_the_claim() -> None:
    """With other shares the bound is valid, but the claim is not confirmed any more."""
    raw = random_mpp(3, 1, 4)
    problem = from_file(raw)
    indexed = index_problem(problem)
    agents = [identity_classes(each, 0, problem.horizon) for each in indexed.agents]
    sizes = [int(each.action_begin[-1]) for each in agents]
    pairs = ((0, 1), (0, 2), (1, 2))
    good = [Cluster(each, tuple(np.zeros(sizes[i]) for i in each)) for each in pairs]
    claim = verify(problem, make_certificate(problem, good, agents=agents)).upper
    assert claim is not None and claim >= optimal_value(raw) - 1e-9
    draw = np.random.default_rng(1)
    bad = [Cluster(each, tuple(20 * draw.normal(size=sizes[i]) for i in each)) for each in pairs]
    found = verify(problem, make_certificate(problem, bad, agents=agents, upper=claim))
    assert found.upper is not None and found.upper > claim + 1 and not found.upper_proven


def test_shares_beyond_all_numbers() -> None:
    """Shares that overflow prove nothing."""
    problem = two_workers(5.0)
    certificate = make_certificate(problem)
    sizes = [int(each.action_begin[-1]) for each in certificate.agents]
    given = Cluster((0, 1), tuple(np.full(size, 1.7e308) for size in sizes))
    found = verify(problem, replace(certificate, clusters=(given, given, given)))
    assert found.upper is None
    assert "the shares overflow" in found.notes[0]


def test_certificate_without_policy() -> None:
    """Without a policy there is no lower bound; the upper one stands."""
    problem = two_workers(5.0)
    found = verify(problem, replace(make_certificate(problem), policy=None))
    assert found.lower is None and not found.lower_proven and found.upper_proven
    assert "has no policy" in found.notes[0]
    assert found.gap is None


def test_policy_out_of_reach() -> None:
    """A policy whose exact value is out of reach proves no lower bound, and the notes say so."""
    problem = from_file(random_mpp(2, 2, 4))
    found = verify(problem, make_certificate(problem), most_joint_states=1)
    assert found.lower is None and found.upper_proven
    assert "out of reach" in found.notes[0]


def test_from_a_later_stage() -> None:
    """A certificate may start at a later stage and in another state."""
    problem = two_workers(5.0)
    state = {"A": {"done": ["a"]}, "B": {"done": []}}
    result = solve(problem, stage=1, state=state)
    indexed = index_problem(problem, stage=1, state=state)
    certificate = Certificate(
        problem,
        indexed,
        result.lower_bound,
        result.upper_bound,
        tuple(identity_classes(each, 1, 3) for each in indexed.agents),
        (one_cluster(indexed),),
        result.policy,
    )
    found = verify(problem, certificate)
    assert found.confirmed
    assert found.upper == pytest.approx(9 - 2)


# -- apart from the core --------------------------------------------------------------------------


def test_nothing_of_the_core_takes_part(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Reading and verifying work where everything of the core but the clock is broken."""
    problem = read_problem(example_path("two_works.yaml"))
    write_certificate(make_certificate(problem), tmp_path / "c.json")

    def broken(*_: object, **__: object) -> None:
        raise AssertionError("the core was used")

    for name in dir(_core):
        if not name.startswith("_") and name not in ("Monitor", "Stop", "Progress"):
            monkeypatch.setattr(_core, name, broken)
    assert verify(problem, tmp_path / "c.json").confirmed
    package = Path(coreplan.__file__).parent
    for source in (package / "proof").glob("*.py"):
        assert "_core" not in source.read_text(encoding="utf-8"), source


# -- the command ----------------------------------------------------------------------------------


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run the command line in this process."""
    with pytest.raises(SystemExit) as ended:
        cli.main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return ended.value.code, out, err


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Certificate]:
    """A problem and a certificate for it, as files."""
    problem = two_workers(5.0)
    certificate = make_certificate(problem)
    write_problem(problem, tmp_path / "problem.json")
    write_certificate(certificate, tmp_path / "certificate.json.gz")
    return tmp_path / "problem.json", tmp_path / "certificate.json.gz", certificate


def test_command_confirms(
    files: tuple[Path, Path, Certificate], capsys: pytest.CaptureFixture[str]
) -> None:
    """`coreplan verify` says what is proven and ends with 0 if both claims are confirmed."""
    code, out, err = run(capsys, "verify", *files[:2])
    assert (code, err) == (0, "")
    assert out.count("confirmed: the optimal value is") == 2
    code, out, _ = run(capsys, "verify", *files[:2], "--json")
    report = json.loads(out)
    assert code == 0 and report["confirmed"]
    assert report["upper"] == pytest.approx(files[2].upper)
    assert math.isclose(report["gap"], report["upper"] - report["lower"])


def test_command_does_not_confirm(
    files: tuple[Path, Path, Certificate], capsys: pytest.CaptureFixture[str]
) -> None:
    """A claim that is not confirmed makes the command end with 4, with words or JSON."""
    problem, path, certificate = files
    write_certificate(replace(certificate, upper=certificate.upper - 1), path)
    code, out, _ = run(capsys, "verify", problem, path)
    assert code == 4 and "NOT CONFIRMED" in out
    code, out, _ = run(capsys, "verify", problem, path, "--json")
    assert code == 4 and not json.loads(out)["confirmed"]
    code, out, _ = run(capsys, "verify", problem, path, "--most-cells", 1)
    assert code == 4 and "no upper bound is proven" in out


def test_command_refuses_other_problems(
    files: tuple[Path, Path, Certificate], capsys: pytest.CaptureFixture[str]
) -> None:
    """A certificate for another problem is an error, and so is a file that is none."""
    code, out, err = run(capsys, "verify", example_path("two_works.yaml"), files[1])
    assert (code, out) == (2, "")
    assert "belongs to another problem ('two workers')" in err
    code, _, err = run(capsys, "verify", files[0], files[0])
    assert code == 2 and "expected certificate/1" in err
    code, _, err = run(capsys, "verify", "-", "-")
    assert code == 2 and "standard input" in err


def test_verification_in_words() -> None:
    """A verification as text names both claims and what is proven."""
    made = Verification("p", 1.0, None, 1.0, 2.0, 0.0, 0.0, 1e-9, True, False, 0.1, ("why",))
    assert str(made).splitlines() == [
        "lower bound 1: confirmed: the optimal value is at least 1 (rounding: 0)",
        "upper bound 2: NOT CONFIRMED",
        "why",
    ]
