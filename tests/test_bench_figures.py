"""The numbers behind the figures, and the pictures themselves."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_rows import (
    EXPECTED,
    MEMO,
    PLAIN,
    PUBLISHED_SPUDD,
    REFERENCE_SPUDD,
    made_up_rows,
    make_row,
)
from coreplan import FormatError, ModelError, SolverError
from coreplan.bench.config import read_config
from coreplan.bench.figures import (
    FIGURES,
    ablation_data,
    convergence_data,
    decentralised_data,
    draw_figures,
    limit_data,
    runtime_data,
    scaling_data,
    solved_data,
    style,
    work_data,
)
from coreplan.bench.figures.style import thinned
from coreplan.bench.sets import TEST_SETS
from coreplan.bench.store import PROCESSOR, Row
from coreplan.bench.variants import IDEAS, Variant, make_variant
from coreplan.solving.registry import ALGORITHMS

DP, CRG_PS, CORE_2016 = (
    Variant(name, (("merge", False),)) for name in ("dp", "crg-ps", "core-2016")
)
CORE = Variant("core")

# -- (a) ---------------------------------------------------------------------------------------


def pair(k: int, low: float, high: float, name: str = "rand3") -> list[Row]:
    """An instance with a decentralised and a centralised value."""
    return [
        make_row(name, k, "core", value=high),
        make_row(name, k, "dec-mdp", value=low),
    ]


def test_ratios_of_costs_and_of_values_are_at_most_one() -> None:
    """Costs give C_mmdp / C_dec, positive values V_dec / V_mmdp; 1 is no loss in both."""
    costs = decentralised_data([*pair(1, -100, -75), *pair(2, -80, -80)]).sets[0]
    assert costs.ratios == (0.75, 1.0)
    assert (costs.equal, costs.mean_loss, costs.worst_loss) == (0.5, 0.125, 0.25)
    assert costs.quotient.startswith("C_mmdp / C_dec")
    values = decentralised_data([*pair(1, 75, 100), *pair(2, 0, 0)]).sets[0]
    assert values.ratios == (0.75, 1.0)
    assert values.quotient.startswith("V_dec / V_mmdp")


@given(
    st.lists(
        st.tuples(st.floats(-1e6, 1e6), st.floats(0, 1e6)).filter(lambda p: p[0] != 0), min_size=1
    )
)
def test_no_ratio_is_above_one(pairs: list[tuple[float, float]]) -> None:
    """Whatever the signs, a plan that is worth no more has a ratio of at most 1."""
    rows = [row for k, (high, loss) in enumerate(pairs) for row in pair(k, high - loss, high)]
    data = decentralised_data(rows)
    for each in data.sets:
        assert all(0 <= ratio <= 1 for ratio in each.ratios)
        assert len(each.ratios) + each.undefined == len(pairs)
        assert 0 <= each.mean_loss <= each.worst_loss + 1e-12 <= 1 + 1e-12


def test_only_instances_with_both_values_proven_have_a_ratio() -> None:
    """Unproven values, values of other signs and instances of one solver only have no ratio."""
    rows = [
        *pair(1, -4, -2),
        make_row("rand3", 2, "core", value=-1),
        make_row("rand3", 2, "dec-mdp", value=-2, gap=0.5),
        make_row("rand3", 3, "core", value=None),
        make_row("rand3", 3, "dec-mdp", value=-2),
        *pair(4, -1, 1),
        make_row("rand3", 5, "dec-mdp", value=-2),
    ]
    data = decentralised_data(rows).sets[0]
    assert data.ratios == (0.5,)
    assert (data.unproven, data.undefined) == (2, 1)


# -- (b) ---------------------------------------------------------------------------------------


def counted(k: int, algorithm: str, options: Any, actions: int, **more: Any) -> Row:
    """A solve of mpp that evaluated so many joint actions."""
    counts = {"joint_actions_evaluated": actions, "kernel_cells": 10 * actions}
    return make_row("mpp", k, algorithm, options, statistics=counts, **more)


def test_joint_actions_are_compared_where_both_solved() -> None:
    """Reductions are geometric means over what both solved; failed solves are not drawn."""
    rows = [
        counted(1, "dp", PLAIN, 1000),
        counted(2, "dp", PLAIN, 100),
        counted(3, "dp", PLAIN, 7, gap=1.0),
        counted(1, "crg-ps", PLAIN, 50),
        counted(2, "crg-ps", PLAIN, 20),
        counted(3, "crg-ps", PLAIN, 300),
        counted(1, "core-2016", PLAIN, 10),
        counted(1, "core-2016", MEMO, 5),
        counted(1, "core", {"threads": 1}, 0),
        counted(2, "core", {"threads": 1}, 2),
    ]
    data = work_data(rows)
    found = data.reduction(CRG_PS, DP)
    assert found is not None
    assert found.n == 2
    assert found.ratio == pytest.approx(10)
    assert (data.instances, data.by_dp) == (3, 2)
    series = {each.label: (each.places, each.counts) for each in data.plain}
    assert series["DP"] == ((0, 1), (100, 1000))
    assert series["CRG-PS"] == ((0, 1, 2), (20, 50, 300))
    assert series["core: joint actions"] == ((0,), (2,))
    assert series["core: kernel cells"] == ((0,), (20,))
    assert [each.label for each in data.memo if each.variant.algorithm == "core-2016"] == [
        "CoRe 2016, memo"
    ]


def test_a_search_that_evaluates_more() -> None:
    """Where a search evaluates more than DP, that is said, not that it evaluates fewer."""
    data = work_data([counted(1, "dp", PLAIN, 10), counted(1, "crg-ps", PLAIN, 40)])
    assert data.headline == "Joint actions, against DP: CRG-PS 4 times more"
    assert [str(each) for each in data.reductions] == ["CRG-PS 4 times more than DP (n = 1)"]


def test_merged_searches_are_not_the_papers() -> None:
    """Joint actions on merged states are not compared with the paper's figure."""
    assert not work_data([counted(1, "dp", {}, 10), counted(1, "core-2016", {}, 5)])


# -- (c), (e) ----------------------------------------------------------------------------------


def test_percentages_are_of_what_was_run() -> None:
    """An instance that was not run does not count as not solved."""
    rows = [
        make_row("mpp", 1, "dp", PLAIN, agents=2, horizon=5),
        make_row("mpp", 2, "dp", PLAIN, agents=2, horizon=6, gap=1.0),
        make_row("mpp", 3, "core", agents=3, horizon=5),
        make_row("mpp", 4, "core", agents=3, horizon=5, value=None, outcome="killed_memory"),
        make_row("pyra", 5, "core", agents=3, horizon=5),
    ]
    data = solved_data(rows, "mpp")
    assert (data.agents, data.horizons) == ((2, 3), (5, 6))
    assert str(data.share(DP)) == "50 % (1 of 2)"
    assert str(data.share(DP, 2, 5)) == "100 % (1 of 1)"
    assert data.share(DP, 3).run == 0
    assert math.isnan(data.share(DP, 3).value)
    assert str(data.share(CORE)) == "50 % (1 of 2)"
    assert (data.most_agents(CORE), data.most_agents(CRG_PS)) == (3, 0)


def test_headlines_without_published_algorithms() -> None:
    """Where nothing was run as published, the headlines tell of what was run."""
    rows = [make_row("mpp", 1, "spudd"), make_row("mpp", 1, "core-2016", seconds=0.5)]
    assert solved_data(rows, "mpp").headline == (
        "mpp, 2 agents, solved: SPUDD, stage by stage, merged 100 %, CoRe 2016, merged 100 %"
    )
    assert solved_data(rows, "mpp").headline_of_reach.endswith(
        ": SPUDD, stage by stage, merged 2, CoRe 2016, merged 2"
    )
    assert runtime_data(rows).headline.endswith(": CoRe 2016, merged on 100 %")


# -- (d) ---------------------------------------------------------------------------------------


def test_runtimes_are_ordered_by_spudds() -> None:
    """Instances stand in the order of SPUDD's time; who failed is at the limit and counted."""
    rows = [
        make_row("mpp", 1, "spudd", PUBLISHED_SPUDD, seconds=4),
        make_row("mpp", 2, "spudd", PUBLISHED_SPUDD, seconds=1, agents=3),
        make_row("mpp", 3, "spudd", PUBLISHED_SPUDD, gap=1.0),
        make_row("mpp", 1, "core-2016", PLAIN, seconds=2),
        make_row("mpp", 2, "core-2016", PLAIN, seconds=9, gap=1.0, agents=3),
        make_row("mpp", 3, "core-2016", PLAIN, seconds=3),
        make_row("mpp", 4, "core-2016", PLAIN, seconds=3),
    ]
    data = runtime_data(rows)
    assert [(p.place, p.agents, p.seconds) for p in data.points] == [(0, 3, 1), (1, 2, 4)]
    rival = data.rival(CORE_2016)
    assert rival is not None
    assert [(p.place, p.seconds, p.solved) for p in rival.points] == [(0, 10, False), (1, 2, True)]
    assert (rival.failed.solved, rival.failed.run) == (1, 2)
    # Instance 4 was not run by SPUDD.
    assert (rival.spudd_failed.solved, rival.spudd_failed.run) == (1, 2)
    assert (rival.faster.solved, rival.faster.run) == (1, 1)
    assert rival.speed == pytest.approx(2)


def test_both_readings_of_spudd_are_shown() -> None:
    """Times are compared with the reference encoding; the other one stands beside it."""
    rows = [
        make_row("mpp", 1, "spudd", REFERENCE_SPUDD, seconds=8),
        make_row("mpp", 1, "spudd", PUBLISHED_SPUDD, seconds=4),
        make_row("mpp", 1, "spudd", seconds=1),
        make_row("mpp", 1, "core-2016", PLAIN, seconds=2),
        make_row("mpp", 1, "core-2016", EXPECTED, seconds=1),
    ]
    data = runtime_data(rows)
    assert str(data.spudd) == "SPUDD, reference encoding"
    assert [str(each.variant) for each in data.rivals] == [
        "SPUDD, stage by stage",
        "CoRe 2016",
        "CoRe 2016, expected bounds",
    ]
    assert data.headline == "Faster than SPUDD, of what both solved: CoRe 2016 on 100 %"
    assert (
        solved_data(rows, "mpp").headline == "mpp, 2 agents, solved: SPUDD 100 %, CoRe 2016 100 %"
    )


# -- (f) ---------------------------------------------------------------------------------------


def test_medians_end_where_half_fail() -> None:
    """A median over more failures than solves is not shown."""
    rows = [
        *(make_row("pyra", f"a{k}", "core", agents=5, seconds=k + 1) for k in range(3)),
        make_row("pyra", "b1", "core", agents=7, seconds=1),
        make_row("pyra", "b2", "core", agents=7, gap=1.0),
    ]
    series = scaling_data(rows, "pyra").series[0]
    assert [(team.agents, team.median) for team in series.teams] == [(5, 2), (7, None)]
    assert series.teams[1].seconds == (1, 10)
    assert series.reach == 5


# -- (g) ---------------------------------------------------------------------------------------


def test_gaps_are_read_off_the_bounds() -> None:
    """At any time the last bounds before it hold; the result's hold in the end."""
    points = ((0.5, -math.inf, 0.0), (1.0, -200.0, -100.0), (2.0, -200.0, -150.0))
    row = make_row(
        "large", 1, "core", value=-200, gap=20.0, seconds=4, agents=10, contention="low",
        progress=points,
    )  # fmt: skip
    (line,) = convergence_data([row]).lines
    gaps = dict(zip(line.seconds, line.gaps, strict=True))
    assert [gap for second, gap in gaps.items() if second < 1] == [math.inf] * sum(
        second < 1 for second in gaps
    )
    assert {gap for second, gap in gaps.items() if 1 <= second < 2} == {0.5}
    assert {gap for second, gap in gaps.items() if 2 <= second < 4} == {0.25}
    assert (max(gaps), gaps[4]) == (4, 0.1)


def test_a_proof_is_a_gap_of_nothing() -> None:
    """A solve that is proven has no gap from then on, and the sentence says so."""
    row = make_row(
        "large", 1, "core", value=-5, seconds=2, agents=10, progress=((1.0, -10.0, -5.0),)
    )
    data = convergence_data([row])
    assert data.lines[0].gaps[-1] == 0
    assert "10 agents 0, proven (n = 1)" in data.sentence


# -- (h) ---------------------------------------------------------------------------------------


def test_an_idea_is_compared_where_both_solved() -> None:
    """Ratios are off / on over instances solved by both; the others are counted."""
    on, off = {"threads": 1}, {"threads": 1, "merge": False}
    rows = [
        counted(1, "core", on, 9, seconds=1.0),
        counted(1, "core", off, 99, seconds=4.0),
        counted(2, "core", on, 9, seconds=1.0),
        counted(2, "core", off, 9, seconds=1.0),
        counted(3, "core", on, 9, seconds=1.0),
        counted(3, "core", off, 9, seconds=10.0, gap=1.0),
        counted(4, "core", off, 9),
    ]
    (idea,) = ablation_data(rows).ideas
    assert (idea.idea, idea.n, idea.only_with, idea.only_without) == ("merge", 2, 1, 0)
    assert idea.ratios["seconds"] == pytest.approx(2)
    assert idea.ratios["table cells"] == pytest.approx(math.sqrt(991 / 91))
    assert idea.ratios["joint states"] == 1


# -- (i) ---------------------------------------------------------------------------------------


def test_shares_by_the_time_limit() -> None:
    """The share within a limit counts what was solved by then, of what was run."""
    rows = [
        *(make_row("mpp", k, "core-2016", PLAIN, seconds=2.0**k) for k in range(3)),
        make_row("mpp", 3, "core-2016", PLAIN, seconds=10.4, gap=1.0),
        *(make_row("mpp", k, "core", seconds=0.001) for k in range(4)),
    ]
    (panel,) = limit_data(rows).panels
    assert (panel.title, panel.n) == ("mpp, 2 agents", 4)
    published, core = panel.curves
    assert (published.variant, core.variant) == (CORE_2016, CORE)
    assert [published.share(limit) for limit in (0.5, 1, 3.9, 4, 10)] == [0, 0.25, 0.5, 0.75, 0.75]
    assert (published.half, core.half, published.limit, core.limit) == (2, 0.001, 10, 10)
    assert published.points == [(0.01, 0), (1, 0.25), (2, 0.5), (4, 0.75), (10, 0.75)]
    assert core.points == [(0.01, 1), (10, 1)]
    assert panel.sentence == (
        "mpp, 2 agents (n = 4): CoRe 2016 25 % within 1 s and 75 % within 10 s, core all within 1 s"
    )


def test_a_line_ends_where_its_limit_does() -> None:
    """A line ends at the shortest limit of a failed solve: beyond it, nothing is known of that."""
    rows = [
        make_row("pyra", 1, "core", seconds=1, limit=10),
        make_row("pyra", 2, "core", seconds=60, limit=100),
        make_row("pyra", 3, "core", gap=1.0, seconds=20, limit=20),
    ]
    ((curve,),) = [panel.curves for panel in limit_data(rows).panels]
    assert (curve.limit, curve.seconds, curve.n) == (20, (1,), 3)
    ((curve,),) = [panel.curves for panel in limit_data(rows[:2]).panels]
    assert (curve.limit, curve.seconds, curve.half) == (100, (1, 60), 1)


def test_lines_are_compared_on_the_same_instances() -> None:
    """A panel counts instances that all its lines were run on; sizes of mpp have their own."""
    rows = [
        make_row("mpp", 1, "core", agents=2),
        make_row("mpp", 2, "core", agents=2),
        make_row("mpp", 2, "core-2016", EXPECTED, agents=2),
        make_row("mpp", 3, "core", agents=3),
    ]
    panels = limit_data(rows).panels
    assert [(each.title, each.n, len(each.curves)) for each in panels] == [
        ("mpp, 2 agents", 1, 2),
        ("mpp, 3 agents", 1, 1),
    ]


@given(
    st.lists(st.tuples(st.floats(0, 2000), st.floats(0.001, 4000), st.booleans()), min_size=1),
)
def test_lines_never_fall(solves: list[tuple[float, float, bool]]) -> None:
    """A line rises with the limit and ends at the share that was solved by its end."""
    rows = [
        make_row("pyra", k, "core", seconds=min(s, limit), limit=limit, gap=0.0 if solved else 1.0)
        for k, (s, limit, solved) in enumerate(solves)
    ]
    ((curve,),) = [panel.curves for panel in limit_data(rows).panels]
    times, shares = zip(*curve.points, strict=True)
    assert list(times) == sorted(times)
    assert list(shares) == sorted(shares)
    assert shares[-1] == curve.share(times[-1])
    if all(solved for *_, solved in solves) and times[-1] >= 0.01:
        assert shares[-1] == 1


# -- all of them -------------------------------------------------------------------------------


def test_figures_without_data_are_empty() -> None:
    """No rows, or rows of other sets, make no figure and no error."""
    for rows in ([], [make_row("mixed", 1, "core")], [make_row("mixed", 1, "core", value=None)]):
        assert not any(kind.prepare(rows) for kind in FIGURES)


def own_rows() -> list[Row]:
    """Solves of a set that is none of coreplan's."""
    return [make_row("mine", k, each, seconds=k + 1.0) for k in range(3) for each in ("core", "dp")]


def test_every_figure_has_data_in_a_whole_evaluation() -> None:
    """Each figure finds data among all rows, and says what is seen."""
    rows = [*made_up_rows(6), *own_rows()]
    for kind in FIGURES:
        data = kind.prepare(rows)
        assert data, kind.name
        assert 10 < len(data.headline) < 100
        assert any(digit in data.sentence for digit in "123456789")


@given(st.integers(2, 900), st.integers(2, 300))
def test_thinned_lines_keep_their_ends(count: int, most: int) -> None:
    """A thinned line has no more points than allowed, in order, its ends among them."""
    xs, ys = thinned(range(count), [2 * k for k in range(count)], most)
    assert len(xs) <= most
    assert (xs[0], xs[-1]) == (0, count - 1)
    assert xs == sorted(set(xs))
    assert ys == [2 * x for x in xs]


def test_matplotlib_missing_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without matplotlib the error says what to install, and nothing is written."""
    monkeypatch.setattr(style.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SolverError, match=r"coreplan\[plot\]"):
        draw_figures(made_up_rows(1), tmp_path / "figures")
    assert not (tmp_path / "figures").exists()


# -- pictures ----------------------------------------------------------------------------------

needs_matplotlib = pytest.mark.extras


@needs_matplotlib
def test_figures_are_drawn_small_and_the_same_every_time(tmp_path: Path) -> None:
    """All figures are drawn as valid SVG under 150 KB, and again byte for byte."""
    rows = [*made_up_rows(30), *own_rows()]
    drawn = draw_figures(rows, tmp_path / "a")
    again = draw_figures(rows, tmp_path / "b")
    for first, second in zip(drawn, again, strict=True):
        assert first.path is not None
        assert second.path is not None
        content = first.path.read_bytes()
        assert len(content) < 150_000, first.path.name
        assert content == second.path.read_bytes()
        assert first.headline in "".join(ElementTree.fromstring(content).itertext())


@needs_matplotlib
def test_points_are_where_the_data_is(tmp_path: Path) -> None:
    """What is drawn on axes are the numbers of the data."""
    from matplotlib.figure import Figure

    from coreplan.bench.figures import draw_solved_by_horizon, draw_work

    rows = made_up_rows(12)
    work = work_data(rows)
    ax = Figure().add_subplot()
    draw_work(work, work.plain, ax)
    lines = {line.get_label(): line for line in ax.get_lines()}
    for series in work.plain:
        assert tuple(lines[series.label].get_xdata()) == series.places
        assert tuple(lines[series.label].get_ydata()) == series.counts
    solved = solved_data(rows, "mpp")
    ax = Figure().add_subplot()
    draw_solved_by_horizon(solved, 3, ax)
    for line, variant in zip(ax.get_lines(), solved.variants, strict=True):
        expected = [100 * solved.share(variant, 3, h).value for h in solved.horizons]
        assert list(line.get_ydata()) == pytest.approx(expected)


@needs_matplotlib
@pytest.mark.parametrize("algorithm", ["core", "core-2016", "spudd", "dp", "dec-mdp"])
def test_figures_of_one_solver_are_drawn(algorithm: str, tmp_path: Path) -> None:
    """Solves of one algorithm only, or of one instance only, still make what can be made."""
    rows = [row for row in made_up_rows(2) if row.algorithm == algorithm]
    draw_figures(rows, tmp_path)
    draw_figures(rows[:1], tmp_path)
    draw_figures([row for row in rows if not row.solved], tmp_path)


@needs_matplotlib
@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_other_formats(kind: str, start: bytes, tmp_path: Path) -> None:
    """Figures can be PNG or PDF."""
    drawn = draw_figures(made_up_rows(2)[:40], tmp_path, format=kind)
    paths = [each.path for each in drawn if each.path is not None]
    assert paths
    assert all(path.read_bytes().startswith(start) for path in paths)


@needs_matplotlib
def test_hostile_targets(tmp_path: Path) -> None:
    """A folder that cannot be made and an unknown format are errors that name them."""
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    with pytest.raises(FormatError, match="file"):
        draw_figures(made_up_rows(1), tmp_path / "file")
    with pytest.raises(ModelError, match="gif"):
        draw_figures(made_up_rows(1), tmp_path, format="gif")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("size", ["small", "hour", "full"])
def test_configurations_of_the_evaluation(size: str) -> None:
    """The configurations of `make reproduce` are valid, with all sets and all algorithms."""
    config = read_config(Path(__file__).parents[1] / "benchmarks" / f"reproduce-{size}.yaml")
    assert {each.set for each in config.sets} == set(TEST_SETS)
    solvers = [solver for each in config.sets for solver in each.solvers]
    assert {solver.algorithm for solver in solvers} == set(ALGORITHMS)
    ideas = {make_variant(each.algorithm, each.options).without for each in solvers}
    assert ideas == {None, *IDEAS}


def test_axes_name_the_clock() -> None:
    """Times are in processor seconds where all solves were measured by them, else in seconds."""
    rows = made_up_rows(2)
    by_processor = [replace(row, clock=PROCESSOR) for row in rows]
    prepare = (
        runtime_data,
        lambda rows: scaling_data(rows, "pyra"),
        convergence_data,
        limit_data,
    )
    for make in prepare:
        assert make(rows).unit == "s"
        assert make(by_processor).unit == "processor s"
        assert make([*by_processor, *rows]).unit == "s"
