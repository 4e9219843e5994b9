"""Pictures of conditional return graphs: they show what is there, and names are only text."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coreplan import (
    TIMMDP,
    Agent,
    Condition,
    Entry,
    ModelError,
    RewardFunction,
    SolverError,
    cli,
    read_problem,
    write_problem,
)
from coreplan.analysis import ExecutionSequence
from coreplan.cli import example_path
from coreplan.solving import ConditionalReturnGraphs, CrgSize, build_crgs
from coreplan.view.crg_content import Content, Panel, make_moves
from coreplan.view.crg_labels import Labels, number
from coreplan.view.crg_layout import Placed, lay_out
from coreplan.view.crg_sequence import taken_arcs
from coreplan.view.crg_svg import MOST_ELEMENTS, draw_crgs, sizes_between
from helpers import from_file, random_mpp, scale
from strategies import problem_dicts

SVG = "{http://www.w3.org/2000/svg}"
ARCS = ("own", "action", "wildcard", "influence", "no-influence", "reward", "plain")


def paper_example(**options: Any) -> ConditionalReturnGraphs:
    """The CRGs of the paper's example, with the interaction assigned to agent 2."""
    problem = read_problem(example_path("paper_example.yaml"))
    return build_crgs(problem, assignment=lambda name, agents: "agent 2", **options)


def graphs(svg: str, kind: str = "compact") -> list[ET.Element]:
    """The graphs of one kind in a picture."""
    root = ET.fromstring(svg)
    return [each for each in root.iter(f"{SVG}g") if each.get("class") == f"graph {kind}"]


def drawn(graph: ET.Element) -> Counter[str]:
    """How often each class of shapes is drawn; arcs by their kind."""
    found: Counter[str] = Counter()
    for each in graph.iter():
        words = (each.get("class") or "").split()
        if each.tag == f"{SVG}path" and words[:1] == ["arc"]:
            found[words[1]] += 1
        elif each.tag in (f"{SVG}rect", f"{SVG}circle", f"{SVG}polygon"):
            found.update(words)
    return found


def texts(graph: ET.Element, kind: str) -> list[str]:
    """The texts of one class that are shown, without titles."""
    found = []
    for each in graph.iter(f"{SVG}text"):
        if kind in (each.get("class") or "").split():
            title = each.find(f"{SVG}title")
            every = "".join(each.itertext())
            found.append(every.removeprefix(title.text or "") if title is not None else every)
    return found


def check_counts(graph: ET.Element, size: CrgSize) -> None:
    """Compare what is drawn with the numbers that the CRG has of itself.

    A plain arc stands for the arc of the own action, its root and the reward arc.
    """
    count = drawn(graph)
    plain = count["plain"]
    assert count["state"] == size.states
    assert count["own"] + count["action"] == size.action_arcs - plain
    assert count["wildcard"] == size.wildcard_arcs
    assert count["influence"] == size.influence_arcs
    assert count["no-influence"] == size.no_influence_arcs
    assert count["reward"] == size.reward_arcs - plain
    assert count["dot"] + count["triangle"] == size.action_nodes - plain + size.influence_nodes


# -- counts ---------------------------------------------------------------------------------------


@given(
    raw=problem_dicts(),
    options=st.sampled_from(
        [
            {},
            {"influence": "features"},
            {"influence": "features", "merge": True},
            {"definition": "literal"},
            {"definition": "literal", "influence": "features"},
            {"neutral": "largest", "assignment": "highest-degree"},
            {"share": True},
            {"influence": "features", "merge": True, "share": True},
        ]
    ),
    naive=st.booleans(),
    data=st.data(),
)
def test_everything_is_drawn_once(
    raw: dict[str, Any], options: dict[str, Any], naive: bool, data: st.DataObject
) -> None:
    """Any graph is drawn as well-formed XML with exactly its states, nodes and arcs."""
    crgs = build_crgs(from_file(raw), **options)
    first = data.draw(st.integers(0, raw["horizon"] - 1))
    last = data.draw(st.integers(first + 1, raw["horizon"]))
    for crg in crgs.agents:
        size = sizes_between(crg.sizes, 0, first, last)
        all_apart = sizes_between(crg.naive_sizes, 0, first, last)
        shown = [size, all_apart] if naive else [size]
        if sum(each.nodes + each.arcs for each in shown) > MOST_ELEMENTS:
            with pytest.raises(SolverError, match="choose fewer"):
                crg.draw((first, last), naive=naive)
            continue
        svg = crg.draw((first, last), rewards=True, bounds=True, naive=naive).svg
        (compact,) = graphs(svg)
        check_counts(compact, size)
        if naive:
            (whole,) = graphs(svg, "naive")
            check_counts(whole, all_apart)


def test_paper_example_has_the_papers_shapes() -> None:
    """At stage 1 there are 4 + 4 states; a of agent 2 has a tree with f, not f and no influence."""
    one, two = graphs(paper_example().draw(stages=(0, 1)).svg)
    assert drawn(one) == Counter(state=5, independent=2, plain=4)
    assert drawn(two) == Counter(
        {
            "state": 5,
            "independent": 1,
            "plain": 3,  # b, c and c'
            "own": 1,
            "action": 1,
            "wildcard": 1,
            "influence": 2,
            "no-influence": 1,
            "reward": 3,
            "triangle": 2,
            "dot": 4,
        }
    )
    assert texts(two, "own-label") == ["a²", "b²", "c² (0.75)", "c² (0.25)"]
    assert texts(two, "other-label") == ["a¹", "∗¹", "start → a f¹", "start → a not f¹", "◇¹"]
    assert texts(two, "state-label") == ["start", "a", "b", "c", "c'"]


def test_merged_paper_example_has_three_states() -> None:
    """Merged by features, agent 1 has 3 states at stage 1, and arcs say what conditions see."""
    one, two = graphs(paper_example(influence="features", merge=True).draw(stages=0).svg)
    assert drawn(one) == Counter(state=4, independent=1, plain=3)
    assert texts(one, "state-label") == ["start", "a f, a not f", "b", "c"]
    assert texts(one, "own-label") == ["a¹", "b¹", "c¹"]
    assert set(texts(two, "other-label")) == {"a¹", "∗¹", "→ f¹", "→ ¬f¹", "◇¹"}


def test_only_kept_arcs_leave_independent_states() -> None:
    """From the green state a of agent 1 only its best action c is drawn, as in the paper."""
    (one,) = graphs(paper_example()["agent 1"].draw(1).svg)
    # a f and a not f: c; b: a twice and c; c: a twice and b.
    assert sorted(texts(one, "own-label")) == ["a¹ (0.5)"] * 4 + ["b¹"] + ["c¹"] * 3


def test_naive_beside_compact() -> None:
    """The naive graph has all actions and pairs of states, six more than the CRG's leaves."""
    svg = paper_example()["agent 2"].draw(0, naive=True, rewards=True).svg
    (whole,) = graphs(svg, "naive")
    (compact,) = graphs(svg)
    assert drawn(whole)["reward"] == 4 * 4
    assert drawn(whole)["wildcard"] == drawn(whole)["plain"] == drawn(whole)["independent"] == 0
    assert sorted(set(texts(whole, "reward-label"))) == sorted(set(texts(compact, "reward-label")))


def test_naive_rewards_do_not_follow_the_printed_definition() -> None:
    """Beside a literal graph that loses a reward, the naive one still shows it."""
    agents = [Agent(name, "s", {"s": {"a": {"s": 1}, "b": {"s": 1}}}) for name in ("one", "two")]
    entries = tuple(
        Entry({"one": Condition(action="a"), "two": Condition(action=each)}, 5) for each in "ab"
    )
    problem = TIMMDP(tuple(agents), (RewardFunction(("one", "two"), entries),), horizon=1)
    crgs = build_crgs(
        problem, definition="literal", assignment=lambda name, agents: "one", neutral="zero"
    )
    svg = crgs["one"].draw(naive=True, rewards=True).svg
    assert texts(graphs(svg, "naive")[0], "reward-label") == ["5", "5", "0", "0"]
    assert set(texts(graphs(svg)[0], "reward-label")) == {"0"}


# -- numbers --------------------------------------------------------------------------------------


def test_rewards_and_bounds_are_those_of_the_graphs() -> None:
    """Rewards at arcs and [L, U] at states are what the API says."""
    crgs = paper_example()
    one, two = graphs(crgs.draw(stages=(0, 1), rewards=True, bounds=True).svg)
    # Own reward 4 and 6 or 3 for both doing a; then b, c and c'.
    assert texts(two, "reward-label") == ["10", "7", "4", "7", "7", "5"]
    assert texts(one, "reward-label") == ["6", "6", "8", "3"]
    for graph, crg in ((one, crgs["agent 1"]), (two, crgs["agent 2"])):
        states = texts(graph, "state-label")
        assert texts(graph, "bounds") == [
            "[{}, {}]".format(*map(number, crg.bounds(int(k > 0), None if k == 0 else state)))
            for k, state in enumerate(states)
        ]
    plain = crgs.draw(stages=(0, 1)).svg
    assert not any(texts(g, kind) for g in graphs(plain) for kind in ("reward-label", "bounds"))


@given(raw=problem_dicts())
def test_rewards_reach_the_bounds(raw: dict[str, Any]) -> None:
    """At the last stage U of every state is its largest reward shown and L the smallest."""
    crgs = build_crgs(from_file(raw))
    last = crgs.indexed.horizon
    labels = Labels(crgs, make_moves(crgs))
    for crg in crgs.agents:
        panel = Content(crgs, labels, crg.position).panel(last - 1, last)
        for k, state in enumerate(panel.columns[0]):
            shown = [
                float(reward)
                for tree in panel.stages[0]
                if tree.source == k
                for reward in ([leaf.reward for leaf in tree.leaves] or [tree.reward])
            ]
            assert state.bounds == f"[{number(min(shown))}, {number(max(shown))}]"


def test_the_legend_says_what_bounds_are_about() -> None:
    """The picture says whether [L, U] are about returns or about expected returns."""
    for bounds, words in (("returns", "largest return"), ("expected", "largest expected return")):
        assert words in paper_example(bounds=bounds).draw(bounds=True).svg


# -- a highlighted sequence -----------------------------------------------------------------------

BOTH_B_THEN_A = ExecutionSequence(
    (
        {"agent 1": "start", "agent 2": "start"},
        {"agent 1": "b", "agent 2": "b"},
        {"agent 1": "ba not f", "agent 2": "ba"},
    ),
    ({"agent 1": "b", "agent 2": "b"}, {"agent 1": "a", "agent 2": "a"}),
)
"""The sequence that the paper highlights."""


def taken(graph: ET.Element) -> list[str]:
    """The kinds of the highlighted arcs of a graph."""
    kinds = ((each.get("class") or "").split() for each in graph.iter(f"{SVG}path"))
    return sorted(words[1] for words in kinds if words[:1] == ["arc"] and words[-1] == "taken")


@pytest.mark.parametrize("merge", [True, False])
def test_a_sequence_is_highlighted(merge: bool) -> None:
    """In both graphs the arcs and states of the sequence are marked, and no others."""
    crgs = paper_example(influence="features" if merge else "pairs", merge=merge)
    one, two = graphs(crgs.draw(sequence=BOTH_B_THEN_A).svg)
    assert taken(one) == ["plain", "plain"]
    # b, and the tree of a: a¹, then f becomes false.
    assert taken(two) == ["action", "influence", "own", "plain", "reward"]
    assert drawn(one)["taken"] == drawn(two)["taken"] == 3  # states
    assert "the followed sequence" in crgs.draw(sequence=BOTH_B_THEN_A).svg
    assert not any(taken(graph) for graph in graphs(crgs.draw().svg))


def test_the_other_branch_without_an_interaction() -> None:
    """If agent 1 takes c instead, the sequence goes through the wildcard and ◇, as in the paper."""
    states = (*BOTH_B_THEN_A.states[:2], {"agent 1": "bc", "agent 2": "ba"})
    actions = (BOTH_B_THEN_A.actions[0], {"agent 1": "c", "agent 2": "a"})
    crgs = paper_example(influence="features", merge=True)
    _, two = graphs(crgs.draw(sequence=ExecutionSequence(states, actions)).svg)
    assert taken(two) == ["no-influence", "own", "plain", "reward", "wildcard"]


def test_impossible_sequences_are_refused() -> None:
    """A sequence has to be possible, and must not begin before the graphs."""
    crgs = paper_example()
    wrong = ExecutionSequence(BOTH_B_THEN_A.states[:2], ({"agent 1": "a", "agent 2": "b"},))
    with pytest.raises(ModelError, match="cannot get from 'start' to 'b'"):
        crgs.draw(sequence=wrong)
    later = build_crgs(crgs.problem, stage=1, state={"agent 1": "b", "agent 2": "b"})
    with pytest.raises(SolverError, match="begins at stage 0"):
        later.draw(sequence=BOTH_B_THEN_A)


@given(raw=problem_dicts(), merge=st.booleans(), data=st.data())
def test_highlighted_rewards_add_up_to_the_return(
    raw: dict[str, Any], merge: bool, data: st.DataObject
) -> None:
    """The rewards on the highlighted arcs of all agents are the return of the sequence (Eq. 3)."""
    crgs = build_crgs(from_file(raw), influence="features" if merge else "pairs", merge=merge)
    sequence = kept_sequence(crgs, data)
    labels = Labels(crgs, make_moves(crgs))
    arcs = taken_arcs(crgs, labels, sequence)
    total = sum(crgs.graphs.constant_at(stage) for stage in range(crgs.indexed.horizon))
    for agent in range(len(crgs.agents)):
        panel = Content(crgs, labels, agent, arcs).panel(0, crgs.indexed.horizon)
        for stage, column in zip(panel.stages, panel.columns, strict=False):
            (way,) = [each for each in stage if each.taken]
            assert column[way.source].taken
            ends = [leaf.reward for leaf in way.leaves if leaf.taken] or [way.reward]
            (reward,) = ends
            total += float(reward)
    expected = crgs.problem.returns(sequence).total
    assert total == pytest.approx(expected, rel=1e-4, abs=1e-4 * scale(raw))


def kept_sequence(crgs: ConditionalReturnGraphs, data: st.DataObject) -> ExecutionSequence:
    """A sequence of arcs that the graphs keep: the best action of a locally independent agent."""
    indexed = crgs.indexed
    state = indexed.find_state(0, None)
    states, actions = [state], []
    for stage in range(indexed.horizon):
        joint, after = {}, []
        for agent, who in enumerate(indexed.agents):
            choices = who.choices(stage, state[agent])
            name = data.draw(st.sampled_from(sorted(choices)))
            given = who.states.value(state[agent])
            if crgs.agents[agent].is_independent(stage, given):
                node = crgs.node(agent, stage, given)
                first = int(crgs.graphs.choice_begin(agent)[node])
                kept = first + int(crgs.core.local_choice(agent)[node])
                base = int(crgs.graphs.choice_base(agent)[kept])
                name = who.actions[who.choice_action[base]]
            joint[who.name] = name
            possible = [following for _, following, _ in who.outcomes(choices[name])]
            after.append(data.draw(st.sampled_from(possible)))
        actions.append(joint)
        state = tuple(after)
        states.append(state)
    return ExecutionSequence(tuple(map(indexed.name_state, states)), tuple(actions))


# -- places ---------------------------------------------------------------------------------------


def placed_panels(crgs: ConditionalReturnGraphs) -> list[tuple[Panel, Placed]]:
    """All graphs with places."""
    labels = Labels(crgs, make_moves(crgs))
    start, end = crgs.indexed.stage, crgs.indexed.horizon
    panels = [Content(crgs, labels, i).panel(start, end) for i in range(len(crgs.agents))]
    return [(panel, lay_out(panel, rewards=True, bounds=True)) for panel in panels]


@given(raw=problem_dicts(), merge=st.booleans())
def test_nothing_lies_on_anything_else(raw: dict[str, Any], merge: bool) -> None:
    """No two states overlap, no two labels of arcs overlap, and all lie within the picture."""
    crgs = build_crgs(from_file(raw), influence="features", merge=merge)
    if crgs.size.nodes + crgs.size.arcs > 600:
        return
    for _, placed in placed_panels(crgs):
        boxes = [
            (s.x - s.width / 2, s.y - s.height / 2, s.x + s.width / 2, s.y + s.height / 2)
            for s in placed.states
        ]
        for label in placed.labels:
            width = getattr(label.text, "width", 10.0)
            left = label.x - width if label.end else label.x
            boxes.append((left, label.y - 10, left + width, label.y + 2))
        for k, (a, b, c, d) in enumerate(boxes):
            assert (
                a >= -0.01 and b >= -14 and c <= placed.width + 0.01 and d <= placed.height + 0.01
            )
            for e, f, g, h in boxes[:k]:
                assert c <= e + 0.01 or g <= a + 0.01 or d <= f + 0.01 or h <= b + 0.01


# -- names ----------------------------------------------------------------------------------------

HOSTILE = [
    "<script>alert(1)</script>",
    "\"'&amp;]]>",
    "x" * 10_000,
    "שלום עולם",
    "\u202edlrow olleh",
    "nul\x00, bell\x07, \ud800 and \ufffe",
    "line\nbreak",
    "</text><a xlink:href='javascript:x'>",
    "日本語",
    " ",
]


def hostile(name: str) -> TIMMDP:
    """Two agents in which everything has this name."""
    other = name + "!"
    laws: dict[str, dict[str, dict[str, float]]]
    laws = {name: {name: {name: 0.5, other: 0.5}, other: {name: 1}}, other: {name: {other: 1}}}
    agents = (
        Agent(name, name, laws, {name: {name: name}, other: {name: other}}),
        Agent(other, name, laws),
    )
    both = {name: Condition(action=name, next={name: name}), other: Condition(action=name)}
    return TIMMDP(agents, (RewardFunction((name, other), (Entry(both, 5),)),), horizon=2, name=name)


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("influence", ["pairs", "features"])
def test_names_are_only_text(name: str, influence: str) -> None:
    """Whatever names hold, the picture is well-formed and has no element or attribute from them."""
    crgs = build_crgs(
        hostile(name), influence=influence, assignment=lambda function, agents: agents[1]
    )
    svg = crgs.draw(rewards=True, bounds=True, naive=True).svg
    svg.encode("utf-8")
    root = ET.fromstring(svg)
    shapes = {"path", "rect", "circle", "polygon", "marker"}
    allowed = {"svg", "title", "style", "defs", "g", "text", "tspan", *shapes}
    assert {each.tag.removeprefix(SVG) for each in root.iter()} <= allowed
    attributes = {key for each in root.iter() for key in each.attrib}
    assert not any(key.startswith("on") or "href" in key for key in attributes)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", svg)
    values = {each.get("class") for each in root.iter()} | {each.get("id") for each in root.iter()}
    assert not any(value and name.strip() and name in value for value in values)


def test_long_names_are_cut_and_told_in_full() -> None:
    """Of a name of 10,000 characters the beginning is shown and all of it is in a title."""
    name = "x" * 10_000
    root = ET.fromstring(build_crgs(hostile(name)).draw(stages=0).svg)
    titles = {each.text for text in root.iter(f"{SVG}text") for each in text.iter(f"{SVG}title")}
    assert name in titles
    for graph in graphs(ET.tostring(root, encoding="unicode")):
        for kind in ("heading", "own-label", "other-label", "state-label"):
            assert all(len(text) < 130 for text in texts(graph, kind))
    assert float(root.get("width") or 0) < 4000


def test_right_to_left_names_stay_in_their_place() -> None:
    """A name that runs from right to left is set off from the arrow and the superscript."""
    (graph, _) = graphs(build_crgs(hostile("שלום")).draw(stages=0).svg)
    assert "\u2068שלום\u2069¹ (0.5)" in texts(graph, "own-label")


# -- what is refused ------------------------------------------------------------------------------


def test_too_large_a_picture_is_refused() -> None:
    """More than can be looked at is refused, with a choice of agent and stages that works."""
    crgs = build_crgs(from_file(random_mpp(3, 3, 8)), influence="features", merge=True)
    with pytest.raises(SolverError, match=f"more than {MOST_ELEMENTS:,}; choose fewer") as refused:
        crgs.draw()
    hint = re.search(r"of agent '(.*)' the stages (\d+):(\d+)", str(refused.value))
    assert hint is not None
    crgs[hint[1]].draw((int(hint[2]), int(hint[3])))
    with pytest.raises(SolverError):
        crgs[hint[1]].draw((int(hint[2]), int(hint[3]) + 1))


@pytest.mark.parametrize("stages", [(2, 2), (0, 3), (-1, 1), 2, "0:2", (0.5, 1), (0, 1, 2), True])
def test_stages_that_make_no_sense(stages: Any) -> None:
    """Stages have to be a range within the horizon."""
    with pytest.raises(SolverError, match="0 <= first < last <= 2"):
        paper_example().draw(stages=stages)


def test_agents_are_chosen_by_name() -> None:
    """Each named agent is drawn once, in the order given."""
    crgs = paper_example()
    shown = graphs(crgs.draw(["agent 2", "agent 1", "agent 2"]).svg)
    assert [texts(graph, "heading") for graph in shown] == [
        ["CRG of agent 2²"],
        ["CRG of agent 1¹"],
    ]
    assert crgs.draw("agent 2").svg == crgs["agent 2"].draw().svg
    with pytest.raises(SolverError, match="no agent"):
        crgs.draw([])


def test_pictures_are_the_same_every_time(tmp_path: Path) -> None:
    """The same graphs give the same bytes, in notebooks and in files."""
    first, second = (
        paper_example(influence="features", merge=True).draw(rewards=True) for _ in range(2)
    )
    assert first == second
    assert first._repr_svg_() == draw_crgs(
        paper_example(influence="features", merge=True), rewards=True
    )
    first.save(tmp_path / "out.svg")
    assert (tmp_path / "out.svg").read_text(encoding="utf-8") == str(second)
    assert "SVG" in repr(first)


# -- the command line -----------------------------------------------------------------------------

PAPER = str(example_path("paper_example.yaml"))


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run `coreplan crg`: exit code, output and errors."""
    with pytest.raises(SystemExit) as ended:
        cli.main(["crg", *map(str, arguments)])
    out, err = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    assert "Traceback" not in err
    return ended.value.code, out, err


def test_table_shows_the_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    """Without -o the table has the numbers of the API, with those as printed and naive beside."""
    code, out, err = run(capsys, PAPER)
    assert (code, err) == (0, "")
    crgs = build_crgs(read_problem(PAPER))
    printed = build_crgs(read_problem(PAPER), definition="literal")
    blocks = re.split(r"^agent (?=\d: answers)", out, flags=re.MULTILINE)[1:]
    for block, crg in zip(blocks, crgs.agents, strict=True):
        for words, kind in (("local states", "states"), ("reward arcs", "reward_arcs")):
            sizes = (crg.size, printed[crg.agent].size, crg.naive_size)
            numbers = " +".join(f"{getattr(size, kind):.0f}" for size in sizes)
            assert re.search(rf"^ *{words} +{numbers} *$", block, re.MULTILINE)
        assert f"stages: {crg.size_bound:,.0f} (Theorem 1 as printed" in block


def test_json_has_the_same_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    """--json prints one object with the sizes of the chosen agents and stages."""
    options = ["--agent", "agent 2", "--stages", "0:1", "--merge", "--json"]
    code, out, err = run(capsys, PAPER, *options)
    assert (code, err) == (0, "")
    report = json.loads(out)
    crgs = build_crgs(read_problem(PAPER), influence="features", merge=True)
    (agent,) = report["agents"]
    crg = crgs["agent 2"]
    assert (report["stages"], report["influence"], report["merged"]) == ([0, 1], "features", True)
    assert agent["size"]["arcs"] == crg.sizes[0].arcs
    assert agent["size"]["states"] == crg.sizes[0].states + crg.sizes[1].states
    assert agent["naive"]["nodes"] == crg.naive_sizes[0].nodes + crg.naive_sizes[1].states
    assert (agent["printed_bound"], agent["size_bound"]) == (crg.printed_bound, crg.size_bound)


def similar_jobs() -> TIMMDP:
    """The first agent helps or not; with help, two jobs of the second are worth about the same."""
    helper = Agent("helper", "s", {"s": {a: {"s": 1.0} for a in ("help", "rest")}})
    worker = Agent("worker", "s", {"s": {a: {"s": 1.0} for a in ("dig", "fill", "none")}})
    entries = tuple(
        Entry({"helper": Condition(action="help"), "worker": Condition(action=job)}, value)
        for job, value in (("dig", 50), ("fill", 52))
    )
    return TIMMDP((helper, worker), (RewardFunction(("helper", "worker"), entries),), 1, "jobs")


def test_grouped_graphs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """--group measures and draws the graphs of the simplified problem, with shared arcs."""
    file, picture = tmp_path / "jobs.json", tmp_path / "out.svg"
    write_problem(similar_jobs(), file)
    reports = []
    for group in ("0", "2"):
        code, out, err = run(capsys, file, "--group", group, "--json")
        assert (code, err) == (0, "")
        reports.append(json.loads(out))
    plain, grouped = reports
    assert (plain["group"], grouped["group"]) == (0, 2)
    assert grouped["agents"][0]["size"]["arcs"] < plain["agents"][0]["size"]["arcs"]
    code, _, err = run(capsys, file, "--group", "2", "--rewards", "-o", picture)
    assert (code, err) == (0, "")
    drawn_text = picture.read_text(encoding="utf-8")
    assert "dig or fill" in drawn_text
    assert ">51<" in drawn_text


def test_output_is_the_picture(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """-o writes what `draw` gives, with the same options, and says where."""
    path = tmp_path / "out.svg"
    options = ["--agent", "agent 1", "--stages", "1", "--assignment", "highest-degree"]
    shown = ["--definition", "literal", "--rewards", "--bounds", "--naive"]
    code, out, err = run(capsys, PAPER, *options, *shown, "-o", path)
    assert (code, err) == (0, "")
    assert str(path) in out
    crgs = build_crgs(
        read_problem(PAPER), assignment="highest-degree", definition="literal", influence="pairs"
    )
    expected = crgs["agent 1"].draw(1, rewards=True, bounds=True, naive=True)
    assert path.read_text(encoding="utf-8") == expected.svg
    code, out, _ = run(capsys, PAPER, "-o", path, "--json")
    assert code == 0
    assert json.loads(out)["problem"] == "paper example"


def test_the_papers_graphs_come_out_of_the_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """--assign gives the interaction to agent 2, by position or name; the picture has [L, U]."""
    path = tmp_path / "graphs.svg"
    for function in ("2", read_problem(PAPER).index().functions[2]):
        given = ["--assign", f"{function}=agent 2", "--merge", "--expected-bounds", "-o", path]
        code, out, err = run(capsys, PAPER, *given, "--json")
        assert (code, err) == (0, "")
        expected = paper_example(influence="features", merge=True, bounds="expected")
        assert path.read_text(encoding="utf-8") == expected.draw(bounds=True).svg
        report = json.loads(out)
        assert report["agents"][1]["size"]["arcs"] == expected["agent 2"].size.arcs
        assert list(report["assignment"].values()) == ["agent 2"]
        assert report["all"]["size"]["arcs"] == expected.size.arcs
        assert report["all"]["size_bound"] == expected.size_bound


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--assign", "2=agent 3"], "no agent 'agent 3'"),
        (["--bounds", "--expected-bounds", "-o", "x.svg"], "use either"),
        (["--agent", "agent 3"], "agent 3"),
        (["--stages", "2:1"], "first < last"),
        (["--stages", "0:9"], "<= 2"),
        (["--stages", "one"], "--stages"),
        (["--stages", "0:"], "try 0:1"),
        (["--stages", "-1:1"], "--stages"),
        (["--influence", "pairs", "--merge"], "features"),
        (["--assignment", "fair"], "balanced"),
        (["--definition", "exact"], "lossless"),
        (["--rewards"], "-o"),
        (["-o", "nowhere/out.svg"], "nowhere"),
        (["-o", "-"], "standard output"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    """What makes no sense is refused with exit code 2, and nothing is printed as a result."""
    code, out, err = run(capsys, PAPER, *arguments)
    assert (code, out) == (2, "")
    assert said in err


def test_files_survive(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The problem is never overwritten, and an old picture only by a whole new one."""
    problem = tmp_path / "large.json"
    text = json.dumps(random_mpp(3, 3, 8))
    problem.write_text(text, encoding="utf-8")
    code, out, err = run(capsys, problem, "-o", tmp_path / "." / "large.json")
    assert (code, out) == (2, "")
    assert "overwrite" in err
    assert problem.read_text(encoding="utf-8") == text
    old = tmp_path / "old.svg"
    old.write_text("old", encoding="utf-8")
    code, out, err = run(capsys, problem, "--merge", "-o", old)
    assert (code, out) == (2, "")
    assert "choose fewer agents or stages" in err
    assert old.read_text(encoding="utf-8") == "old"
    assert sorted(tmp_path.iterdir()) == [problem, old]


def test_limit(capsys: pytest.CaptureFixture[str]) -> None:
    """A memory limit that strikes gives exit code 3."""
    code, out, err = run(capsys, PAPER, "--memory-limit", "0.0001")
    assert (code, out) == (3, "")
    assert "memory limit" in err
