"""Experiments: supposed causes are confirmed, or not, by the claim's own rule."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from bench_rows import EXPECTED, MEMO, PLAIN, REFERENCE_SPUDD, make_row
from coreplan.bench.claims import RULES, Verdict, check_claims
from coreplan.bench.config import read_config
from coreplan.bench.experiments import (
    EXPERIMENTS,
    Trial,
    experiments_table,
    explain,
    figure_rows,
)
from coreplan.bench.sets import TEST_SETS
from coreplan.bench.store import Row

ROOT = Path(__file__).parents[1]
EARLIER = {"merge": False, "decouple": "search", "action_order": "listed"}


def trial_of(rows: list[Row], key: str, name: str) -> Trial:
    """The trial of one experiment for one claim."""
    (found,) = [
        each
        for each in explain(rows)
        if each.claim.key == key and each.experiment is not None and each.experiment.name == name
    ]
    return found


def loss(cost: float, *ratios: float) -> list[Row]:
    """Instances of coordint with these ratios of centralised to decentralised cost."""
    rows = []
    for k, ratio in enumerate(ratios):
        name = f"{cost}-{k}"
        rows.append(make_row("coordint", name, "core", value=-100.0 * ratio, cost=cost))
        rows.append(make_row("coordint", name, "dec-mdp", value=-100.0, cost=cost))
    return rows


def solves(algorithm: str, options: Any, seconds: list[float], **more: Any) -> list[Row]:
    """Solves of 3-agent instances, in these seconds; 10 and more are failures."""
    return [
        make_row(
            more.get("name", "mpp"), k, algorithm, options, agents=3, seconds=each,
            gap=1.0 if each >= 10 else 0.0,
        )
        for k, each in enumerate(seconds)
    ]  # fmt: skip


def test_another_parameter_of_the_instances() -> None:
    """With cheap work the loss is the paper's, or it is not: the cause is confirmed, or not."""
    usual = loss(1.0, 0.9, 0.95)
    assert trial_of(usual + loss(0.02, 0.7, 0.6), "mean-loss", "cheap work").outcome == (
        "confirmed: the claim agrees with this change"
    )
    found = trial_of(usual + loss(0.02, 0.8, 0.9), "mean-loss", "cheap work")
    assert found.outcome == "not confirmed: the claim still differs"
    assert found.finding is not None
    assert "15 % (n = 2)" in found.finding.measured
    assert trial_of(usual, "mean-loss", "cheap work").outcome == "not run"
    # Solves of the experiment do not move the claim itself.
    (claim,) = [
        each for each in check_claims(usual + loss(0.02, 0.7, 0.6)) if each.key == "mean-loss"
    ]
    assert "7.5 % (n = 2)" in claim.measured


@pytest.mark.parametrize(
    ("name", "options", "confirmed"),
    [("expected bounds", EXPECTED, True), ("memory", MEMO, True), ("memory", EXPECTED, False)],
)
def test_another_variant(name: str, options: Any, confirmed: bool) -> None:
    """The same instances with another variant of CoRe confirm a cause, or were not run."""
    rows = [
        *solves("core-2016", PLAIN, [10.0, 10.0, 1.0]),
        *solves("core-2016", options, [1.0, 1.0, 1.0]),
        *solves("spudd", REFERENCE_SPUDD, [2.0, 2.0, 10.0]),
    ]
    found = trial_of(rows, "more-than-spudd", name)
    assert found.outcome.startswith("confirmed" if confirmed else "not run")


def test_another_limit() -> None:
    """Where both solve all, a shorter limit shows a difference, or shows none."""
    rows = [
        *solves("core-2016", PLAIN, [0.5, 0.5, 2.0]),
        *solves("spudd", REFERENCE_SPUDD, [2.0, 3.0, 4.0]),
    ]
    assert trial_of(rows, "more-than-spudd", "1 second").outcome.startswith("confirmed")
    assert trial_of(rows, "more-than-spudd", "10 seconds").outcome.startswith("not confirmed")


def test_a_part_of_the_instances() -> None:
    """Only long horizons count, of the same solves."""
    rows = [
        make_row(
            "mpp", f"{algorithm}-{horizon}".removeprefix(f"{algorithm}-"), algorithm, PLAIN,
            horizon=horizon, statistics={"joint_actions_evaluated": number},
        )
        for algorithm, horizon, number in (
            ("dp", 5, 100), ("core-2016", 5, 50), ("dp", 9, 5000), ("core-2016", 9, 10),
        )
    ]  # fmt: skip
    assert trial_of(rows, "orders-of-magnitude", "long horizons").outcome.startswith("confirmed")
    assert trial_of(rows, "orders-of-magnitude", "three agents").outcome == "not run"


def test_only_differences_are_explained() -> None:
    """Claims that agree, or were not measured, need no experiment."""
    assert explain(loss(1.0, 0.7, 0.6, 0.3)) == [] or all(
        each.claim.verdict is Verdict.DIFFER for each in explain(loss(1.0, 0.7, 0.6, 0.3))
    )
    assert explain([]) == []
    assert list(experiments_table([])) == ["No claim differs; no cause has to be tested."]


def test_every_claim_has_an_experiment() -> None:
    """Whatever claim differs, at least one cause is tested; names and claims are known."""
    keys = {rule.key for rule in RULES}
    assert {key for each in EXPERIMENTS for key in each.claims} == keys
    assert len({each.name for each in EXPERIMENTS}) == len(EXPERIMENTS)


def test_the_table() -> None:
    """A table for each claim, and a line for each trial, with the outcome in words."""
    trials = explain(loss(1.0, 0.9) + loss(0.02, 0.67))
    lines = list(experiments_table(trials))
    assert sum(line.startswith("| supposed cause |") for line in lines) == 2
    assert len(lines) == 1 + 2 * 5 + len(trials)
    assert any(
        line.startswith("**coordint: the loss can be 75 %**: 10 % (n = 1)") for line in lines
    )
    assert any(line.endswith("| confirmed: the claim agrees with this change |") for line in lines)
    assert any(line.endswith("| not run |") for line in lines)
    untested = Trial(trials[0].claim, None)
    assert list(experiments_table([untested]))[-1].endswith("| – | – | – | no experiment |")


def test_figures_leave_experiments_out() -> None:
    """Other parameters, and variants that only an experiment needs, are in no figure."""
    rows = [
        make_row("mpp", 1, "core-2016", PLAIN),
        make_row("mpp", 1, "core-2016", EARLIER),
        make_row("mpp", 2, "core-2016", PLAIN, links=1),
    ]
    assert figure_rows(rows) == rows[:1]


def test_the_page_has_the_solves_of_all_experiments() -> None:
    """The configuration of the page makes every solve that an experiment needs."""
    config = read_config(ROOT / "benchmarks" / "reproduce-page.yaml")
    counts = {"joint_actions_evaluated": 10}
    rows = []
    for run in config.sets:
        settings = TEST_SETS[run.set].settle(run.parameters)
        for values in itertools.product(*settings.values()):
            where: dict[str, Any] = dict(zip(settings, values, strict=True))
            rows += [
                make_row(
                    run.set, where, each.algorithm, each.options, limit=run.time_limit,
                    statistics=counts, **where,
                )
                for each in run.solvers
            ]  # fmt: skip
    rules = {rule.key: rule for rule in RULES}
    for experiment in EXPERIMENTS:
        evidence = experiment.evidence(rows)
        for key in experiment.claims:
            found = rules[key].find(evidence, experiment.reading)
            assert found.verdict is not Verdict.NOT_MEASURED, (experiment.name, key)
