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
from coreplan.domains.maintenance.words import PLANNING_ALONE
from coreplan.errors import LimitError, SolverError
from coreplan.solving.result import Result, Status, is_closed
from coreplan.support.language import marked, say, say_marked
from coreplan.view.report.plan import ReportedPlan

BINS = 40
"""The number of columns of the histogram."""
ROWS = {"works": marked("Works"), "hindrance": marked("Hindrance"), "revenue": marked("Revenue")}
"""The parts of the money, as tables show them."""


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


def expected_total(costs: bool) -> str:
    """The words for the expected total."""
    return say("Expected cost") if costs else say("Expected earnings")


def _with_share(amount: float, whole: float) -> str:
    """An amount with its share of another in brackets, unless that is not finite."""
    share = amount / abs(whole) if whole else math.inf
    if not math.isfinite(share):
        return amount_text(amount)
    return f"{amount_text(amount)} ({say('{share:.3g} %', share=100 * share)})"


def summary_data(plan: ReportedPlan, worth: Worth) -> dict[str, Any]:
    """The expected total, its parts, and whether the plan is proven to be the best."""
    money = worth.money.in_cents()
    rule = say("works + hindrance")
    amounts: list[dict[str, Any]] = [
        {
            "words": say_marked(ROWS["works"]),
            "amount": money.works,
            "note": say("own costs of all contractors"),
        },
        {
            "words": say_marked(ROWS["hindrance"]),
            "amount": money.hindrance,
            "note": say("works at the same time"),
        },
    ]
    if has_revenue(problem_of(plan)):
        amounts.append(
            {
                "words": say_marked(ROWS["revenue"]),
                "amount": money.revenue,
                "note": say("completed works"),
            }
        )
        rule = (
            say("works + hindrance − revenue")
            if worth.costs
            else say("revenue − works − hindrance")
        )
    amount = worth.sign * money.value
    amounts.append(
        {"words": expected_total(worth.costs), "amount": amount, "note": rule, "total": True}
    )
    note = ""
    if worth.runs is not None:
        note = say(
            "The amounts are estimated from {runs:,} simulated courses: too many courses are "
            "possible to compute them exactly.",
            runs=worth.runs,
        )
    return {
        "headline": _headline(worth),
        "proof": " ".join(filter(None, [_proof(plan, worth), plan.decides_as_it_goes])),
        "proven": _is_proven(plan, worth),
        "amounts": amounts,
        "note": note,
        "value": worth.value,
        "upper_bound": plan.upper_bound,
    }


def _headline(worth: Worth) -> str:
    """Say what the plan is expected to cost or to earn, and how exact that is."""
    amount = amount_text(worth.sign * worth.value)
    if worth.kind == "estimated":
        amount = say("about {value}", value=amount)
    elif worth.kind == "proven":
        amount = (
            say("at most {value}", value=amount)
            if worth.costs
            else say("at least {value}", value=amount)
        )
    if worth.costs:
        return say("The plan is expected to cost {amount} in all.", amount=amount)
    return say("The plan is expected to earn {amount} in all.", amount=amount)


def _is_proven(plan: ReportedPlan, worth: Worth) -> bool:
    if worth.kind == "estimated" or plan.upper_bound is None:
        return False
    return is_closed(worth.value, plan.upper_bound)


def _proof(plan: ReportedPlan, worth: Worth) -> str:
    bound = plan.upper_bound
    if bound is None:
        return say("The distance to the best plan has not been computed.")
    if _is_proven(plan, worth):
        return _none_is_better(plan, worth)
    known = _none_beats(bound, plan, worth)
    if worth.kind == "estimated":
        return say("Not proven to be the best plan: {known}.", known=known)
    # The difference of what is shown, so that readers can check it.
    gap = _with_share(max(0.0, rounded(bound) - rounded(worth.value)), worth.value)
    if worth.costs:
        return say(
            "Not proven to be the best plan: at most {amount} could be saved, because {known}.",
            amount=gap,
            known=known,
        )
    return say(
        "Not proven to be the best plan: at most {amount} could be gained, because {known}.",
        amount=gap,
        known=known,
    )


def proof_with_changes(gap: float | None, proven: bool, worth: Worth) -> str:
    """Say whether a plan whose changes cost money is proven to be the best one with these costs."""
    if proven:
        return say("Proven to be the best plan with the costs of its changes.")
    if gap is None:
        return say("The distance to the best plan has not been computed.")
    amount = amount_text(gap)
    if worth.costs:
        return say(
            "Not proven to be the best plan: at most {amount} could be saved, costs of changes "
            "included.",
            amount=amount,
        )
    return say(
        "Not proven to be the best plan: at most {amount} could be gained, costs of changes "
        "included.",
        amount=amount,
    )


def _none_is_better(plan: ReportedPlan, worth: Worth) -> str:
    """Say that the plan is the best one."""
    if plan.decentralised and worth.costs:
        return say(
            "Proven to be the best plan: no plan in which every contractor knows its own works "
            "only costs less."
        )
    if plan.decentralised:
        return say(
            "Proven to be the best plan: no plan in which every contractor knows its own works "
            "only earns more."
        )
    if worth.costs:
        return say("Proven to be the best plan: no plan costs less.")
    return say("Proven to be the best plan: no plan earns more.")


def _none_beats(bound: float, plan: ReportedPlan, worth: Worth) -> str:
    """Say what no plan can beat."""
    amount = amount_text(worth.sign * bound)
    if plan.decentralised and worth.costs:
        return say(
            "no plan in which every contractor knows its own works only can cost less than "
            "{amount}",
            amount=amount,
        )
    if plan.decentralised:
        return say(
            "no plan in which every contractor knows its own works only can earn more than "
            "{amount}",
            amount=amount,
        )
    if worth.costs:
        return say("no plan can cost less than {amount}", amount=amount)
    return say("no plan can earn more than {amount}", amount=amount)


def distribution_data(returns: ReturnDistribution, worth: Worth) -> dict[str, Any]:
    """The possible costs of the plan with their chances: a sentence, a histogram, quantiles."""
    amounts = returns
    if worth.costs:
        amounts = ReturnDistribution(
            -returns.values[::-1], returns.probabilities[::-1], returns.runs
        )
    low, high = float(amounts.values[0]), float(amounts.values[-1])
    mean = worth.sign * worth.value if worth.kind == "exact" else amounts.mean
    if len(amounts.values) == 1:
        words = (
            say("The plan costs {amount} in every case.", amount=amount_text(low))
            if worth.costs
            else say("The plan earns {amount} in every case.", amount=amount_text(low))
        )
        bins: list[float] = []
    else:
        edges = np.linspace(low, high, min(BINS, 4 * len(amounts.values)) + 1)
        bins = amounts.histogram(edges).tolist()
        words = " ".join([_between(low, high, worth), _how_exact(amounts)])
    return {
        "exact": returns.exact,
        "runs": returns.runs,
        "low": low,
        "high": high,
        "mean": mean,
        "bins": bins,
        "quantiles": [[chance, amounts.quantile(chance)] for chance in QUANTILES] if bins else [],
        "title": say("costs", context="plan") if worth.costs else say("earns", context="plan"),
        "words": words,
    }


def _between(low: float, high: float, worth: Worth) -> str:
    """Say what the plan can cost or earn."""
    least, most = amount_text(low), amount_text(high)
    if worth.costs:
        return say(
            "The plan costs between {low} and {high}, depending on delays.", low=least, high=most
        )
    return say(
        "The plan earns between {low} and {high}, depending on delays.", low=least, high=most
    )


def _how_exact(amounts: ReturnDistribution) -> str:
    """Say whether the chances are exact or estimated."""
    if amounts.exact:
        return say(
            "The chances of all {number:,} possible amounts are exact.", number=len(amounts.values)
        )
    return say(
        "The chances are estimated from {runs:,} simulated courses; rare amounts may lie outside.",
        runs=amounts.runs,
    )


def coordination_data(plan: ReportedPlan, worth: Worth, time_limit: float) -> dict[str, Any]:
    """Compare the plan with every contractor planning alone."""
    try:
        found = value_of_coordination(
            problem_of(plan), _as_result(plan, worth.value), time_limit=time_limit
        )
    except (LimitError, SolverError) as error:
        if isinstance(error, LimitError) and error.reason == "interrupted":
            raise
        words = say("The value of coordination could not be computed: {reason}.", reason=error)
        return {"words": words, "rows": [], "within": "", "gain": None, "alone": None}
    if not worth.costs:
        within = say("Revenue of each contractor, less own costs")
    elif has_revenue(problem_of(plan)):
        within = say("Own costs of each contractor, less revenue")
    else:
        within = say("Own costs of each contractor")
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
    # Differences of what is shown, so that readers can check them.
    alone = rounded(found.alone)
    gain = rounded(rounded(found.value) - alone)
    if gain < 0:
        said = [say("Planning alone would be better by {amount}.", amount=amount_text(-gain))]
    else:
        amount = _with_share(gain, alone)
        said = [
            say("This plan saves {amount} compared with planning alone.", amount=amount)
            if worth.costs
            else say("This plan gains {amount} compared with planning alone.", amount=amount)
        ]
    said.append(_planning_alone(worth.sign * found.alone, worth))
    known = plan.upper_bound is not None and not plan.decentralised
    if known and not _is_proven(plan, worth):
        low = max(0.0, gain)
        high = max(low, rounded(rounded(found.upper_bound) - alone))
        if amount_text(low) != amount_text(high):
            least, most = amount_text(low), amount_text(high)
            said.append(
                say("The best plan saves between {low} and {high}.", low=least, high=most)
                if worth.costs
                else say("The best plan gains between {low} and {high}.", low=least, high=most)
            )
    return " ".join(said)


def _planning_alone(amount: float, worth: Worth) -> str:
    """Say what planning alone means, and what it would cost or earn."""
    alone = say_marked(PLANNING_ALONE)
    if worth.costs:
        return say(
            "Planning alone means that {alone}; all works together would then be expected to cost "
            "{amount}, hindrance included.",
            alone=alone,
            amount=amount_text(amount),
        )
    return say(
        "Planning alone means that {alone}; all works together would then be expected to earn "
        "{amount}, hindrance included.",
        alone=alone,
        amount=amount_text(amount),
    )


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
        add(say_marked(ROWS[what]), together, getattr(alone_parts, what), sign)
    sign = worth.sign
    total = expected_total(worth.costs)
    add(total, sign * found.value, sign * found.alone, sign, total=True)
    own = None if together_parts is None else _own(together_parts)
    for k, (name, alone) in enumerate(zip(found.own_alone, _own(alone_parts), strict=True)):
        add(name, None if own is None else sign * own[k], sign * alone, sign, name=True)
    return rows


def _own(money: Money) -> list[float]:
    """The revenue of each contractor, less the cost of its works; in cents that add up."""
    return [
        revenue - works for revenue, works in zip(money.revenue_of, money.works_of, strict=True)
    ]
