"""Campaign: the engine with its steps and ideas switched on and off at random."""

from __future__ import annotations

import random
from typing import Any

from explore import problems
from explore.campaign import Campaign, Case
from explore.drawing import draw_problem
from helpers import CORE_STEPS

IDEAS = ("split", "skip", "floors", "tables")
"""Options of `core` that switch off an idea of the search."""


def draw(seed: int) -> Case:
    """Draw a problem and four configurations of `core`."""
    drawn = random.Random(f"configurations {seed}")
    problem = draw_problem(drawn, seed)
    configurations = [["core", draw_options(drawn)] for _ in range(4)]
    return {
        "problem": problem,
        "solvers": configurations,
        "patience": problems.PATIENCE,
        "eager": drawn.random() < 0.5,
    }


def draw_options(drawn: random.Random) -> dict[str, Any]:
    """Some switches of `core`, and a number of threads."""
    options: dict[str, Any] = {"threads": drawn.choice([1, 1, 2, 3])}
    if drawn.random() < 0.7:
        options["exact"] = False
    part = drawn.choice([0.0, 0.15, 0.5])
    options |= {name: False for name in (*CORE_STEPS, *IDEAS) if drawn.random() < part}
    if drawn.random() < 0.3:
        options["seed"] = drawn.randrange(2**32)
    if drawn.random() < 0.3:
        options["deterministic"] = False
    return options


CAMPAIGN = Campaign("configurations", draw, problems.check, problems.smaller, share=2.0)
