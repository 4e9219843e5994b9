"""Partners: several processes that make one solve, and meet after each round of shared work.

Every partner takes the same course with the whole problem; only the pieces of long rounds are
divided (``cpp/support/partners.hpp``). The core gives each partner's results to a carrier, an
object of Python, and asks it for those of the others. Who is lost, or is on another course than the
first partner, takes no further part. The others then do its pieces themselves, so bounds and plan
do not depend on who takes part.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from coreplan.errors import SolverError

LEAST_WORK = 0.02
"""Least work of a round that is divided: telling the others takes some milliseconds."""
FIRST = 0
"""The partner that has the limits and returns the answer."""


class LeftOutError(SolverError):
    """A partner that takes no further part in a solve asked for its results."""


@dataclass(frozen=True)
class Outcome:
    """What partners gave in a round: each one's parcel, of those who stay."""

    parcels: dict[int, Any]

    @property
    def members(self) -> tuple[int, ...]:
        """Who takes part in the next round."""
        return tuple(self.parcels)


class Meeting:
    """Where partners meet: collects what they give, and decides who takes part.

    A round ends when everybody who still takes part has given a parcel.
    """

    def __init__(self, count: int) -> None:
        self.members: tuple[int, ...] = tuple(range(count))
        self._changed = threading.Condition()
        self._round = 0
        self._given: dict[int, tuple[int, Any]] = {}
        self._outcomes: dict[int, Outcome] = {}

    def give(self, who: int, number: int, course: int, parcel: Any) -> None:
        """Give a partner's parcel of a round."""
        with self._changed:
            if who in self.members and number == self._round:
                self._given[who] = (course, parcel)
                self._end_round()

    def leave(self, who: int) -> None:
        """Go on without a partner."""
        with self._changed:
            if who in self.members and who != FIRST:
                self.members = tuple(each for each in self.members if each != who)
                self._given.pop(who, None)
                self._end_round()

    def missing(self) -> tuple[int, ...]:
        """Partners that the current round waits for."""
        with self._changed:
            return tuple(each for each in self.members if each not in self._given)

    def outcome(self, number: int, seconds: float | None) -> Outcome | None:
        """Wait for the outcome of a round; None if that takes longer than the given time.

        Of a round before the last one, nothing is left: who asks for it takes no part any more.
        """
        with self._changed:
            self._changed.wait_for(lambda: number < self._round, seconds)
            ended = number < self._round
            return self._outcomes.get(number, Outcome({})) if ended else None

    def _end_round(self) -> None:
        if any(each not in self._given for each in self.members):
            return
        course = self._given[FIRST][0]
        self.members = tuple(each for each in self.members if self._given[each][0] == course)
        parcels = {each: self._given[each][1] for each in self.members}
        self._outcomes[self._round] = Outcome(parcels)
        # Everybody who is still there has seen the outcome of the round before.
        self._outcomes.pop(self._round - 1, None)
        self._round += 1
        self._given = {}
        self._changed.notify_all()


class Transport(Protocol):
    """The way to a meeting."""

    def give(self, who: int, number: int, course: int, parcel: bytes) -> None:
        """Give a partner's parcel of a round."""

    def outcome(self, number: int, seconds: float) -> Outcome | None:
        """Wait for the outcome of a round; parcels that are lost are None."""


class Carrier:
    """A partner's place in a meeting, as the core sees it.

    Parameters
    ----------
    who
        Number of the partner.
    count
        Number of partners at the start.
    transport
        The way to the meeting.
    least_work
        Least work of a round that is divided, in units of about a second of one thread.

    Attributes
    ----------
    rounds
        Number of shared rounds so far.
    sent, received
        Bytes of the parcels that this partner gave and got.
    noted
        Called at the end of each round with the work of its pieces, about, and the bytes of all
        parcels; for measurements.
    """

    def __init__(
        self, who: int, count: int, transport: Transport, least_work: float = LEAST_WORK
    ) -> None:
        self.least_work = least_work
        self._who = who
        self._members: Sequence[int] = tuple(range(count))
        self._transport = transport
        self.rounds = 0
        self.sent = 0
        self.received = 0
        self.noted: Callable[[Sequence[float], int], object] | None = None
        self._work: Sequence[float] = ()

    @property
    def count(self) -> int:
        """Number of partners in the next round."""
        return len(self._members)

    @property
    def place(self) -> int:
        """The position of this partner among them."""
        return self._members.index(self._who)

    def give(self, course: int, work: Sequence[float], parcel: bytes) -> None:
        """Give what this partner has found in the current round, of pieces with so much work."""
        self._work = work
        self.sent += len(parcel)
        self._transport.give(self._who, self.rounds, course, parcel)

    def collect(self, seconds: float) -> list[bytes | None] | None:
        """All partners' parcels in order, None for who is lost; None if the round goes on.

        Raises
        ------
        LeftOutError
            If this partner is on another course than the first one.
        """
        outcome = self._transport.outcome(self.rounds, seconds)
        if outcome is None:
            return None
        if self._who not in outcome.members:
            raise LeftOutError("this process takes no further part in the solve")
        parcels = [outcome.parcels.get(each) for each in self._members]
        self.received += sum(
            len(parcel)
            for each, parcel in zip(self._members, parcels, strict=True)
            if parcel is not None and each != self._who
        )
        if self.noted is not None:
            self.noted(self._work, sum(len(each) for each in parcels if each is not None))
        self._members = outcome.members
        self.rounds += 1
        return parcels
