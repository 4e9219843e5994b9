"""The page about the paper's examples: every number of its tables is what the program computes."""

from __future__ import annotations

import re
import shlex
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from coreplan import cli, read_problem, solve
from coreplan.analysis.trace import SearchTrace, TracedAction, trace_search
from coreplan.cli import example_path
from coreplan.solving import ConditionalReturnGraphs, build_crgs
from coreplan.view.crg_content import Content, Panel, Transition, make_moves
from coreplan.view.crg_labels import Label, Labels
from coreplan.view.crg_sequence import taken_arcs
from coreplan.view.trace_text import interval, number, reason
from docs_pages import ROOT, commands, tables

PAGE = ROOT / "docs" / "worked-example.md"
SVG = "{http://www.w3.org/2000/svg}"
FOLLOWED = ("(b, b)", "(a, a) -> (ba not f, ba)")
"""The steps of the sequence that the paper highlights."""


def figure_1() -> ConditionalReturnGraphs:
    """The graphs of the first figure."""
    problem = read_problem(example_path("paper_figure_1.yaml"))
    return build_crgs(problem, assignment={2: "agent 1"})


def figure_2() -> ConditionalReturnGraphs:
    """The graphs of the second figure."""
    problem = read_problem(example_path("paper_example.yaml"))
    return build_crgs(problem, assignment={2: "agent 2"}, influence="features", merge=True)


def figure_3(**options: Any) -> SearchTrace:
    """The search of the third figure."""
    problem = read_problem(example_path("paper_example.yaml"))
    chosen = {"bounds": "expected", "action_order": "listed", **options}
    return trace_search(problem, assignment={2: "agent 2"}, **chosen)


def panel(
    crgs: ConditionalReturnGraphs, agent: int, taken: Any = None, *, naive: bool = False
) -> Panel:
    """The content of an agent's graph."""
    labels = Labels(crgs, make_moves(crgs))
    arcs = None if taken is None else taken_arcs(crgs, labels, taken)
    content = Content(crgs, labels, agent, arcs)
    return content.panel(0, crgs.indexed.horizon, naive=naive)


def text(label: Label) -> str:
    """A label as it can be read."""
    return " ".join(label.lines) + label.who + label.after


def below(way: Transition, parent: str) -> str:
    """The labels of the arcs below the arc with a label."""
    (above,) = [k for k, node in enumerate(way.nodes) if text(node.label) == parent]
    # By name: the order of influence arcs says nothing.
    return ", ".join(sorted(text(node.label) for node in way.nodes if node.parent == above))


def from_state(shown: Panel, stage: int, name: str) -> list[Transition]:
    """The transitions from a state."""
    (at,) = [k for k, s in enumerate(shown.columns[stage]) if ", ".join(s.label.lines) == name]
    return [way for way in shown.stages[stage] if way.source == at]


def test_figure_1() -> None:
    """The table of the first figure."""
    crgs = figure_1()
    crg = crgs["agent 1"]
    (naive,) = panel(crgs, 0, naive=True).stages[0]
    (way,) = panel(crgs, 0).stages[0]
    rewards = sorted({float(leaf.reward) for leaf in naive.leaves})
    assert rewards == sorted({float(leaf.reward) for leaf in way.leaves})
    by_kind: dict[str, list[str]] = {}
    for node in way.nodes:
        kind = "influence" if "influence" in node.arc else "action"
        by_kind.setdefault(kind, []).append(text(node.label))
    drawn = ET.fromstring(crg.draw().svg)
    shapes = [each.get("class", "").split()[0] for each in drawn.iter() if each.get("class")]
    assert tables(PAGE)[0] == {
        '"six possible transitions"': number(crg.naive_sizes[0].reward_arcs),
        '"only three unique rewards"': f"{len(rewards)}: {', '.join(map(number, rewards))}",
        "transitions in the CRG": number(crg.sizes[0].reward_arcs),
        "action arcs a¹, a², ∗²": ", ".join(by_kind["action"]),
        "influence arcs (s₄² → s₄²), (s₄² → s₆²), ◇²": ", ".join(by_kind["influence"]),
        "circles, dots and triangles of the CRG": ", ".join(
            str(shapes.count(shape)) for shape in ("state", "dot", "triangle")
        ),
    }


def test_figure_2() -> None:
    """The table of the second figure."""
    crgs = figure_2()
    one, two = panel(crgs, 0), panel(crgs, 1)
    first = from_state(two, 0, "start")
    (tree,) = [way for way in first if way.nodes]
    assert not any(way.nodes for stage in one.stages for way in stage)
    branches = [{text(way.label) for way in from_state(two, 1, state)} for state in ("c", "c'")]
    assert branches[0] == branches[1]
    green = [
        f"s_{names[0][0]}{'¹²'[agent]}"
        for agent, shown in enumerate((one, two))
        for names in [state.label.lines for state in shown.columns[1] if state.independent]
    ]
    assert tables(PAGE)[1] == {
        "transitions of CRG¹ from s₀¹": ", ".join(text(way.label) for way in one.stages[0]),
        "single transitions of CRG² from s₀²": ", ".join(
            text(way.label) for way in first if not way.nodes
        ),
        "action arcs below a²": below(tree, "a²"),
        "influence arcs below a¹": below(tree, "a¹"),
        "influence arcs below ∗¹": below(tree, "∗¹"),
        "locally independent states at stage 1": ", ".join(green),
        "actions kept in s_a¹": ", ".join(
            text(way.label) for way in from_state(one, 1, "a f, a not f")
        ),
        "branches from s_c² and s_c'² (left out)": ", ".join(sorted(branches[0])),
    }


def action(trace: SearchTrace, state: int, *names: str) -> TracedAction:
    """One joint action of a visit."""
    return next(each for each in trace.states[state].actions if each.actions == names)


def results(trace: SearchTrace) -> set[tuple[tuple[str, str], ...]]:
    """The different joint states after the first joint actions."""
    return {
        tuple(
            sorted((local.agent, local.label) for k in outcome.states for local in states[k].locals)
        )
        for states in [trace.states]
        for each in trace.states[0].actions
        for outcome in each.outcomes
    }


def red_arcs(crgs: ConditionalReturnGraphs, sequence: Any) -> tuple[list[str], float]:
    """The labels that a sequence takes in the graph of agent 2, and the reward at its end."""
    found = []
    reward = ""
    for stage in panel(crgs, 1, sequence).stages:
        (way,) = [each for each in stage if each.taken]
        found += [text(node.label) for node in way.nodes if node.taken] or [text(way.label)]
        reward = next((leaf.reward for leaf in way.leaves if leaf.taken), way.reward)
    return found, float(reward)


def test_figure_3() -> None:
    """The table of the third figure."""
    problem = read_problem(example_path("paper_example.yaml"))
    crgs = figure_2()
    everything = figure_3(bounds=False)
    trace = figure_3(follow=FOLLOWED)
    assert trace.followed is not None
    both_b = action(trace, 0, "b", "b").outcomes[0].states[0]
    both, pruned = action(trace, both_b, "a", "a"), action(trace, both_b, "a", "c")
    first, second = (
        f"({', '.join(step.actions)}) → ({', '.join(step.labels)})" for step in trace.followed.steps
    )
    other = figure_3(bounds=False, follow=("(b, b)", "(c, a)")).followed
    assert other is not None
    without, reward = red_arcs(crgs, other.sequence)
    (apart,) = action(trace, 0, "b", "a").outcomes
    assert apart.decoupled
    alone = [trace.states[k] for k in apart.states]
    policy = solve(problem, stage=1, state={"agent 1": "b", "agent 2": "a"}).policy
    assert policy is not None
    best = policy.act(1, {"agent 1": "b", "agent 2": "a"})
    assert tables(PAGE)[2] == {
        "joint actions at t = 0": str(len(everything.states[0].actions)),
        "result states at t = 0": str(len(results(everything))),
        '"3 + 4 states"': " + ".join(number(crg.sizes[1].states) for crg in crgs.agents),
        '"3 + 6 transitions"': " + ".join(number(c.sizes[0].reward_arcs) for c in crgs.agents),
        "bounds of {a¹, a²} at s_{b,b}": interval(both.graph_lower, both.graph_upper),
        "bounds of {a¹, c²} at s_{b,b}": interval(pruned.graph_lower, pruned.graph_upper),
        "{a¹, c²} at s_{b,b}": f"pruned: {reason(pruned)}" if pruned.pruned else "explored",
        "first step of the sequence": first,
        "second step of the sequence": second,
        "its arcs in CRG²": ", ".join(red_arcs(crgs, trace.followed.sequence)[0]),
        "arcs in CRG² with c¹ instead, and reward": f"{', '.join(without[-2:])}: {number(reward)}",
        "after {b¹, a²}": "decoupled: "
        + ", ".join(f"{each.locals[0].label} is worth {number(each.value)}" for each in alone),
        "π₁*(s_b¹) and π₂*(s_a²)": f"{best['agent 1']}¹, {best['agent 2']}²",
    }
    assert without[:2] == ["b²", "a²"]


def test_values_that_the_page_mentions() -> None:
    """The values of the first joint actions, and the bounds, are those in the page's text."""
    trace = figure_3()
    assert trace.value == 29.5
    values = {"".join(each.actions): each.value for each in trace.states[0].actions}
    assert (values["bb"], values["ba"], values["aa"]) == (29.5, 25, 24.5)
    both_b = action(trace, 0, "b", "b").outcomes[0].states[0]
    both = action(trace, both_b, "a", "a")
    assert (both.lower, both.upper) == (14.5, 14.5)
    by_returns = figure_3(bounds="returns")
    at = action(by_returns, 0, "b", "b").outcomes[0].states[0]
    pruned = action(by_returns, at, "a", "c")
    assert (pruned.graph_lower, pruned.graph_upper) == (11, 13)
    unmerged = build_crgs(read_problem(example_path("paper_example.yaml")))
    assert [crg.sizes[1].states for crg in unmerged.agents] == [4, 4]


@pytest.mark.parametrize("bounds", ["returns", "expected"])
def test_both_b_is_explored_in_every_order(bounds: str) -> None:
    """(b, b) is never pruned; (b, a) is pruned if the most promising joint action comes first."""
    for order, ba_pruned in (("listed", False), ("promising", True)):
        trace = figure_3(bounds=bounds, action_order=order)
        assert not action(trace, 0, "b", "b").pruned
        assert action(trace, 0, "b", "a").pruned == ba_pruned
        both_b = action(trace, 0, "b", "b").outcomes[0].states[0]
        assert action(trace, both_b, "a", "c").pruned


def test_pictures_are_drawn_by_the_commands_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each picture of the page is the output of the command above it."""
    shown = re.findall(r"images/(paper-figure-\d\.svg)", PAGE.read_text(encoding="utf-8"))
    drawing = [each for each in commands(PAGE) if " -o " in each]
    assert len(shown) == len(drawing) == 3
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    for picture, command in zip(shown, drawing, strict=True):
        assert command.endswith(f"-o {picture}")
        with pytest.raises(SystemExit) as ended:
            cli.main(shlex.split(command)[1:])
        assert ended.value.code == 0
        committed = (ROOT / "docs" / "images" / picture).read_text(encoding="utf-8")
        assert (tmp_path / picture).read_text(encoding="utf-8") == committed
