"""What simulated runs have cost and earned, in words."""

from __future__ import annotations

from coreplan.domains.maintenance.money import Money, amount_text
from coreplan.view.simulation_text import AmountWords, amount_words


@amount_words.register
def _(money: Money, mean: float) -> AmountWords:
    costs = mean < 0
    money = money.in_cents()
    return AmountWords(
        sign=-1 if costs else 1,
        whole="cost" if costs else "earnings",
        at_most="it costs at most" if costs else "it earns at most",
        parts=f"works {amount_text(money.works)}, hindrance {amount_text(money.hindrance)}, "
        f"revenue {amount_text(money.revenue)}",
        alone="own costs, less revenue" if costs else "own revenue, less costs",
        together="cost of hindrance",
        together_sign=-1,
        alone_total=money.works - money.revenue if costs else money.revenue - money.works,
        together_total=money.hindrance,
    )
