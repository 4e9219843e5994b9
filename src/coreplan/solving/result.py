"""Results of solvers: value, bounds, status, work and policy."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from coreplan.errors import (
    CertificateError,
    CoreplanError,
    Diagnostic,
    FormatError,
    ModelError,
    SolverError,
)
from coreplan.files.writing import write_document
from coreplan.model.problem import Words
from coreplan.policies.policy import Policy
from coreplan.proof.certificate import Certificate, write_certificate
from coreplan.support.frozen import FrozenMapping
from coreplan.support.language import money_text, say_count
from coreplan.support.late import late

OPTIMAL_TOLERANCE = 1e-6
"""`optimal` means: upper bound - value is at most this times max(1, \\|value\\|)."""
UNSAID_TOLERANCE = 1e-9
"""The tolerance of results in files that do not state one."""


class Status(StrEnum):
    """Why a solver stopped."""

    OPTIMAL = "optimal"
    TIME_LIMIT = "time_limit"
    MEMORY_LIMIT = "memory_limit"
    INTERRUPTED = "interrupted"
    GAP_LIMIT = "gap_limit"


def is_closed(value: float, upper_bound: float, tolerance: float = OPTIMAL_TOLERANCE) -> bool:
    """Whether the bounds are so close that a value counts as optimal."""
    return upper_bound - value <= tolerance * max(1.0, abs(value))


def unproven_team(words: Words, names: Sequence[str], gap: float) -> str:
    """The message about a team whose plan is not proven optimal, in the terms of its domain."""
    if words.agent == "contractor":
        return say_count(
            len(names),
            "not yet proven best: {number:,} contractor, {name}; a better plan could gain at most "
            "{amount}",
            "not yet proven best: {number:,} contractors that influence each other, {name} among "
            "them; a better plan could gain at most {amount}",
            name=repr(names[0]),
            amount=money_text(f"{gap:.4g}"),
        )
    best = "best" if words.money else "optimal"
    who = f"{len(names)} {words.agent}s that influence each other, {names[0]!r} among them"
    return f"not yet proven {best}: {who}; a better plan could gain at most {gap:.4g}"


@dataclass(frozen=True)
class Statistics:
    """The amount of work of a solve.

    Attributes
    ----------
    joint_states_expanded
        Expansions of a (stage, states of a group of agents); the same one twice counts 2.
    joint_actions_evaluated
        Joint actions of a group whose value was computed, or whose bound was refined, from
        successors.
    peak_memory_mb
        Largest amount of memory of the process so far, in MB.
    others
        Further counts by name, for instance ``kernel_cells`` or ``crg_nodes``.
    """

    joint_states_expanded: int = 0
    joint_actions_evaluated: int = 0
    peak_memory_mb: float = 0.0
    others: Mapping[str, float] = field(default_factory=FrozenMapping)

    def __post_init__(self) -> None:
        object.__setattr__(self, "others", FrozenMapping(self.others))

    def to_dict(self) -> dict[str, float]:
        """All counts by name."""
        return {
            "joint_actions_evaluated": self.joint_actions_evaluated,
            "joint_states_expanded": self.joint_states_expanded,
            "peak_memory_mb": self.peak_memory_mb,
            **self.others,
        }


@dataclass(frozen=True)
class ValueEstimate:
    """The simulated value of a plan that decides as it goes.

    The value of the plan is certainly at least `Result.value`. It is at least `lower` with the
    given probability, by the normal approximation.

    Attributes
    ----------
    value
        The mean over the runs.
    standard_error
        The standard error of this mean.
    lower
        The lower end of the one-sided confidence interval, at least the certain value.
    confidence
        The approximate probability that the plan's value is at least `lower`.
    runs
        The number of runs.
    """

    value: float
    standard_error: float
    lower: float
    confidence: float
    runs: int

    def to_dict(self) -> dict[str, float]:
        """The parts by name, as in ``result/1``."""
        return {
            "value": self.value,
            "standard_error": self.standard_error,
            "lower": self.lower,
            "confidence": self.confidence,
            "runs": self.runs,
        }


class PendingCertificate:
    """A certificate that is made when it is first needed, and then kept.

    Parameters
    ----------
    make
        Makes the certificate. It is dropped afterwards, with everything that it refers to.
    """

    def __init__(self, make: Callable[[], Certificate]) -> None:
        self._make: Callable[[], Certificate] | None = make
        self._made: Certificate | None = None

    def get(self) -> Certificate:
        """The certificate."""
        if self._made is None:
            assert self._make is not None
            self._made = self._make()
            self._make = None
        return self._made


@dataclass(frozen=True)
class Result:
    """The outcome of a solve.

    The bounds are valid in every status, and `value` is the proven value of the policy:
    ``lower_bound == value <= optimal value <= upper_bound``.

    Attributes
    ----------
    problem
        The problem's name.
    algorithm
        The algorithm's name.
    objective
        ``centralised`` (all agents see all states) or ``decentralised``.
    status
        Why the solver stopped; ``optimal`` only if proven.
    value, lower_bound, upper_bound
        The policy's value and the proven bounds on the optimum.
    seconds
        Wall time from the problem in memory to the result.
    statistics
        Amount of work.
    message
        Further reasons why the solver stopped, or an empty text.
    policy
        The best policy found; None if the result was read from a file.
    tolerance
        ``optimal`` means that the gap is at most this part of the value (of 1 if that is larger).
    pending_certificate
        Makes a certificate of the bounds, if :func:`coreplan.solve` was asked for one.
    estimate
        The simulated value of a plan that decides as it goes; None for all others, whose value is
        known exactly or bounded as closely as the solver can.
    """

    problem: str
    algorithm: str
    status: Status
    value: float
    lower_bound: float
    upper_bound: float
    seconds: float
    statistics: Statistics = field(default_factory=Statistics)
    objective: str = "centralised"
    message: str = field(default="", compare=False)
    policy: Policy | None = field(default=None, compare=False, repr=False)
    tolerance: float = OPTIMAL_TOLERANCE
    pending_certificate: PendingCertificate | None = field(default=None, compare=False, repr=False)
    estimate: ValueEstimate | None = None

    def __post_init__(self) -> None:
        for name in ("value", "lower_bound", "upper_bound", "seconds", "tolerance"):
            if not math.isfinite(getattr(self, name)):
                raise ModelError(f"{name} is {getattr(self, name)}; expected a finite number")
        if self.lower_bound != self.value:
            raise ModelError("lower_bound differs from value; they are the same by definition")
        if self.upper_bound < self.value:
            raise ModelError("upper_bound is below value")
        if self.objective not in ("centralised", "decentralised"):
            raise ModelError(
                f"objective is {self.objective!r}; expected 'centralised' or 'decentralised'"
            )
        if self.tolerance < 0:
            raise ModelError(f"tolerance is {self.tolerance}; expected at least 0")
        closed = is_closed(self.value, self.upper_bound, self.tolerance)
        if self.status is Status.OPTIMAL and not closed:
            raise ModelError("status is optimal, but upper_bound is not proven to equal value")

    @property
    def gap(self) -> float:
        """The largest possible distance of the value from the optimum: upper bound - value."""
        return self.upper_bound - self.value

    @property
    def relative_gap(self) -> float:
        """The gap relative to the value (infinite if the value is 0 and the gap is not)."""
        if self.gap == 0:
            return 0.0
        return self.gap / abs(self.value) if self.value else math.inf

    @property
    def certificate(self) -> Certificate | None:
        """A proof of the bounds for others; None if :func:`coreplan.solve` was not asked for one.

        It is made at the first use, which may take as long as the solve.
        """
        return None if self.pending_certificate is None else self.pending_certificate.get()

    def save_certificate(self, path: str | Path) -> None:
        """Write the certificate to a file, compressed if the name ends in .gz.

        Raises
        ------
        CertificateError
            If it cannot be made or written; the error holds this result.
        """
        try:
            certificate = self.certificate
            if certificate is None:
                raise SolverError("this result has none; call solve with certificate=True")
            write_certificate(certificate, path)
        except FormatError as error:
            raise CertificateError(str(path), error.problems, self) from None
        except Exception as error:
            said = str(error)
            if isinstance(error, MemoryError):
                said = "the machine has no memory left"
            elif not isinstance(error, CoreplanError):
                said = f"{type(error).__name__}: {error}"
            problem = Diagnostic((), f"the certificate cannot be made: {said}")
            raise CertificateError(str(path), [problem], self) from error

    def to_dict(self) -> dict[str, object]:
        """The result in the format ``result/1``."""
        told: dict[str, object] = {
            "format": "result/1",
            "problem": self.problem,
            "algorithm": self.algorithm,
            "objective": self.objective,
            "status": str(self.status),
            "value": self.value,
            "lower_bound": self.lower_bound,
            "upper_bound": self.upper_bound,
            "gap": self.gap,
            "tolerance": self.tolerance,
            "seconds": self.seconds,
            "statistics": self.statistics.to_dict(),
        }
        if self.estimate is not None:
            told["estimate"] = self.estimate.to_dict()
        return told

    def summary(self) -> str:
        """The result in a few lines of text: the conclusion, the numbers, the work."""
        return "\n".join(late("Result.text")(self))

    def save(self, path: str | Path) -> None:
        """Write the result to a file in the format ``result/1``."""
        write_document(self.to_dict(), path)

    def _repr_html_(self) -> str:
        return str(late("Result.html")(self))


if TYPE_CHECKING:

    class Solution(Result):
        """A result with a policy, for type checkers: what :func:`coreplan.solve` returns."""

        policy: Policy

else:
    Solution = Result
