"""Campaign: tiny limits, and stops at any report; what is known then has to hold.

Stops are counted in reports of the solver, not in seconds, and time limits go by a clock that
moves on when the solver looks at it: what strikes on one thread strikes there every time.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from clocks import ticking
from coreplan import LimitError, Progress, Status, solve
from explore.campaign import Campaign, Case
from explore.checks import check_progress, check_result
from explore.complaint import demand
from explore.configurations import draw_options
from explore.drawing import draw_problem
from explore.shrinking import smaller_problems
from helpers import EAGER, from_file
from judge import optimal_value

FINAL_LIMIT = 5.0
"""Seconds of that clock after which every run stops."""


def draw(seed: int) -> Case:
    """Draw a problem, a solver, and what stops it."""
    drawn = random.Random(f"limits {seed}")
    problem = draw_problem(drawn, seed)
    algorithm = drawn.choice(["core", "core", "core", "dp", "spudd", "core-2016", "crg-ps"])
    options = draw_options(drawn) if algorithm == "core" else {}
    stops: dict[str, Any] = {}
    kinds = ["reports", "reports", "memory", "time", "both"]
    kind = drawn.choice([*kinds, "work"] if algorithm == "core" else kinds)
    if kind == "reports":
        stops["reports"] = drawn.choice([1, 2, 3, 5, 8, 13])
    if kind == "work":
        options["work_limit"] = math.exp(drawn.uniform(math.log(1e-6), math.log(0.05)))
    if kind in ("memory", "both"):
        stops["memory_limit"] = math.exp(drawn.uniform(math.log(5e-4), math.log(5)))
    if kind in ("time", "both"):
        stops["time_limit"] = math.exp(drawn.uniform(math.log(1e-6), math.log(0.05)))
    return {"problem": problem, "algorithm": algorithm, "options": options, "stops": stops}


def check(case: Case) -> None:
    """Solve until the stop, and check every report and the result."""
    raw, stops = case["problem"], case["stops"]
    problem = from_file(raw)
    optimum = optimal_value(raw)
    seen: list[Progress] = []

    def watch(progress: Progress) -> bool:
        seen.append(progress)
        return len(seen) >= stops.get("reports", math.inf)

    limits = {name: stops[name] for name in ("time_limit", "memory_limit") if name in stops}
    # Short turns, so that bounds are reported often.
    options = {**case["options"]}
    if case["algorithm"] == "core":
        short = replace(EAGER["tuning"], shortest_slice=1e-4, longest_slice=1e-4)
        options["tuning"] = short
    try:
        with ticking():
            result = solve(
                problem,
                algorithm=case["algorithm"],
                callback=watch,
                **{"time_limit": FINAL_LIMIT, **limits},
                **options,
            )
    except LimitError as error:
        check_progress(raw, optimum, seen)
        asked = error.reason in limits or error.reason == "interrupted"
        demand(asked, "reason", f"stopped by {error.reason}; the limits are {stops}")
        return
    check_progress(raw, optimum, seen)
    check_result(raw, optimum, result)
    if seen:
        kept = result.lower_bound >= seen[-1].lower_bound
        demand(kept, "lost lower bound", f"{seen[-1].lower_bound!r}, then {result.lower_bound!r}")
        kept = result.upper_bound <= seen[-1].upper_bound
        demand(kept, "lost upper bound", f"{seen[-1].upper_bound!r}, then {result.upper_bound!r}")
    if result.status is Status.INTERRUPTED:
        demand(len(seen) >= stops.get("reports", math.inf), "status", "interrupted by nobody")
    if result.status is Status.MEMORY_LIMIT:
        demand("memory_limit" in stops, "status", f"memory limit struck; the limits are {stops}")


def smaller(case: Case) -> Iterator[Case]:
    """Fewer options and stops, then smaller problems."""
    for part in ("options", "stops"):
        for name in case[part]:
            made = copy.deepcopy(case)
            del made[part][name]
            yield made
    for raw in smaller_problems(case["problem"]):
        yield {**case, "problem": raw}


CAMPAIGN = Campaign("limits", draw, check, smaller)
