"""What simulated runs have cost and earned, in words."""

from __future__ import annotations

from coreplan.domains.maintenance.money import Money, amount_text
from coreplan.support.language import marked, say
from coreplan.view.simulation_text import AmountWords, amount_words

_COSTS = AmountWords(
    write=amount_text,
    sign=-1,
    mean=marked("mean cost {mean}, between {low} and {high} with a confidence of {confidence}"),
    single=marked("single runs: cost from {least} to {most}, standard deviation {deviation}"),
    at_most=marked("in {share} of cases it costs at most {amount}"),
    alone=marked("own costs, less revenue"),
    together=marked("cost of hindrance"),
    together_sign=-1,
)
_EARNINGS = AmountWords(
    write=amount_text,
    mean=marked("mean earnings {mean}, between {low} and {high} with a confidence of {confidence}"),
    single=marked("single runs: earnings from {least} to {most}, standard deviation {deviation}"),
    at_most=marked("in {share} of cases it earns at most {amount}"),
    alone=marked("own revenue, less costs"),
    together=marked("cost of hindrance"),
    together_sign=-1,
)


@amount_words.register
def _(money: Money, mean: float) -> AmountWords:
    costs = mean < 0
    money = money.in_cents()
    words = _COSTS if costs else _EARNINGS
    return words._replace(
        parts=say(
            "works {works}, hindrance {hindrance}, revenue {revenue}",
            works=amount_text(money.works),
            hindrance=amount_text(money.hindrance),
            revenue=amount_text(money.revenue),
        ),
        alone_total=money.works - money.revenue if costs else money.revenue - money.works,
        together_total=money.hindrance,
    )
