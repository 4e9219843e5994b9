"""The money in a report: the summary, the distribution of costs, the value of coordination."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from coreplan.analysis.distribution import ReturnDistribution
from coreplan.analysis.simulation import QUANTILES, Simulation
from coreplan.domains.maintenance.coordination import Coordination, value_of_coordination
from coreplan.domains.maintenance.money import Money, amount_text, rounded
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.words import PLANNING_ALONE, spent_before
from coreplan.errors import LimitError, SolverError
from coreplan.model.calendar import Calendar
from coreplan.solving.result import Result, Status, is_closed
from coreplan.view.report.plan import ReportedPlan

BINS = 40
"""The number of columns of the histogram."""


def problem_of(plan: ReportedPlan) -> MaintenanceProblem:
    """The maintenance problem of a plan."""
    problem = plan.policy.problem
    assert isinstance(problem, MaintenanceProblem)
    return problem


@dataclass(frozen=True)
class Worth:
    """The value of a plan and its parts: exact, proven or estimated.

    Attributes
    ----------
    value
        The exact value, else a proven lower bound, else an estimate.
    kind
        The kind of value: ``exact``, ``proven`` or ``estimated``.
    money
        The parts of the value: exact, else estimated.
    runs
        The number of simulated runs behind the parts; None if they are exact.
    costs
        Whether the report speaks of costs rather than of earnings.
    """

    value: float
    kind: str
    money: Money
    runs: int | None
    costs: bool

    @property
    def sign(self) -> int:
        """The factor for amounts on the page: costs are shown as positive numbers."""
        return -1 if self.costs else 1

    @property
    def verb(self) -> str:
        """The verb for the plan's value: to cost, or to earn."""
        return "cost" if self.costs else "earn"


def worth_of(plan: ReportedPlan, exact: Money | None, simulated: Simulation | None) -> Worth:
    """Choose the best known value; needs exact amounts or simulated runs."""
    money = exact
    runs = None
    if money is None:
        assert simulated is not None
        assert simulated.money is not None
        money, runs = simulated.money, simulated.runs
    kind = "estimated" if plan.value is None else "proven"
    value = money.value if plan.value is None else plan.value
    if exact is not None:
        kind, value = "exact", exact.value
    costs = value < 0 or (value == 0 and not has_revenue(problem_of(plan)))
    return Worth(value, kind, money, runs, costs)


def has_revenue(problem: MaintenanceProblem) -> bool:
    """Whether any work earns something."""
    return any(task.revenue for contractor in problem.contractors for task in contractor.tasks)


def _part(share: float) -> str:
    """A share in per cent, in brackets; empty if it is not finite."""
    return f" ({100 * share:.3g} %)" if math.isfinite(share) else ""


def summary_data(
    plan: ReportedPlan, worth: Worth, calendar: Calendar | None = None
) -> dict[str, Any]:
    """The expected total, its parts, and whether the plan is proven to be the best."""
    nearly = {"exact": "", "proven": "at least ", "estimated": "about "}[worth.kind]
    if worth.costs and worth.kind == "proven":
        nearly = "at most "
    money = worth.money.in_cents()
    rule = "works + hindrance"
    amounts: list[dict[str, Any]] = [
        {"words": "Works", "amount": money.works, "note": "own costs of all contractors"},
        {"words": "Hindrance", "amount": money.hindrance, "note": "works at the same time"},
    ]
    if has_revenue(problem_of(plan)):
        amounts.append({"words": "Revenue", "amount": money.revenue, "note": "completed works"})
        rule = f"{rule} − revenue" if worth.costs else "revenue − works − hindrance"
    total = "Expected cost" if worth.costs else "Expected earnings"
    amount = worth.sign * money.value
    amounts.append({"words": total, "amount": amount, "note": rule, "total": True})
    notes = [spent_before(problem_of(plan), plan.policy, calendar)]
    if worth.runs is not None:
        notes.append(
            f"The amounts are estimated from {worth.runs:,} simulated courses: too many courses "
            "are possible to compute them exactly."
        )
    return {
        "headline": f"The plan is expected to {worth.verb} {nearly}"
        f"{amount_text(worth.sign * worth.value)} in all.",
        "proof": _proof(plan, worth),
        "proven": _is_proven(plan, worth),
        "amounts": amounts,
        "note": " ".join(each for each in notes if each),
        "value": worth.value,
        "upper_bound": plan.upper_bound,
    }


def _is_proven(plan: ReportedPlan, worth: Worth) -> bool:
    if worth.kind == "estimated" or plan.upper_bound is None:
        return False
    return is_closed(worth.value, plan.upper_bound)


def _proof(plan: ReportedPlan, worth: Worth) -> str:
    bound = plan.upper_bound
    if bound is None:
        return "The distance to the best plan has not been computed."
    among = ""
    if plan.decentralised:
        among = " in which every contractor knows its own works only"
    if _is_proven(plan, worth):
        better = "costs less" if worth.costs else "earns more"
        return f"Proven to be the best plan: no plan{among} {better}."
    can = "cost less" if worth.costs else "earn more"
    known = f"no plan{among} can {can} than {amount_text(worth.sign * bound)}"
    if worth.kind == "estimated":
        return f"Not proven to be the best plan: {known}."
    gap = max(0.0, rounded(bound) - rounded(worth.value))
    relative = _part(gap / abs(worth.value)) if worth.value else ""
    gained = "saved" if worth.costs else "gained"
    return (
        f"Not proven to be the best plan: at most {amount_text(gap)}{relative} could be {gained}, "
        f"because {known}."
    )


def distribution_data(returns: ReturnDistribution, worth: Worth) -> dict[str, Any]:
    """The possible costs of the plan with their chances: a sentence, a histogram, quantiles."""
    amounts = returns
    if worth.costs:
        amounts = ReturnDistribution(
            -returns.values[::-1], returns.probabilities[::-1], returns.runs
        )
    low, high = float(amounts.values[0]), float(amounts.values[-1])
    verb = f"{worth.verb}s"
    mean = worth.sign * worth.value if worth.kind == "exact" else amounts.mean
    if len(amounts.values) == 1:
        words = f"The plan {verb} {amount_text(low)} in every case."
        bins: list[float] = []
    else:
        edges = np.linspace(low, high, min(BINS, 4 * len(amounts.values)) + 1)
        bins = amounts.histogram(edges).tolist()
        words = (
            f"The plan {verb} between {amount_text(low)} and {amount_text(high)}, depending on "
            "delays. "
        )
        if returns.exact:
            words += f"The chances of all {len(amounts.values):,} possible amounts are exact."
        else:
            words += (
                f"The chances are estimated from {returns.runs:,} simulated courses; rare amounts "
                "may lie outside."
            )
    return {
        "exact": returns.exact,
        "runs": returns.runs,
        "low": low,
        "high": high,
        "mean": mean,
        "bins": bins,
        "quantiles": [[chance, amounts.quantile(chance)] for chance in QUANTILES] if bins else [],
        "title": verb,
        "words": words,
    }


def coordination_data(plan: ReportedPlan, worth: Worth, time_limit: float) -> dict[str, Any]:
    """Compare the plan with every contractor planning alone."""
    try:
        found = value_of_coordination(
            problem_of(plan), _as_result(plan, worth.value), time_limit=time_limit
        )
    except (LimitError, SolverError) as error:
        if isinstance(error, LimitError) and error.reason == "interrupted":
            raise
        words = f"The value of coordination could not be computed: {error}."
        return {"words": words, "rows": [], "within": "", "gain": None, "alone": None}
    within = "Revenue of each contractor, less own costs"
    if worth.costs:
        within = "Own costs of each contractor"
        within += ", less revenue" if has_revenue(problem_of(plan)) else ""
    return {
        "words": _coordination_words(plan, found, worth),
        "rows": _coordination_rows(plan, found, worth),
        "within": within,
        "gain": found.gain,
        "alone": found.alone,
    }


def _as_result(plan: ReportedPlan, value: float) -> Result:
    """The plan as a solver's result; without a bound, the plan counts as the best."""
    upper = value if plan.upper_bound is None else max(value, plan.upper_bound)
    closed = is_closed(value, upper)
    return Result(
        problem=problem_of(plan).name,
        algorithm="given",
        status=Status.OPTIMAL if closed else Status.GAP_LIMIT,
        value=value,
        lower_bound=value,
        upper_bound=upper,
        seconds=0.0,
        policy=plan.policy,
    )


def _coordination_words(plan: ReportedPlan, found: Coordination, worth: Worth) -> str:
    """Say how much the plan gains over every contractor planning alone."""
    gained = "saves" if worth.costs else "gains"
    if found.gain < 0:
        said = [f"Planning alone would be better by {amount_text(-found.gain)}."]
    else:
        part = _part(found.gain / abs(found.alone)) if found.alone else ""
        gain = rounded(rounded(found.value) - rounded(found.alone))
        said = [f"This plan {gained} {amount_text(gain)}{part} compared with planning alone."]
    said.append(
        f"Planning alone means that {PLANNING_ALONE}; all works together would then be expected to "
        f"{worth.verb} {amount_text(worth.sign * found.alone)}, hindrance included."
    )
    known = plan.upper_bound is not None and not plan.decentralised
    if known and not _is_proven(plan, worth) and amount_text(found.high) != amount_text(found.low):
        said.append(
            f"The best plan {gained} between {amount_text(found.low)} and "
            f"{amount_text(found.high)}."
        )
    return " ".join(said)


def _own(money: Money) -> list[float]:
    """For each contractor: its revenue, less the cost of its works."""
    parts = zip(money.revenue_of, money.works_of, strict=True)
    return [rounded(revenue - works) for revenue, works in parts]


def _coordination_rows(
    plan: ReportedPlan, found: Coordination, worth: Worth
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []

    def add(words: str, together: float | None, alone: float, sign: int, **more: bool) -> None:
        together = None if together is None else rounded(together)
        alone = rounded(alone)
        # The difference of what is shown, so that readers can check it.
        saved = None if together is None else rounded(sign * (together - alone))
        rows.append({"words": words, "together": together, "alone": alone, "saved": saved, **more})

    assert found.money_alone is not None
    together_parts = None if found.money is None else found.money.in_cents()
    alone_parts = found.money_alone.in_cents()
    for what, sign in (("works", -1), ("hindrance", -1), ("revenue", 1)):
        if what == "revenue" and not has_revenue(problem_of(plan)):
            continue
        together = None if together_parts is None else getattr(together_parts, what)
        add(what.capitalize(), together, getattr(alone_parts, what), sign)
    sign = worth.sign
    total = "Expected cost" if worth.costs else "Expected earnings"
    add(total, sign * found.value, sign * found.alone, sign, total=True)
    together_own = None if together_parts is None else _own(together_parts)
    for number, (name, alone) in enumerate(zip(found.own_alone, _own(alone_parts), strict=True)):
        own = None if together_own is None else sign * together_own[number]
        add(name, own, sign * alone, sign, name=True)
    return rows
