"""One solve by several partners: the same bounds, plan and counted work as by one process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from coreplan import CoreOptions, MaintenanceProblem, Result, SolverError, solve
from coreplan.bench.sets import generate
from coreplan.model.timmdp import TIMMDP
from coreplan.solving.engine.core import _solve
from coreplan.solving.limits import Limits
from coreplan.solving.partners import FIRST, Carrier, LeftOutError, Meeting, Outcome
from coreplan.solving.task import SolverTask
from helpers import fingerprint
from waiting import HANG

AnyProblem = TIMMDP | MaintenanceProblem
OPTIONS: dict[str, Any] = {"work_limit": 0.25, "threads": 1, "exact": False, "search": False}


@dataclass
class Partner:
    """A thread that takes part in a solve."""

    carrier: Carrier
    result: Result | None = None
    error: BaseException | None = None
    thread: threading.Thread = field(init=False)

    def start(self, problem: AnyProblem, options: CoreOptions) -> None:
        """Start the solve."""

        def run() -> None:
            limits = Limits()
            limits.monitor.set_partners(self.carrier)
            try:
                task = SolverTask(problem, 0, None, limits, options.tolerance)
                self.result = _solve(task, options)
            except BaseException as error:
                self.error = error

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()


class Breaking:
    """A way to a meeting on which a partner does something else from a round on."""

    def __init__(
        self, meeting: Meeting, number: int, deed: Callable[[Breaking, int], None]
    ) -> None:
        self.meeting = meeting
        self._number = number
        self._deed = deed
        self.course_error = 0
        self.cut = False

    def give(self, who: int, number: int, course: int, parcel: bytes) -> None:
        """Give a parcel, or what is left of it."""
        if number == self._number:
            self._deed(self, who)
        sent = parcel[: len(parcel) // 2] if self.cut else parcel
        self.meeting.give(who, number, course + self.course_error, sent)

    def outcome(self, number: int, seconds: float) -> Outcome | None:
        """The outcome of a round, as it is."""
        return self.meeting.outcome(number, seconds)


def solve_together(
    problem: AnyProblem,
    count: int,
    deed: Callable[[Breaking, int], None] | None = None,
    number: int = 1,
    **changes: Any,
) -> list[Partner]:
    """Solve with several partners; the last one does something else from a round on."""
    meeting = Meeting(count)
    partners = []
    for who in range(count):
        breaks = deed is not None and who == count - 1
        way = Breaking(meeting, number, deed) if breaks and deed is not None else meeting
        partners.append(Partner(Carrier(who, count, way, least_work=0.0)))
    for partner in partners:
        partner.start(problem, CoreOptions(**OPTIONS | changes))
    for partner in partners:
        partner.thread.join(HANG)
        assert not partner.thread.is_alive()
    return partners


def the_problem(agents: int) -> AnyProblem:
    """Contractors that all hinder each other."""
    (instance,) = generate("mpp", 1, agents=[agents], horizon=[9], density=1.0)
    return instance.problem


def same(one: Result | None, other: Result) -> bool:
    """Whether two results are equal in all but time and memory."""
    return one is not None and fingerprint(one) == fingerprint(other)


@pytest.fixture(scope="module", params=[5, 12])
def alone(request: pytest.FixtureRequest) -> tuple[AnyProblem, Result]:
    """A problem solved by one process: of a team that acts together, or in clusters."""
    problem = the_problem(request.param)
    return problem, solve(problem, **OPTIONS)


@pytest.mark.parametrize("count", [2, 3])
def test_partners_give_the_same_result(alone: tuple[AnyProblem, Result], count: int) -> None:
    """Every partner ends with the result of one process."""
    problem, expected = alone
    partners = solve_together(problem, count)
    for partner in partners:
        assert partner.error is None
        assert same(partner.result, expected)
        assert partner.carrier.rounds > 3
        assert partner.carrier.received > 0


def test_threads_of_partners_change_nothing(alone: tuple[AnyProblem, Result]) -> None:
    """Partners may have several threads."""
    problem, expected = alone
    for partner in solve_together(problem, 2, threads=2):
        assert same(partner.result, expected)


def leave(way: Breaking, who: int) -> None:
    """Lose the way to the meeting."""
    way.meeting.leave(who)
    raise ConnectionError("lost")


def change_course(way: Breaking, _: int) -> None:
    """Say that something else was done."""
    way.course_error = 1


def cut_parcels(way: Breaking, _: int) -> None:
    """Lose half of every parcel."""
    way.cut = True


def test_a_lost_partner_changes_nothing(alone: tuple[AnyProblem, Result]) -> None:
    """Its pieces are done by the others."""
    problem, expected = alone
    *others, lost = solve_together(problem, 3, leave)
    assert isinstance(lost.error, ConnectionError)
    for partner in others:
        assert same(partner.result, expected)
        assert partner.carrier.count == 2


def test_the_last_partner_goes_on_alone(alone: tuple[AnyProblem, Result]) -> None:
    """Nobody has to be left."""
    problem, expected = alone
    first, _ = solve_together(problem, 2, leave)
    assert same(first.result, expected)
    assert first.carrier.count == 1


def test_a_partner_on_another_course_is_left_out(alone: tuple[AnyProblem, Result]) -> None:
    """Who does something else could only give wrong results."""
    problem, expected = alone
    *others, astray = solve_together(problem, 3, change_course)
    assert isinstance(astray.error, LeftOutError)
    for partner in others:
        assert same(partner.result, expected)


def test_damaged_parcels_are_done_again(alone: tuple[AnyProblem, Result]) -> None:
    """What cannot be read is done here."""
    problem, expected = alone
    for partner in solve_together(problem, 2, cut_parcels):
        if partner.carrier.place == FIRST:  # the other one trusts its own results
            assert same(partner.result, expected)


def test_partners_of_different_problems_do_not_mix() -> None:
    """The first one decides; the other one is left out at once."""
    problem = the_problem(5)
    meeting = Meeting(2)
    first = Partner(Carrier(0, 2, meeting, least_work=0.0))
    second = Partner(Carrier(1, 2, meeting, least_work=0.0))
    first.start(problem, CoreOptions(**OPTIONS))
    second.start(the_problem(6), CoreOptions(**OPTIONS))
    for each in (first, second):
        each.thread.join(HANG)
    assert same(first.result, solve(problem, **OPTIONS))
    assert isinstance(second.error, LeftOutError)


class TestMeeting:
    """The meeting alone."""

    def test_a_round_ends_when_all_have_given(self) -> None:
        """Not before."""
        meeting = Meeting(2)
        meeting.give(0, 0, 7, b"a")
        assert meeting.outcome(0, 0) is None
        assert meeting.missing() == (1,)
        meeting.give(1, 0, 7, b"b")
        outcome = meeting.outcome(0, 0)
        assert outcome is not None
        assert outcome.parcels == {0: b"a", 1: b"b"}

    def test_leaving_ends_a_round_that_waits(self) -> None:
        """The others go on."""
        meeting = Meeting(3)
        meeting.give(0, 0, 7, b"a")
        meeting.give(2, 0, 7, b"c")
        meeting.leave(1)
        outcome = meeting.outcome(0, 0)
        assert outcome is not None
        assert outcome.members == (0, 2)

    def test_only_the_last_outcome_is_kept(self) -> None:
        """Whoever asks for an older one has been left out."""
        meeting = Meeting(2)
        for number in range(3):
            for who in (0, 1):
                meeting.give(who, number, number, b"")
        kept = [meeting.outcome(number, 0) for number in range(4)]
        assert [None if each is None else each.members for each in kept] == [(), (), (0, 1), None]

    def test_the_first_partner_cannot_leave(self) -> None:
        """It has the answer."""
        meeting = Meeting(2)
        meeting.leave(FIRST)
        assert meeting.members == (0, 1)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"address": "auto"}, "address is for cluster='ray'"),
        ({"workers": 2}, "workers is for cluster='ray'"),
        ({"cluster": "ray", "deterministic": False}, "needs deterministic=True"),
        ({"cluster": "cloud"}, "expected one of 'local', 'ray'"),
        ({"cluster": "ray", "address": ""}, "expected a text"),
    ],
)
def test_options_of_clusters_are_checked(options: dict[str, Any], expected: str) -> None:
    """Before anything is solved."""
    with pytest.raises(SolverError, match=expected):
        CoreOptions(**options)
