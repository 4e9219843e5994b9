"""Campaign: random problems, solved by every algorithm, against the judge."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

from clocks import ticking
from coreplan import Result, Status, solve
from explore.campaign import Campaign, Case
from explore.checks import check_result, check_solved
from explore.complaint import Complaint
from explore.drawing import draw_problem
from explore.shrinking import shorter, smaller_problems
from helpers import ALGORITHMS, EAGER, from_file
from judge import Problem, optimal_value

FIRST_LIMIT = 2.0
"""Seconds for a first try, counted by looks at a clock; most problems need a few milliseconds."""

PATIENCE = 60.0
"""Counted work after which `core` counts as endless on a problem this small."""


ENDLESS = "endless"


def draw(seed: int) -> Case:
    """Draw a problem, and some of the algorithms."""
    drawn = random.Random(f"problems {seed}")
    problem = draw_problem(drawn, seed)
    solvers = [*ALGORITHMS, ("dec-mdp", {}), ("core", {"threads": 2, "exact": False})]
    chosen = [[name, dict(options)] for name, options in drawn.sample(solvers, 7)]
    return {"problem": problem, "solvers": chosen, "patience": PATIENCE}


def check(case: Case) -> None:
    """Solve by each algorithm and check what each claims."""
    raw = case["problem"]
    problem = from_file(raw)
    optimum = optimal_value(raw)
    for algorithm, options in case["solvers"]:
        try:
            eager = EAGER if case.get("eager") and algorithm == "core" else {}
            result = _solve(problem, algorithm, {**options, **eager}, case["patience"])
            check_answer(raw, optimum, result)
        except Complaint as complaint:
            # By algorithm, so that shrinking does not end at another one's failure.
            check_name = f"{algorithm}: {complaint.check}"
            raise Complaint(check_name, f"{options}: {complaint.words}") from None


def _solve(problem: Any, algorithm: str, options: dict[str, Any], patience: float) -> Result:
    """Solve; insist that `core` comes to an end."""
    if algorithm != "core":  # the published searches may take exponential time
        with ticking():
            return solve(problem, algorithm=algorithm, time_limit=FIRST_LIMIT, **options)
    # The engine must not, on so little.
    result = solve(problem, algorithm=algorithm, work_limit=patience or FIRST_LIMIT, **options)
    if patience and result.status is Status.TIME_LIMIT:
        gap = result.upper_bound - result.value
        raise Complaint(ENDLESS, f"not done after {patience} units of work; gap {gap:.3g}")
    return result


def check_answer(raw: Problem, optimum: float, result: Result) -> None:
    """What holds of an answer that nothing but time may have stopped."""
    check_result(raw, optimum, result)
    if result.status is not Status.TIME_LIMIT:
        check_solved(raw, result)


def smaller(case: Case) -> Iterator[Case]:
    """Fewer solvers, fewer options, then smaller problems."""
    # So much patience is for the first time and the last; in between, less has to do.
    if case["patience"] > FIRST_LIMIT:
        yield {**case, "patience": FIRST_LIMIT}
    for fewer in shorter(case["solvers"]):
        if fewer:
            yield {**case, "solvers": fewer}
    for k, (_, options) in enumerate(case["solvers"]):
        for name in options:
            made = copy.deepcopy(case)
            del made["solvers"][k][1][name]
            yield made
    if case.get("eager"):
        yield {**case, "eager": False}
    for raw in smaller_problems(case["problem"]):
        yield {**case, "problem": raw}


CAMPAIGN = Campaign("problems", draw, check, smaller, share=2.0)
