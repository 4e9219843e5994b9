"""What plans of large teams gain by deciding as they go.

Run: .venv/bin/python benchmarks/lookahead.py [--work 8] [--runs 400] [--ahead 0 1 3] [CASE ...]

A case is a number of agents and their contention, for instance 100-high: the first instance of
that group of the test set `large`. The policies of each team are searched for with the given work,
in the units of the engine. Losses are against the sum of what the agents would earn alone, so lower
is better. `profile` looks ahead from the best policy of single agents, the other rows from the best
policy found, and from up to so many policies of single agents besides. All runs of a case have the
same random numbers. `certain` is the loss that is certain; `raw` the standard error of the mean
return, `error` that of the estimate, which leaves out a `part` of the luck; `make` the work before
the first decision; `us` the work of a decision in millionths of a unit.
"""

from __future__ import annotations

import argparse

import numpy as np

from coreplan import _core
from coreplan.bench.sets import generate
from coreplan.solving.compile import compile_problem
from coreplan.solving.engine.core import STEPS
from coreplan.solving.engine.way_back import reduce_model
from coreplan.solving.limits import Limits
from coreplan.solving.tuning import Tuning
from coreplan.support.processors import usable_processors

CASES = ("30-high", "100-low", "100-high", "300-high")


def main() -> None:
    """Run the cases asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="for instance 100-high; default: several")
    parser.add_argument("--work", type=float, default=8.0)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--ahead", type=int, nargs="*", default=[0, 1])
    asked = parser.parse_args()
    print(
        f"{'case':<10}{'agents':>7}  {'looks ahead from':<22}{'certain':>10}{'loss':>10}"
        f"{'± error':>9}{'raw ±':>8}{'part':>6}{'make':>8}{'us':>7}"
    )
    for case in asked.cases or CASES:
        agents, contention = case.split("-")
        instance = next(generate("large", agents=int(agents), contention=contention))
        limits = Limits()
        compiled = compile_problem(instance.problem, limits=limits)
        reduction = reduce_model(compiled, dict.fromkeys(STEPS, True), limits)
        for team in _core.components(reduction.model):
            if len(team) >= Tuning.ahead_agents:
                measure(case, _core.restrict_to(reduction.model, team), len(team), asked, limits)


def measure(
    case: str, model: _core.CompiledModel, size: int, asked: argparse.Namespace, limits: Limits
) -> None:
    """Print a line for each way of looking ahead."""
    tuning = Tuning()
    threads = usable_processors()
    search = _core.PolicySearch(
        model,
        1,
        tuning.bases,
        tuning.states_per_layer,
        tuning.joint_agents,
        threads,
        limits.monitor,
    )
    search.improve(int(asked.work * _core.UNITS_PER_SECOND))
    found = search.policy()
    profiles = search.bases(max([1, *asked.ahead]))
    ways = {"profile": profiles[:1]}
    for count in asked.ahead:
        name = "policy" if count == 0 else f"policy, {count} profiles"
        ways[name] = [found, *profiles[:count]]
    for name, bases in ways.items():
        if not _core.Lookahead.applies(model, bases):
            print(f"{case:<10}{size:>7}  {name:<22} does not apply")
            continue
        begin = limits.work
        ahead = _core.Lookahead(model, bases, limits.monitor)
        made = limits.work - begin
        root = np.zeros(size, np.uint32)
        certain = max(ahead.value(b, 0, root) for b in range(len(bases)))
        begin = limits.work
        earned, luck = ahead.run(1, 0, asked.runs, threads, limits.monitor)
        spent = limits.work - begin
        part = float(np.cov(earned, luck)[0, 1] / luck.var(ddof=1)) if luck.any() else 0.0
        left = earned - part * luck
        layers = model.horizon - model.first_stage
        print(
            f"{case:<10}{size:>7}  {name:<22}{-certain:>10.2f}{-left.mean():>10.2f}"
            f"{left.std(ddof=1) / asked.runs**0.5:>9.2f}"
            f"{earned.std(ddof=1) / asked.runs**0.5:>8.2f}{part:>6.2f}{made:>8.3f}"
            f"{1e6 * spent / asked.runs / layers:>7.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
