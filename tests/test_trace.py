"""The published search made visible: what a trace says is true, and can be looked at."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import judge
from clocks import ticking
from coreplan import LimitError, ModelError, SolverError, cli, read_problem, solve
from coreplan.analysis.followed import in_brackets
from coreplan.analysis.trace import SearchTrace, TracedState, leads_to, trace_search
from coreplan.cli import example_path
from coreplan.view.trace_part import part_of
from coreplan.view.trace_text import local_name, number, one_line
from helpers import from_file, judge_state, random_mpp, scale
from strategies import problem_dicts

SVG = "{http://www.w3.org/2000/svg}"
BOTH_B = {"agent 1": "b", "agent 2": "b"}
AS_IN_THE_PAPER = {2: "agent 2"}
"""The paper's CRG of agent 2 has the interaction."""

OPTIONS = st.fixed_dictionaries(
    {
        "bounds": st.sampled_from(["returns", "expected", False]),
        "memo": st.booleans(),
        "merge": st.booleans(),
        "assignment": st.sampled_from(["balanced", "highest-degree"]),
        "decouple": st.sampled_from(["table", "search"]),
        "update_bounds": st.booleans(),
    }
)


def paper(**options: Any) -> SearchTrace:
    """The search on the paper's example."""
    return trace_search(read_problem(example_path("paper_example.yaml")), **options)


def traced(raw: dict[str, Any], **options: Any) -> SearchTrace:
    """The search on a drawn problem, however large."""
    return trace_search(from_file(raw), most_states=10**6, **options)


def texts(svg: str) -> list[str]:
    """What can be read in a picture, its tooltips included."""
    return ["".join(part.itertext()) for part in ElementTree.fromstring(svg).iter()]


def tags(svg: str) -> set[str]:
    """The kinds of elements in a picture."""
    return {part.tag.removeprefix(SVG) for part in ElementTree.fromstring(svg).iter()}


@pytest.mark.parametrize(
    ("bounds", "expected"), [("returns", (11, 13)), ("expected", (12.5, 12.5))]
)
def test_numbers_of_the_papers_figure(bounds: str, expected: tuple[float, float]) -> None:
    """After (b, b) the CRGs bound (a, a) by [13, 16]. (a, c) is bounded by [12.5, 12.5] in the
    figure, which takes means over own outcomes, and by [11, 13] by eq. UB, which does not.
    """  # noqa: D205
    (state,) = paper(stage=1, state=BOTH_B, assignment=AS_IN_THE_PAPER, bounds=bounds).states
    actions = {action.actions: action for action in state.actions}
    both, pruned = actions["a", "a"], actions["a", "c"]
    assert (both.graph_lower, both.graph_upper) == (13, 16)
    assert (pruned.graph_lower, pruned.graph_upper) == expected
    assert pruned.pruned
    assert pruned.value is None
    assert not both.pruned


def test_the_search_knows_more_than_the_figure() -> None:
    """Algorithm 1 takes expectations over joint outcomes, so (a, a) is 14.5 for certain."""
    (state,) = paper(stage=1, state=BOTH_B, assignment=AS_IN_THE_PAPER).states
    actions = {action.actions: action for action in state.actions}
    both, pruned = actions["a", "a"], actions["a", "c"]
    assert (both.lower, both.upper, both.value) == (14.5, 14.5, 14.5)
    assert (pruned.upper, pruned.certain) == (12.5, 14.5)
    assert state.value == 14.5


def test_who_answers_decides_what_the_crgs_know() -> None:
    """If agent 1, who sets f, answers for the interaction, its CRG knows the chances itself."""
    for bounds, known in (("expected", (14.5, 14.5)), ("returns", (13, 16))):
        (state,) = paper(stage=1, state=BOTH_B, assignment={2: "agent 1"}, bounds=bounds).states
        both = next(action for action in state.actions if action.actions == ("a", "a"))
        assert (both.graph_lower, both.graph_upper) == known


def test_decoupling_in_the_paper() -> None:
    """After (b, a) the agents are decoupled, and agent 2 is solved by its own policy."""
    trace = paper(bounds=False, decouple="search")
    root = trace.states[0]
    action = next(action for action in root.actions if action.actions == ("b", "a"))
    (outcome,) = action.outcomes
    assert outcome.decoupled
    first, second = (trace.states[k] for k in outcome.states)
    assert (first.agents, first.independent) == (("agent 1",), False)
    assert (second.agents, second.independent) == (("agent 2",), True)
    assert [local.label for local in (*first.locals, *second.locals)] == ["b", "a"]
    # Both have optimal policies of their own, so that neither has to be searched for.
    trace = paper(bounds=False)
    alone = [state for state in trace.states if len(state.agents) == 1]
    assert alone
    assert all(state.independent and not state.actions for state in alone)


def test_the_most_promising_action_comes_first() -> None:
    """Joint actions are tried by falling U, or in the order of the problem."""
    for state in paper().states:
        uppers = [action.upper for action in state.actions]
        assert uppers == sorted(uppers, reverse=True)
    root = paper(action_order="listed").states[0]
    assert [action.actions for action in root.actions][:4] == [
        ("a", "a"),
        ("a", "b"),
        ("a", "c"),
        ("b", "a"),
    ]


@given(raw=problem_dicts(), options=OPTIONS)
def test_bounds_bracket_values(raw: dict[str, Any], options: dict[str, Any]) -> None:
    """L ≤ value ≤ U for every joint action that was evaluated, and the CRGs alone know no more."""
    tolerance = 1e-9 * scale(raw)
    for state in traced(raw, **options).states:
        for action in state.actions:
            assert action.graph_lower <= action.lower + tolerance
            assert action.upper <= action.graph_upper + tolerance
            if action.value is not None:
                assert action.lower - tolerance <= action.value <= action.upper + tolerance
            if action.given_up is not None:
                assert action.lower - tolerance <= action.given_up <= action.upper + tolerance


@given(raw=problem_dicts(), options=OPTIONS)
def test_values_are_the_judges(raw: dict[str, Any], options: dict[str, Any]) -> None:
    """The optimum and the value of every joint state of all agents are the judge's."""
    tolerance = 1e-9 * scale(raw)
    trace = traced(raw, **options)
    expected = judge.optimal_values(raw)
    assert trace.value == pytest.approx(judge.optimal_value(raw), rel=1e-9, abs=tolerance)
    for state in whole_team(raw, trace):
        value = state.value + sum(trace.constants[state.stage :])
        known = expected[state.stage, judge_state(raw, named(state))]
        assert value == pytest.approx(known, rel=1e-9, abs=tolerance)


@given(raw=problem_dicts(), options=OPTIONS)
def test_pruned_actions_are_not_better(raw: dict[str, Any], options: dict[str, Any]) -> None:
    """No joint action that was pruned is worth more, by the judge, than the state is."""
    tolerance = 1e-9 * scale(raw)
    trace = traced(raw, **options)
    model = judge.model_of(raw)
    memo = judge.optimal_values(raw)
    for state in whole_team(raw, trace):
        joint = judge_state(raw, named(state))
        for action in state.actions:
            worth = judge._action_value(model, state.stage, joint, action.actions, memo)
            if action.pruned:
                assert action.certain is not None
                assert action.upper < action.certain
                assert worth <= memo[state.stage, joint] + tolerance
            worth -= sum(trace.constants[state.stage :])
            if action.given_up is not None:
                assert action.certain is not None
                assert worth - tolerance <= action.given_up < action.certain
            assert action.lower - tolerance <= worth <= action.upper + tolerance


def whole_team(raw: dict[str, Any], trace: SearchTrace) -> list[TracedState]:
    """The looks at all agents together."""
    return [state for state in trace.states if len(state.locals) == len(raw["agents"])]


def named(state: TracedState) -> dict[str, Any]:
    """A joint state as the package takes it."""
    return {local.agent: local.state for local in state.locals}


@given(raw=problem_dicts(), options=OPTIONS)
def test_counts_are_the_solvers(raw: dict[str, Any], options: dict[str, Any]) -> None:
    """A trace has as many states, evaluations, prunings and decouplings as the solver counts."""
    trace = traced(raw, **options)
    pruning = ("bounds", "update_bounds")  # options that crg-ps does not have
    chosen = {k: v for k, v in options.items() if options["bounds"] or k not in pruning}
    result = solve(from_file(raw), algorithm=trace.algorithm, **chosen)
    statistics = result.statistics
    assert trace.value == result.value
    assert trace.joint_states_expanded == statistics.joint_states_expanded
    assert trace.joint_actions_evaluated == statistics.joint_actions_evaluated
    assert trace.joint_actions_pruned == statistics.others["joint_actions_pruned"]
    assert trace.decouplings == statistics.others["decouplings"]


@given(raw=problem_dicts(), options=OPTIONS)
def test_a_trace_is_consistent(raw: dict[str, Any], options: dict[str, Any]) -> None:
    """States are worth their best action, outcomes add up to 1, and parents know their children."""
    tolerance = 1e-9 * scale(raw)
    trace = traced(raw, **options)
    assert all(trace.states[k].parent is None for k in trace.start.states)
    seen = list(trace.start.states)
    for position, state in enumerate(trace.states):
        assert bool(state.actions) != (state.independent or state.remembered)
        if state.best is not None:
            assert state.actions[state.best].value == state.value
        for k, action in enumerate(state.actions):
            chances = [outcome.probability for outcome in action.outcomes]
            if action.given_up is not None:
                assert 0 < sum(chances) < 1
                assert (action.pruned, action.value) == (False, None)
            elif chances:
                assert sum(chances) == pytest.approx(1)
            else:
                assert action.pruned or state.stage == trace.horizon - 1
            for outcome in action.outcomes:
                seen += outcome.states
                for child in (trace.states[each] for each in outcome.states):
                    assert (child.parent, child.parent_action) == (position, k)
                    assert child.stage == state.stage + 1
                    assert child.probability == outcome.probability
                agents = [name for each in outcome.states for name in trace.states[each].agents]
                assert sorted(agents) == sorted(state.agents)
    assert sorted(seen) == list(range(len(trace.states)))
    worth = sum(trace.states[k].value for k in trace.start.states) + sum(trace.constants)
    assert worth == pytest.approx(trace.value, rel=1e-9, abs=tolerance)


@given(raw=problem_dicts(), options=OPTIONS)
def test_everything_can_be_seen(raw: dict[str, Any], options: dict[str, Any]) -> None:
    """Text and picture show every joint state with its value, and every pruned action's reason."""
    trace = traced(raw, **options)
    text = trace.to_text()
    readable = texts(trace.to_svg())
    for state in trace.states:
        names = [f"{one_line(local.agent)}: {local_name(local)}" for local in state.locals]
        line = f"stage {state.stage} [{', '.join(names)}] is worth {number(state.value)}"
        assert line in text
        assert any(
            all(name in shown for name in whole_names(state))
            and f"worth {number(state.value)}" in shown
            for shown in readable
        )
    assert text.count("pruned: at best ") == trace.joint_actions_pruned
    given_up = sum(a.given_up is not None for state in trace.states for a in state.actions)
    assert text.count("given up: at best ") == given_up
    assert sum(shown.startswith("at best ") for shown in readable) >= trace.joint_actions_pruned
    assert len(text.splitlines()) >= len(trace.states)
    json.dumps(trace.to_dict(), allow_nan=False)


def whole_names(state: TracedState) -> list[str]:
    """What a joint state's tooltip says of the agents."""
    return [f"{one_line(local.agent)}: {one_line(local.label)}" for local in state.locals]


@pytest.mark.parametrize(
    "name",
    [
        "</text><script>alert(1)</script>",
        '"/><image href="x"/>',
        "&amp; &#x3c; <!-- ]]>",
        "bell\x07null\x00\ufffe\u202e",
        "two\nlines\ttab",
        "long " * 100,
    ],
)
def test_hostile_names_are_text(name: str) -> None:
    """Whatever things are called, the picture has the same elements and the text the same lines."""

    def search(name: str) -> SearchTrace:
        agents = [
            {
                "name": who + name,
                "initial": name,
                "transitions": {name: {name: {name: 1}, "wait": {name: 1}}},
            }
            for who in "12"
        ]
        when = {agent["name"]: {"action": name} for agent in agents}
        rewards = [{"scope": list(when), "entries": [{"when": when, "value": 3}]}]
        raw = {
            "format": "ti-mmdp/1",
            "name": name,
            "horizon": 2,
            "agents": agents,
            "rewards": rewards,
        }
        return trace_search(from_file(raw))

    plain, hostile = search("x"), search(name)
    svg = hostile.to_svg()
    assert tags(svg) == tags(plain.to_svg())
    assert "alert(1)" not in svg or "&lt;script&gt;alert(1)" in svg
    assert len(hostile.to_text().splitlines()) == len(plain.to_text().splitlines())
    assert any(one_line(name) in shown for shown in texts(svg))


def test_too_large_is_refused_early() -> None:
    """A search that is too large stops early, with advice, for many states or many actions."""
    many_states = from_file(random_mpp(4, 3, 10))
    many_actions = from_file(random_mpp(8, 3, 3))
    for problem in (many_states, many_actions):
        with (
            pytest.raises(SolverError, match=r"more than 50 joint states.*later stage.*memo"),
            ticking(1.0),
        ):
            trace_search(problem, most_states=50, time_limit=10_000)  # looks at the clock


def test_just_large_enough() -> None:
    """A trace may hold exactly as many looks as allowed."""
    size = len(paper().states)
    assert len(paper(most_states=size).states) == size
    with pytest.raises(SolverError, match="joint states"):
        paper(most_states=size - 1)


def test_options_that_make_no_sense() -> None:
    """Options and situations that cannot be honoured are errors."""
    problem = read_problem(example_path("ring_road.yaml"))
    for options in (
        {"most_states": 0},
        {"most_states": True},
        {"memo": 1},
        {"bounds": "no"},
        {"decouple": "no"},
    ):
        with pytest.raises(SolverError, match=next(iter(options))):
            trace_search(problem, **options)  # type: ignore[arg-type]
    with pytest.raises(SolverError, match="no assignment"):
        trace_search(problem, assignment="balanecd")
    with pytest.raises(ModelError, match="stage"):
        trace_search(problem, stage=1000)
    with pytest.raises(ModelError, match="expected a TIMMDP"):
        trace_search("works.yaml")  # type: ignore[arg-type]
    with pytest.raises(LimitError) as caught, ticking():
        trace_search(problem, time_limit=0.02, most_states=10**9)
    assert caught.value.reason == "time_limit"


# -- a followed sequence, and some branches -------------------------------------------------------

FOLLOWED = ("(b, b)", "(a, a) -> (ba not f, ba)")


def red(svg: str) -> int:
    """How many lines and boxes are drawn in red, without the legend's."""
    root = ElementTree.fromstring(svg)
    return sum(part.get("stroke") == "#c62828" for part in root.iter()) - 1


def test_a_followed_sequence() -> None:
    """The steps have their chances and rewards, and the picture shows the last outcomes."""
    trace = paper(follow=FOLLOWED, bounds="expected")
    assert trace.followed is not None
    assert [(s.labels, s.probability, s.reward) for s in trace.followed.steps] == [
        (("b", "b"), 1, 15),
        (("ba not f", "ba"), 0.5, 13),
    ]
    assert (trace.followed.probability, trace.followed.reward) == (0.5, 28)
    problem = read_problem(example_path("paper_example.yaml"))
    assert problem.returns(trace.followed.sequence).total == 28
    assert [(s.labels, s.reward) for s in trace.followed.last_outcomes] == [
        (("ba f", "ba"), 16),
        (("ba not f", "ba"), 13),
    ]
    text = trace.to_text()
    assert "0.5: stage 2 [agent 1: ba not f, agent 2: ba] earns 13" in text
    assert "(a, a) -> (ba not f, ba), probability 0.5: earns 13" in text
    svg = trace.to_svg()
    # Three boxes; for each of the two steps the joint action and its outcome.
    assert red(svg) == 3 + 2 * 2
    assert "the followed sequence" in texts(svg)
    assert "the best plan" not in texts(svg)
    # Without it, the best plan is red; its outcomes at the last stage are not part of a search.
    assert "the best plan" in texts(paper(bounds="expected").to_svg())
    assert trace == replace(paper(bounds="expected"), followed=trace.followed)
    steps = trace.to_dict()["followed"]["steps"]
    assert steps[1] == {
        "actions": ["a", "a"],
        "states": ["ba not f", "ba"],
        "probability": 0.5,
        "reward": 13,
    }


def test_steps_can_be_written_in_several_ways() -> None:
    """Brackets and spaces are optional, and the arrow may be a real one."""
    expected = paper(follow=FOLLOWED).followed
    assert paper(follow=("b,b", "a ,a → ba not f , ba")).followed == expected
    # A sequence may stop early, also where the agents are decoupled.
    assert len(paper(follow=FOLLOWED[:1]).to_svg()) > 0
    decoupled = paper(follow=["(b, a)"], bounds=False)
    assert red(decoupled.to_svg()) == 3 + 2


@pytest.mark.parametrize(
    ("steps", "options", "said"),
    [
        (["(b, d)"], {}, r"'\(b, d\)' is not possible at stage 0; .* '\(a, a\)', '\(a, b\)'"),
        (["(b, b)", "(a, a)"], {}, r"several outcomes at stage 1; .*'\(a, a\) -> \(ba f, ba\)'"),
        (["(b, b) -> (c, b)"], {}, "is not possible at stage 0"),
        (["(b, b)", "(a, b)"], {}, "is not possible at stage 1"),
        ([*FOLLOWED, "(c, c)"], {}, "has 3 steps; from stage 0 on only 2"),
        (["(c, a)"], {}, "pruned it; bounds=False"),
        (["(b, b)", "(c, c) -> (bc, bc)"], {}, "pruned it"),
        (["(b, a)", "(a, b) -> (ba f, ab)"], {"bounds": False}, "decoupled the agents before it"),
        ("(b, b)", {}, "at least one step"),
    ],
)
def test_sequences_that_the_search_did_not_follow(
    steps: Any, options: dict[str, Any], said: str
) -> None:
    """Steps that are impossible, ambiguous, pruned or decoupled are errors that say so."""
    with pytest.raises((ModelError, SolverError), match=said):
        paper(follow=steps, **options)


@given(raw=problem_dicts(), options=OPTIONS, data=st.data())
def test_what_is_followed_is_part_of_the_search(
    raw: dict[str, Any], options: dict[str, Any], data: st.DataObject
) -> None:
    """Any path through a recorded search can be followed, and earns the return of its sequence."""
    trace = traced(raw, **options)
    steps: list[str] = []
    outcome = trace.start
    agents = [agent["name"] for agent in raw["agents"]]
    if len(outcome.states) > 1:
        return
    indexed = trace.crgs.indexed
    state = indexed.find_state(0, None)
    while not outcome.decoupled and trace.states[outcome.states[0]].actions:
        visit = trace.states[outcome.states[0]]
        action = data.draw(st.sampled_from([a for a in visit.actions if not a.pruned]))
        after = []
        for who, now, name in zip(indexed.agents, state, action.actions, strict=True):
            possible = who.outcomes(who.choices(visit.stage, now)[name])
            after.append(data.draw(st.sampled_from([following for _, following, _ in possible])))
        state = tuple(after)
        names = [who.states.label(s) for who, s in zip(indexed.agents, state, strict=True)]
        steps.append(f"{in_brackets(action.actions)} -> {in_brackets(names)}")
        if visit.stage == trace.horizon - 1:
            break
        labels = dict(zip(agents, names, strict=True))
        outcome = next(o for o in action.outcomes if leads_to(trace.states, o, labels))
    if not steps:
        return
    followed = traced(raw, follow=steps, **options)
    assert followed.followed is not None
    sequence = followed.followed.sequence
    earned = followed.followed.reward + sum(trace.constants[: len(steps)])
    expected = trace.crgs.problem.returns(sequence).total
    assert earned == pytest.approx(expected, rel=1e-9, abs=1e-9 * scale(raw))
    part = part_of(followed)
    assert len(part.actions) == len(part.outcomes) == len(steps)
    ElementTree.fromstring(followed.to_svg())
    assert followed.to_text().count("earns") >= len(steps) + 1


def test_some_branches() -> None:
    """Only the chosen joint actions of the start are shown; the others are counted."""
    trace = paper(bounds="expected", action_order="listed", assignment=AS_IN_THE_PAPER)
    text = trace.to_text(["(b, a)", "b,b"])
    assert "7 more joint actions, not shown: 4 evaluated, 3 pruned" in text
    assert [line for line in text.splitlines() if line.startswith("  (")] == [
        line for line in trace.to_text().splitlines() if line.startswith(("  (b, a)", "  (b, b)"))
    ]
    for shown in (trace.to_text(), trace.to_text(["(b, a)"])):
        assert shown.splitlines()[:2] == text.splitlines()[:2]  # counts are of the whole search
    readable = texts(trace.to_svg(["(b, a)", "(b, b)"]))
    assert "(b, c)" not in readable
    assert "(b, b)" in readable
    assert "7 more joint actions, not shown: 4 evaluated, 3 pruned" in readable
    every = [in_brackets(action.actions) for action in trace.states[0].actions]
    assert trace.to_text(every) == trace.to_text()
    assert trace.to_svg(every) == trace.to_svg()
    # The sequence that is followed is always shown.
    followed = paper(bounds="expected", action_order="listed", follow=FOLLOWED)
    assert "(b, b)" in texts(followed.to_svg(["(b, a)"]))
    with pytest.raises(SolverError, match="no joint action 'b'"):
        trace.to_text(["b"])


@given(raw=problem_dicts(), options=OPTIONS, data=st.data())
def test_branches_are_parts_of_the_search(
    raw: dict[str, Any], options: dict[str, Any], data: st.DataObject
) -> None:
    """A part of a search has exactly the visits below the chosen joint actions."""
    trace = traced(raw, **options)
    if trace.start.decoupled or not trace.states[0].actions:
        return
    first = trace.states[0]
    names = [in_brackets(action.actions) for action in first.actions]
    chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    part = part_of(trace, chosen)
    assert len(part.hidden) == len(names) - len(chosen)

    def below(visit: int) -> int:
        above = trace.states[visit]
        while above.parent not in (0, None):
            above = trace.states[above.parent or 0]
        return above.parent_action if above.parent is not None else -1

    kept = [k for k in range(1, len(trace.states)) if names[below(k)] in chosen]
    assert len(part.states) == 1 + len(kept)
    assert [(s.stage, s.locals, s.value) for s in part.states[1:]] == [
        (s.stage, s.locals, s.value) for s in (trace.states[k] for k in kept)
    ]
    for position, state in enumerate(part.states):
        for k, action in enumerate(state.actions):
            for outcome in action.outcomes:
                for child in outcome.states:
                    at = part.states[child]
                    assert (at.parent, at.parent_action) == (position, k)
    if first.best is not None and names[first.best] in chosen:
        best = part.states[0].best
        assert best is not None
        assert part.states[0].actions[best].actions == first.actions[first.best].actions


def test_graphs_below_the_search() -> None:
    """The picture can have the graphs that the search ran on, with the same sequence."""
    trace = paper(bounds="expected", assignment=AS_IN_THE_PAPER, follow=FOLLOWED)
    assert trace.followed is not None
    whole = trace.to_svg(graphs=True)
    root = ElementTree.fromstring(whole)
    upper, lower = root.findall(f"{SVG}svg")
    crgs = trace.crgs.draw(rewards=True, bounds=True, sequence=trace.followed.sequence).svg
    assert texts(ElementTree.tostring(lower, encoding="unicode")) == texts(crgs)
    assert texts(ElementTree.tostring(upper, encoding="unicode")) == texts(trace.to_svg())
    assert float(lower.get("y") or 0) == float(upper.get("height") or 0)
    assert float(root.get("height") or 0) == float(lower.get("y") or 0) + float(
        lower.get("height") or 0
    )


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run the command line: exit code, output, errors."""
    with pytest.raises(SystemExit) as caught:
        cli.main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return int(caught.value.code or 0), printed.out, printed.err


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The paper's example, in a folder of its own."""
    path = tmp_path / "paper.yaml"
    path.write_text(example_path("paper_example.yaml").read_text(encoding="utf-8"))
    return path


def test_command_prints_the_tree(capsys: pytest.CaptureFixture[str], example: Path) -> None:
    """Without -o the tree is printed."""
    assert run(capsys, "trace", example) == (0, paper().to_text(), "")


def test_command_takes_a_situation(capsys: pytest.CaptureFixture[str], example: Path) -> None:
    """Stage, state, assignment and the switches reach the search."""
    state = example.with_name("now.yaml")
    state.write_text("agent 1: b\nagent 2: b\n")
    situation = ("--stage", 1, "--state", state, "--assign", "2=agent 2")
    code, out, _ = run(capsys, "trace", example, *situation, "--bounds", "expected")
    assert code == 0
    assert "(a, a): bounds [14.5, 14.5] (CRGs alone: [13, 16]), worth 14.5 (best)" in out
    assert "(a, c): bounds [12.5, 12.5], pruned: at best 12.5, 14.5 is certain" in out
    code, out, _ = run(capsys, "trace", example, *situation)
    assert code == 0
    assert "(a, c): bounds [12.5, 12.5] (CRGs alone: [11, 13]), pruned: at best 12.5" in out
    code, out, _ = run(capsys, "trace", example, "--no-bounds", "--memo", "--no-merge", "--json")
    assert code == 0
    assert json.loads(out) == paper(bounds=False, memo=True, merge=False).to_dict()
    readings = ("--decouple", "search", "--action-order", "listed", "--rewards", "checked")
    code, out, _ = run(capsys, "trace", example, *readings, "--independent-actions", "--json")
    assert code == 0
    expected = paper(decouple="search", action_order="listed", independent_actions=True)
    assert json.loads(out) == expected.to_dict()


def test_command_draws(capsys: pytest.CaptureFixture[str], example: Path) -> None:
    """With -o the picture is written."""
    target = example.with_name("search.svg")
    code, out, _ = run(capsys, "trace", example, "-o", target)
    assert (code, str(target) in out) == (0, True)
    assert target.read_text(encoding="utf-8") == paper().to_svg()
    steps = [word for step in FOLLOWED for word in ("--follow", step)]
    code, _, _ = run(
        capsys, "trace", example, *steps, "--branch", "(b, c)", "--graphs", "-o", target
    )
    assert code == 0
    expected = paper(follow=FOLLOWED).to_svg(["(b, c)"], graphs=True)
    assert target.read_text(encoding="utf-8") == expected
    code, out, _ = run(capsys, "trace", example, *steps, "--branch", "(b, c)")
    assert (code, out) == (0, paper(follow=FOLLOWED).to_text(["(b, c)"]))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["-o", "paper.yaml"], "the picture would overwrite"),
        (["-o", "nowhere/search.svg"], "does not exist"),
        (["--assignment", "balanecd"], "did you mean 'balanced'"),
        (["--assign", "x=agent 1"], "unknown reward function, 'x'"),
        (["--assign", "2="], "FUNCTION=AGENT"),
        (["--assign", "balanced", "--assign", "2=agent 2"], "FUNCTION=AGENT"),
        (["--no-bounds", "--bounds", "returns"], "use either"),
        (["--assignment", "2=agent 3"], "no agent 'agent 3'"),
        (["--most-states", "3"], "more than 3 joint states"),
        (["--stage", "9"], "--stage 9 needs --state FILE"),
        (["--graphs"], "add -o FILE"),
        (["--json", "--branch", "(b, b)"], "leave out --branch"),
        (["--branch", "(b, d)"], "no joint action '(b, d)'"),
        (["--branch", "(b, d)", "-o", "search.svg"], "no joint action '(b, d)'"),
        (["--follow", "(b, d)"], "'(b, d)' is not possible at stage 0"),
    ],
)
def test_command_refuses(
    capsys: pytest.CaptureFixture[str],
    example: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    expected: str,
) -> None:
    """What cannot be done ends with code 2 and a reason, and the problem file stays as it is."""
    monkeypatch.chdir(example.parent)
    before = example.read_text()
    code, out, err = run(capsys, "trace", "paper.yaml", *options)
    assert (code, out) == (2, "")
    assert expected in " ".join(err.split())
    assert example.read_text() == before
