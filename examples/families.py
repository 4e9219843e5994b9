"""Families of problems for benchmark runs, of three domains: warehouse, sensors and batteries.

A run loads this file as a module, and its configuration names the families as test sets:
coreplan bench run examples/bench/families.yaml
"""

from __future__ import annotations

from batteries import Batteries, Household
from coreplan import TIMMDP, ModelError
from coreplan.bench.sets import Parameter, TestSet, register_test_set
from coreplan.bench.sets.draw import Draw
from coreplan.bench.sets.parameters import EACH
from sensors import sensors as row_of_sensors
from warehouse import Robot, Warehouse

DOCKS, SHELVES = "abcdefgh", "ABCDEFGH"


def make_warehouse(draw: Draw, name: str, *, agents: int, size: int, horizon: int) -> TIMMDP:
    """Draw a square hall with pillars: docks at its left side, shelves anywhere else."""
    free = [
        (row, column) for row in range(size) for column in range(size) if not row % 2 * column % 2
    ]
    docks = draw.some([place for place in free if place[1] == 0], agents)
    shelves = draw.some([place for place in free if place[1] > size // 2], agents)
    letters = {
        **dict(zip(docks, DOCKS, strict=False)),
        **dict(zip(shelves, SHELVES, strict=False)),
    }
    hall = "\n".join(
        "".join(letters.get((row, column), ".#"[row % 2 * column % 2]) for column in range(size))
        for row in range(size)
    )
    robots = tuple(Robot(f"robot {k + 1}", DOCKS[k], SHELVES[k]) for k in range(agents))
    return Warehouse(robots, horizon, hall, name=name).to_timmdp()


def check_warehouse(*, agents: int, size: int, horizon: int) -> None:
    """Raise an error if the left side of the hall is too short for the docks of all robots."""
    if agents > size:
        raise ModelError(f"agents is {agents}; expected at most the size of the hall, {size}")


def make_sensors(draw: Draw, name: str, *, sensors: int, targets: int, horizon: int) -> TIMMDP:
    """Draw how the targets move and how long the batteries of the sensors last."""
    made = row_of_sensors(
        sensors,
        targets,
        horizon,
        drain=draw.uniform(0.3, 0.7, 1),
        moves=draw.uniform(0.2, 0.6, 1),
    )
    return TIMMDP(made.agents, made.rewards, horizon, name)


def make_batteries(draw: Draw, name: str, *, agents: int, horizon: int, share: float) -> TIMMDP:
    """Draw the households and the prices; the connection is for a share of what all could draw."""
    homes = tuple(
        Household(
            f"home {k + 1}",
            capacity=draw.integer(2, 4),
            charge=draw.integer(0, 2),
            change=draw.uniform(0.1, 0.5, 1),
        )
        for k in range(agents)
    )
    prices = tuple(draw.uniform(1.0, 5.0, 1) for _ in range(horizon))
    most = sum(home.high + 1 for home in homes)
    return Batteries(homes, prices, limit=round(share * most), name=name).to_timmdp()


FAMILIES = (
    TestSet(
        "warehouse",
        "robots that fetch goods in a hall with pillars, and must not meet",
        3,
        {
            "agents": Parameter((2, 3, 4, 5), "robots", EACH, least=1, most=len(DOCKS)),
            "size": Parameter(5, "places in a row of the hall", least=3, most=20),
            "horizon": Parameter(12, "steps", least=1, most=200),
        },
        make_warehouse,
        check_warehouse,
    ),
    TestSet(
        "sensors",
        "sensors in a row that track moving targets, two at a time",
        3,
        {
            "sensors": Parameter((3, 5, 7), "sensors; a target is one more agent", EACH, least=2),
            "targets": Parameter(2, "targets", least=1),
            "horizon": Parameter(8, "steps", least=1, most=200),
        },
        make_sensors,
    ),
    TestSet(
        "batteries",
        "households with batteries behind a connection that is too small for all of them",
        3,
        {
            "agents": Parameter((2, 4, 8, 16, 30), "households", EACH, least=1, most=1000),
            "horizon": Parameter(12, "prices", least=1, most=200),
            "share": Parameter(0.6, "the connection, as a share of the most they can draw", most=1),
        },
        make_batteries,
    ),
)

for family in FAMILIES:
    register_test_set(family)
