"""Policies that look ahead, from bases at random."""

from __future__ import annotations

from random import Random

import numpy as np

from coreplan import MaintenanceProblem, Policy, _core
from coreplan.model.timmdp import TIMMDP
from coreplan.policies.lookahead import LookaheadRule
from coreplan.policies.rules import LocalRule
from coreplan.solving.compile import compile_problem
from coreplan.solving.engine.core import STEPS
from coreplan.solving.engine.way_back import make_reduced, map_local, reduce_model
from coreplan.solving.limits import Limits
from coreplan.solving.lookahead import model_of
from coreplan.solving.maps import make_maps


def ahead_policy(
    problem: TIMMDP | MaintenanceProblem, draw: Random, *, merge: bool = True
) -> Policy | None:
    """All agents look ahead, from policies of single agents; None if that is not possible.

    With one base, the policy without looking ahead follows it, except in states that the engine
    leaves out.
    """
    limits = Limits()
    compiled = compile_problem(problem, merge=merge, limits=limits)
    reduction = reduce_model(compiled, dict.fromkeys(STEPS, True), limits)
    count = len(compiled.indexed.agents)
    everyone = list(range(count))
    if count < 2:
        return None
    model = _core.restrict_to(reduction.model, everyone)
    bases = [_random_base(model, count, draw) for _ in range(draw.randint(1, 2))]
    if not _core.Lookahead.applies(model, bases):
        return None
    reduced = [make_reduced(compiled, reduction, i) for i in everyone]
    alone = _core.independent_bounds(compiled.model, limits.monitor)
    local = [
        map_local(compiled, reduction, reduced[i], i, bases[0].local(i), alone.action(i))
        for i in everyone
    ]
    rule = LookaheadRule(tuple(everyone), tuple(reduced), model_of(model, count, bases))
    return Policy(
        compiled.problem,
        compiled.indexed,
        make_maps(compiled),
        (),
        LocalRule(tuple(local)),
        history=not compiled.merged,
        ahead=[rule],
    )


def _random_base(model: _core.CompiledModel, agents: int, draw: Random) -> _core.TeamPolicy:
    local = []
    for i in range(agents):
        widths = np.diff(model.action_begin(i).astype(np.int64)).tolist()
        local.append(np.array([draw.randrange(width) if width else 0 for width in widths], "u4"))
    return _core.TeamPolicy(local, [])
