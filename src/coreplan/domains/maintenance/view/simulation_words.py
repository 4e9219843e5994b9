"""What simulated runs have cost and earned, in words."""

from __future__ import annotations

from coreplan.domains.maintenance.money import Money
from coreplan.view.simulation_text import PartsInWords, parts_in_words


@parts_in_words.register
def _(money: Money) -> PartsInWords:
    return PartsInWords(
        f"that is revenue {money.revenue:,.2f}, less works {money.works:,.2f} and hindrance "
        f"{money.hindrance:,.2f}",
        "hindrance, as a loss",
    )
