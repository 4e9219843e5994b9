"""What simulated runs have cost and earned, in words."""

from __future__ import annotations

from coreplan.domains.maintenance.money import Money
from coreplan.view.simulation_text import AmountWords, amount_words


@amount_words.register
def _(money: Money, mean: float) -> AmountWords:
    costs = mean < 0
    return AmountWords(
        sign=-1 if costs else 1,
        whole="cost" if costs else "earnings",
        at_most="it costs at most" if costs else "it earns at most",
        parts=f"works {money.works:,.2f}, hindrance {money.hindrance:,.2f}, revenue "
        f"{money.revenue:,.2f}",
        alone="own costs, less revenue" if costs else "own revenue, less costs",
        together="cost of hindrance",
        together_sign=-1,
    )
