"""Pictures: every number that is drawn is what the plan, the log or the distribution says."""

from __future__ import annotations

import datetime
import importlib.util
import io
import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from coreplan import (
    Contractor,
    ContractorState,
    MaintenanceProblem,
    ModelError,
    Policy,
    Progress,
    Result,
    SolverError,
    Status,
    Task,
    plot,
    read_problem,
    solve,
)
from coreplan.analysis import execution_sequences
from coreplan.analysis.distribution import ReturnDistribution
from coreplan.cli import example_path
from coreplan.model.calendar import Calendar
from coreplan.support.language import speaking
from helpers import from_file, random_mpp

SMALL = random_mpp(2, 2, 6)
HOSTILE = "$\\frac{1}{$ \n <script> " + 100 * "x"


@pytest.fixture
def pyplot() -> Iterator[Any]:
    """Matplotlib without a window; figures are closed afterwards."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def solved(raw: dict[str, Any], **options: Any) -> Result:
    """The optimal plan for a raw problem."""
    return solve(from_file(raw), **options)


def working(policy: Policy) -> dict[tuple[str, str], list[float]]:
    """Per contractor, work and step: the chance of work, by enumerating all that can happen."""
    chances: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0] * policy.horizon)
    for sequence, probability in execution_sequences(policy):
        steps = zip(sequence.states, sequence.actions, strict=False)
        for stage, (state, action) in enumerate(steps, policy.stage):
            for name, chosen in action.items():
                doing = state[name].doing if chosen == "continue" else chosen.removeprefix("start ")
                if chosen != "wait":
                    chances[name, doing][stage] += probability
    return chances


def drawn(axes: Any, policy: Policy, kinds: tuple[str, ...]) -> dict[tuple[str, str], list[float]]:
    """Per contractor and work, for each step: how high the bars are, as parts of a full one."""
    heights: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0] * policy.horizon)
    for patch in axes.patches:
        kind, _, name = patch.get_gid().partition(" ")
        contractor, _, work = name.partition("/")
        if kind in kinds:
            first = round(patch.get_x())
            for step in range(first, first + round(patch.get_width())):
                heights[contractor, work][step] += patch.get_height() / 0.8
    return heights


@pytest.mark.extras
@pytest.mark.parametrize("seed", range(4))
def test_bars_are_as_high_as_work_is_likely(pyplot: Any, seed: int) -> None:
    """The height of bars in a step is the chance that the work is worked on, by enumeration."""
    policy = solved(random_mpp(2, 2, 6, seed)).policy
    axes = plot.gantt(policy)
    expected = working(policy)
    found = drawn(axes, policy, ("planned", "delayed"))
    assert expected.keys() == found.keys()
    for work, chances in expected.items():
        assert found[work] == pytest.approx(chances, abs=1e-9)


@pytest.mark.extras
def test_delays_are_hatched(pyplot: Any) -> None:
    """What is worked on only because of a delay is hatched, with its own chance, on top."""
    task = {"name": "w", "duration": 2, "cost": 1, "revenue": 9}
    task["delay"] = {"probability": 0.25, "duration": 1}
    result = solved({"format": "mpp/1", "horizon": 5, "agents": [{"name": "A", "tasks": [task]}]})
    axes = plot.gantt(result)
    assert drawn(axes, result.policy, ("planned",)) == {("A", "w"): [1, 1, 0, 0, 0]}
    assert drawn(axes, result.policy, ("delayed",)) == {("A", "w"): [0, 0, 0.25, 0, 0]}
    planned, delayed = axes.patches
    assert not planned.get_hatch()
    assert delayed.get_hatch()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["planned", "only if delayed"]
    assert axes.get_legend().get_title().get_text() == "height of a bar: its chance"


@pytest.mark.extras
@pytest.mark.parametrize("late", [(), ("C0/w0",), ("C0/w1", "C1/w0")])
def test_one_course(pyplot: Any, late: tuple[str, ...]) -> None:
    """With outcomes, bars are full where `act` says that works are done if these delays happen."""
    policy = solved(SMALL).policy
    axes = plot.gantt(policy, outcomes=dict.fromkeys(late, "delayed"))
    expected: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0] * policy.horizon)
    tasks = {
        (who.name, task.name): task for who in policy.problem.contractors for task in who.tasks
    }
    state = {who.name: ContractorState() for who in policy.problem.contractors}
    for stage in range(policy.horizon):
        for name, action in policy.act(stage, state).items():
            now = state[name]
            if action == "wait":
                continue
            doing, left = now.doing, now.remaining
            if action.startswith("start "):
                doing = action.removeprefix("start ")
                task = tasks[name, doing]
                left = task.duration + (f"{name}/{doing}" in late) * task.delay.duration
            expected[name, doing][stage] = 1.0
            done = (*now.done, doing) if left == 1 else now.done
            state[name] = ContractorState(done, None if left == 1 else doing, left - 1)
    assert drawn(axes, policy, ("planned", "delayed")) == expected
    hatched = {f"{who}/{work}" for who, work in drawn(axes, policy, ("delayed",))}
    assert hatched <= {*late}
    if hatched:
        assert axes.get_legend().get_title().get_text() == ""


@pytest.mark.extras
def test_outcomes_that_cannot_be(pyplot: Any) -> None:
    """A work that there is not is refused by name, and nothing is drawn."""
    with pytest.raises(ModelError, match="'C0/x'"):
        plot.gantt(solved(SMALL), outcomes={"C0/x": True})
    assert pyplot.get_fignums() == []


@pytest.mark.extras
def test_rows_have_names(pyplot: Any) -> None:
    """Every contractor and each of its works has a row with its name, the first at the top."""
    result = solve(read_problem(example_path("ring_road.yaml")))
    axes = plot.gantt(result)
    assert isinstance(result.policy.problem, MaintenanceProblem)
    names = [
        name
        for contractor in result.policy.problem.contractors
        for name in (contractor.name, *(task.name for task in contractor.tasks))
    ]
    assert [label.get_text() for label in axes.get_yticklabels()] == names
    bottom, top = axes.get_ylim()
    assert bottom > top == 0


@pytest.mark.extras
def test_names_are_text(pyplot: Any) -> None:
    """A name that looks like a formula, or is far too long, is shown as text and cut."""
    raw = {
        **SMALL,
        "agents": [{**SMALL["agents"][0], "name": HOSTILE.replace("/", "")}],
        "network": [],
    }
    axes = plot.gantt(solved(raw))
    axes.figure.canvas.draw()
    label = axes.get_yticklabels()[0].get_text()
    assert label.startswith("$\\frac{1}{$ <script>")
    assert len(label) == plot.LONGEST_NAME


@pytest.mark.extras
def test_cut_names_differ(pyplot: Any) -> None:
    """Long names that differ at their end are cut in the middle."""
    names = [f"renewal of the joints of viaduct {k}" for k in (12, 13)]
    works = tuple(Task(name, 1, cost=1) for name in names)
    problem = MaintenanceProblem((Contractor("Alpha", works),), 4, must_complete=True)
    axes = plot.gantt(solve(problem))
    shown = [label.get_text() for label in axes.get_yticklabels()]
    assert len(set(shown)) == 3
    assert max(map(len, shown)) <= plot.LONGEST_NAME


@pytest.mark.extras
def test_steps_and_dates(pyplot: Any) -> None:
    """Steps have numbers in their middle; with a calendar, dates stand where steps begin."""
    policy = solved(random_mpp(2, 1, 40)).policy
    axes = plot.gantt(policy)
    assert list(axes.get_xticks()) == [5 * k + 0.5 for k in range(8)]
    assert [label.get_text() for label in axes.get_xticklabels()] == [str(5 * k) for k in range(8)]
    calendar = Calendar(datetime.date(2026, 3, 2), "week")
    axes = plot.gantt(policy, calendar=calendar)
    axes.figure.canvas.draw()
    shown = dict(zip(axes.get_xticks(), axes.get_xticklabels(), strict=True))
    assert shown[0.0].get_text() == "2 Mar"
    assert shown[8.0].get_text() == calendar.short_label(8) == "27 Apr"
    assert axes.get_xlabel() == "week that begins on"


@pytest.mark.extras
def test_from_a_later_stage(pyplot: Any) -> None:
    """A plan from a later stage is drawn from there on, with what is under way."""
    raw = random_mpp(2, 2, 6)
    state = {"C0": {"doing": "w0", "remaining": 2}, "C1": {"done": ["w1"]}}
    policy = solved(raw, stage=2, state=state).policy
    axes = plot.gantt(policy)
    assert axes.get_xlim() == (2, 6)
    found = drawn(axes, policy, ("planned", "delayed"))
    assert found["C0", "w0"] == [0, 0, 1, 1, 0, 0]
    assert found == {work: pytest.approx(chances) for work, chances in working(policy).items()}


@pytest.mark.extras
def test_pictures_are_vectors_on_the_axes_that_are_given(pyplot: Any) -> None:
    """Given axes are used, no other figure is made, and SVG files hold no pixels."""
    log = plot.ProgressLog()
    result = solved(SMALL, callback=log)
    figure, places = pyplot.subplots(3, 1)
    made = pyplot.get_fignums()  # others may be open
    assert plot.gantt(result, places[0]) is places[0]
    assert plot.convergence(log, places[1], result=result) is places[1]
    assert plot.cost_distribution(result, ax=places[2]) is places[2]
    assert pyplot.get_fignums() == made
    file = io.StringIO()
    figure.savefig(file, format="svg")
    assert "<image" not in file.getvalue()


def progress(seconds: float, lower: float, upper: float) -> Progress:
    """A report of a solver."""
    return Progress(seconds, "search", lower, upper, 0, 0)


@pytest.mark.extras
def test_lines_are_the_bounds(pyplot: Any) -> None:
    """Lines go through the bounds where they change, up to the last; infinite ones are left out."""
    inf = math.inf
    reports = [
        progress(0.1, -inf, inf),
        progress(0.2, -inf, 9),
        progress(0.3, 2, 9),
        progress(0.4, 2, 7),
        progress(0.5, 2, 7),
        progress(0.6, 4, 7),
    ]
    axes = plot.convergence(reports)
    upper, lower = axes.get_lines()
    assert upper.get_xydata().tolist() == [[0.2, 9], [0.4, 7], [0.6, 7]]
    assert lower.get_xydata().tolist() == [[0.3, 2], [0.6, 4]]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["upper bound", "value of the plan"]
    end = Result("p", "core", Status.OPTIMAL, 5.0, 5.0, 5.0, 0.8)
    axes = plot.convergence(reports, result=end)
    assert [line.get_xydata()[-1].tolist() for line in axes.get_lines()] == [[0.8, 5], [0.8, 5]]


@pytest.mark.extras
def test_a_log_of_a_solver_is_drawn(pyplot: Any) -> None:
    """What a solver reports is what the lines show, the bounds of its result at the end."""
    log = plot.ProgressLog()
    result = solved(random_mpp(4, 3, 10), callback=log, work_limit=1)
    upper, lower = plot.convergence(log).get_lines()
    assert lower.get_ydata()[-1] == pytest.approx(result.lower_bound)
    assert upper.get_ydata()[-1] == pytest.approx(result.upper_bound)
    assert np.all(np.diff(lower.get_ydata()) >= 0)
    assert np.all(np.diff(upper.get_ydata()) <= 0)


def test_a_log_hands_on() -> None:
    """A log keeps all reports and hands them on to another callback, which may stop the solver."""
    log = plot.ProgressLog(lambda each: each.seconds > 1)
    assert log(progress(0.5, 0, 1)) is False
    assert log(progress(1.5, 0, 1)) is True
    assert [each.seconds for each in log] == [0.5, 1.5]
    assert plot.ProgressLog()(progress(1, 0, 1)) is None


@pytest.mark.extras
def test_no_bounds(pyplot: Any) -> None:
    """Without any bound there is nothing to draw, and the error says what to give."""
    with pytest.raises(ModelError, match="give a ProgressLog"):
        plot.convergence([])
    assert pyplot.get_fignums() == []


@pytest.mark.extras
def test_stems_are_probabilities(pyplot: Any) -> None:
    """With few values, each has a line as high as it is likely, by enumeration."""
    policy = solved({**SMALL, "network": []}).policy
    expected: dict[float, float] = defaultdict(float)
    for sequence, probability in execution_sequences(policy):
        expected[round(policy.problem.returns(sequence).total, 6)] += probability
    assert len(expected) <= plot.MOST_STEMS
    axes = plot.cost_distribution(policy)
    (lines,) = axes.collections
    found = {round(high[0], 6): high[1] for (_, high) in lines.get_segments()}
    assert found == pytest.approx(expected)
    mean = axes.get_lines()[-1]
    assert mean.get_xdata()[0] == pytest.approx(policy.evaluate())
    assert axes.get_xlabel() == "value"
    assert axes.get_ylabel() == "probability"


@pytest.mark.extras
def test_histograms_are_probabilities(pyplot: Any) -> None:
    """With many values bars hold the probability of their values, all together 1."""
    values = np.sort(np.random.default_rng(1).normal(-50, 9, 300))
    chances = np.full(300, 1 / 300)
    axes = plot.cost_distribution(ReturnDistribution(values, chances))
    (bars,) = axes.patches
    heights, edges, _ = bars.get_data()
    assert sum(heights) == pytest.approx(1)
    for height, low, high in zip(heights[:-1], edges[:-2], edges[1:-1], strict=True):
        assert height == pytest.approx(np.sum((values >= low) & (values < high)) / 300)
    assert axes.get_ylabel() == "probability"


@pytest.mark.extras
def test_costs_are_drawn_as_costs(pyplot: Any) -> None:
    """A plan that costs more than it earns is drawn by its cost; runs are said where simulated."""
    raw = {**random_mpp(2, 1, 5), "must_complete": True}
    for agent in raw["agents"]:
        agent["tasks"][0]["revenue"] = 0
    result = solved(raw)
    axes = plot.cost_distribution(result)
    assert axes.get_xlabel() == "cost"
    assert axes.get_lines()[-1].get_xdata()[0] == pytest.approx(-result.value)
    (lines,) = axes.collections
    assert all(high[0] > 0 for (_, high) in lines.get_segments())
    simulated = ReturnDistribution(np.array([1.0, 2.0]), np.array([0.25, 0.75]), 4000)
    assert plot.cost_distribution(simulated).get_ylabel() == "share of 4,000 runs"


def test_what_cannot_be_drawn() -> None:
    """A result without a policy, and works of a problem that has none, are errors."""
    result = Result("p", "core", Status.OPTIMAL, 5.0, 5.0, 5.0, 0.8)
    with pytest.raises(ModelError, match="no policy to draw"):
        plot.gantt(result)
    with pytest.raises(ModelError, match="no policy to draw"):
        plot.cost_distribution(None)
    policy = solve(from_file(SMALL).to_timmdp()).policy
    with pytest.raises(ModelError, match="a Gantt chart needs a plan of a maintenance problem"):
        plot.gantt(policy)


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without matplotlib the error names the extra to install."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SolverError, match=r"pip install 'coreplan\[plot\]'"):
        plot.gantt(solved(SMALL))


@pytest.mark.extras
def test_pictures_keep_the_language_in_which_they_were_made(pyplot: Any) -> None:
    """Dates and numbers at axes are written when a figure is drawn, which may be later."""
    result = solve(read_problem(example_path("two_works.yaml")))
    calendar = Calendar(datetime.date(2026, 5, 4), "day")
    with speaking("nl", "EUR"):
        chart = plot.gantt(result, calendar=calendar)
        costs = plot.cost_distribution(result, pyplot.figure().add_subplot())
    chart.figure.canvas.draw()
    assert chart.get_xlabel() == "dag die begint op"
    assert chart.get_xticklabels()[0].get_text() == "4 mei"
    costs.figure.canvas.draw()
    assert costs.get_xlabel() in ("kosten in EUR", "waarde in EUR")
    assert costs.get_ylabel() == "kans"
    assert costs.get_legend().get_texts()[0].get_text().startswith("gemiddeld €")
    shown = [label.get_text() for label in costs.get_yticklabels()]
    assert any("," in text for text in shown)
    assert not any("." in text for text in shown)


@pytest.mark.extras
def test_english_pictures_name_a_currency_if_there_is_one(pyplot: Any) -> None:
    """Without a currency the axis has no unit."""
    result = solve(read_problem(example_path("two_works.yaml")))
    plain = plot.cost_distribution(result, pyplot.figure().add_subplot()).get_xlabel()
    with speaking(currency="GBP"):
        axes = plot.cost_distribution(result, pyplot.figure().add_subplot())
    assert axes.get_xlabel() == f"{plain} in GBP"
