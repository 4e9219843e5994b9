"""The test sets: those of the paper, and two of our own. See docs/test-sets.md."""

from __future__ import annotations

from collections.abc import Mapping

from coreplan.bench.sets.coordint import check_coordint, make_coordint
from coreplan.bench.sets.mixed import make_mixed
from coreplan.bench.sets.parameters import EACH, IN_TURN, Parameter, TestSet
from coreplan.bench.sets.works import (
    DURATIONS,
    NETWORKS,
    REVENUES,
    check_large,
    check_works,
    make_large,
    make_works,
)
from coreplan.support.checks import MOST_STAGES
from coreplan.support.frozen import FrozenMapping

MOST_AGENTS = 10_000


def _works(
    agents: Parameter, horizon: Parameter, *, tasks: int, network: str
) -> dict[str, Parameter]:
    """The parameters of sets that :func:`make_works` makes; docs/test-sets.md has the reasons."""
    return {
        "agents": agents,
        "tasks": Parameter(tasks, "works of each contractor", least=1, most=50),
        "horizon": horizon,
        "durations": Parameter(
            "drawn", "steps of works that are not delayed: at random, or one", choices=DURATIONS
        ),
        "idle": Parameter(
            1,
            "steps that are left even if all works are delayed; fewer if a delay needs them",
            most=MOST_STAGES,
        ),
        "revenue": Parameter(
            "none", "revenue of works; with a revenue they need not be done", choices=REVENUES
        ),
        "network": Parameter(
            network, "which works hinder each other: any pairs, or by a structure", choices=NETWORKS
        ),
        "density": Parameter(
            1.0, "pairs: the chance that two works of two contractors hinder each other", most=1
        ),
        "links": Parameter(
            4, "tree: pairs of works that hinder each other, of two joined contractors", most=2500
        ),
    }


def _rand(horizon: int) -> TestSet:
    return TestSet(
        f"rand{horizon}",
        f"two contractors with two works each, horizon {horizon}; every pair of works of the two "
        "hinders each other",
        1000,
        _works(
            Parameter(2, "contractors", least=1, most=MOST_AGENTS),
            Parameter(horizon, "steps", least=1, most=MOST_STAGES),
            tasks=2,
            network="pairs",
        ),
        make_works,
        check_works,
    )


TEST_SETS: Mapping[str, TestSet] = FrozenMapping(
    {
        each.name: each
        for each in (
            _rand(3),
            _rand(4),
            _rand(5),
            TestSet(
                "coordint",
                "two contractors, tightly coupled: a delay leads to hindrance unless the other one "
                "reacts when it becomes known",
                1000,
                {
                    "agents": Parameter(2, "contractors", least=2, most=2),
                    "tasks": Parameter(2, "works of each contractor", least=2, most=2),
                    "horizon": Parameter(
                        (3, 5, 7), "steps, an odd number", IN_TURN, least=3, most=9999
                    ),
                    "cost": Parameter(1.0, "factor of what work costs", most=1),
                    "probability": Parameter(
                        1.0, "the most likely that a delay gets", least=0.02, most=1
                    ),
                },
                make_coordint,
                check_coordint,
            ),
            TestSet(
                "mpp",
                "2 to 4 contractors with three works each; they form a random tree of hindrance",
                400,
                _works(
                    Parameter((2, 3, 4), "contractors", EACH, least=1, most=MOST_AGENTS),
                    Parameter((5, 6, 7, 8, 9, 10), "steps", IN_TURN, least=1, most=MOST_STAGES),
                    tasks=3,
                    network="tree",
                ),
                make_works,
                check_works,
            ),
            TestSet(
                "pyra",
                "pyramids: the first work of contractor k hinders the first works of contractors "
                "2k and 2k + 1",
                20,
                _works(
                    Parameter(
                        (2, 3, 4, 5, 6, 7, 8, 10, 15, 20, 31, 63),
                        "contractors",
                        EACH,
                        least=1,
                        most=MOST_AGENTS,
                    ),
                    Parameter((4, 5, 6, 7, 8), "steps", EACH, least=1, most=MOST_STAGES),
                    tasks=3,
                    network="pyramid",
                ),
                make_works,
                check_works,
            ),
            TestSet(
                "large",
                "10 to 300 contractors over half a year or a year, with low or high contention",
                4,
                {
                    "agents": Parameter(
                        (10, 30, 100, 300), "contractors", EACH, least=2, most=MOST_AGENTS
                    ),
                    "contention": Parameter(
                        ("low", "high"),
                        "how much they get into each other's way",
                        EACH,
                        choices=("low", "high"),
                    ),
                    "tasks": Parameter(3, "works of each contractor", least=1, most=50),
                    "horizon": Parameter(
                        (52, 26), "steps, at least 6 for each work", IN_TURN, least=6, most=9999
                    ),
                },
                make_large,
                check_large,
            ),
            TestSet(
                "mixed",
                "random TI-MMDPs that are not maintenance problems: cyclic, with rewards of all "
                "kinds and of two, three or more agents",
                200,
                {
                    "agents": Parameter((3, 4, 5), "agents", IN_TURN, least=3, most=100),
                    "horizon": Parameter((3, 4, 5, 6), "stages", IN_TURN, least=1, most=1000),
                    "states": Parameter(4, "most local states of an agent", least=2, most=100),
                    "actions": Parameter(3, "most actions in a state", least=2, most=100),
                    "density": Parameter(0.5, "the chance that two agents interact", most=1),
                    "apart": Parameter(
                        0.2, "the chance that one agent of four or more interacts with none", most=1
                    ),
                },
                make_mixed,
            ),
        )
    }
)
"""All test sets by name."""
