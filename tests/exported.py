"""Plans for the tests of exports, and names that try to break every format."""

from __future__ import annotations

import datetime

from coreplan import (
    Contractor,
    ContractorState,
    Delay,
    Hindrance,
    MaintenanceProblem,
    Policy,
    Task,
    solve,
)
from coreplan.domains.maintenance import schedule_policy
from coreplan.model.calendar import Calendar

MONDAY = datetime.date(2026, 3, 2)
WEEKS, DAYS = Calendar(MONDAY, "week"), Calendar(MONDAY, "day")
STAMP = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)

HOSTILE = [
    '=HYPERLINK("http://evil","x")',
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    " =1+1",
    "'=1+1",
    "x;=1+1",
    'x";=1+1',
    "x,=1+1",
    "#REF!",
    "a\nBEGIN:VEVENT\r\nSUMMARY:false",
    "</Name><Evil>&amp;]]><!--",
    "\x00\x01\x1f bell \x07 \ufffe",
    "half \ud800 of a character",
    "emoji 🚧👷🏽‍♀️ and ünïcödé",
    "שלום right to left \u202e",
    "long " * 200,
    "works",
    "Hindrance",
    "History",
    "[a]:*?\\b",
    "'quoted'",
    "&P &Z",
    "$\\frac{1}{$",
]
"""Names of contractors and works; some differ only in characters that no format has."""


def small() -> MaintenanceProblem:
    """Two contractors whose works hinder each other; the first work can be delayed."""
    return MaintenanceProblem(
        (
            Contractor(
                "Alpha",
                (
                    Task("a1", 2, cost=3.5, revenue=20, delay=Delay(0.3, 2)),
                    Task("a2", 1, cost=[1, 2, 3, 4, 5, 6, 7, 8, 9.25, 10], revenue=30),
                ),
            ),
            Contractor("Beta", (Task("b1", 2, cost=1, revenue=15, window=(2, 7)),)),
        ),
        horizon=10,
        network=(Hindrance(("Alpha/a1", "Beta/b1"), cost=7.5),),
        name="small plan",
    )


def small_plan() -> Policy:
    """The best plan of the small problem."""
    policy = solve(small()).policy
    assert policy is not None
    return policy


def later_plan() -> Policy:
    """A plan from step 3 on: a1 is under way, b1 is done."""
    state = {"Alpha": ContractorState(doing="a1", remaining=1), "Beta": ContractorState(("b1",))}
    policy = solve(small(), stage=3, state=state).policy
    assert policy is not None
    return policy


def hostile_plan() -> Policy:
    """A plan in which all names are hostile."""
    contractors = tuple(
        Contractor(name, (Task(name.replace("/", "|"), 1, cost=1, delay=Delay(0.5, 1)),))
        for name in (each.replace("/", "|") for each in HOSTILE)
    )
    first, second = contractors[0], contractors[1]
    rule = (f"{first.name}/{first.tasks[0].name}", f"{second.name}/{second.tasks[0].name}")
    problem = MaintenanceProblem(
        contractors, horizon=6, network=(Hindrance(rule, cost=1),), name=HOSTILE[0] + HOSTILE[15]
    )
    return schedule_policy(
        problem, {each.name: {each.tasks[0].name: k % 4} for k, each in enumerate(contractors)}
    )
