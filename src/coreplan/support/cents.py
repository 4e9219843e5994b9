"""Amounts of money in whole cents: one way to round them, so that all texts agree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal

from coreplan.support.language import current_speech, local_number, money_text

EXACT = 1e9
"""Amounts below this are rounded to millionths first."""
LARGE = 1e15
"""A number of this size has no exact cents any more."""


def amount_text(amount: float) -> str:
    """Write an amount with two digits, and with the present currency: no "-0.00".

    Halves are rounded away from zero.

    Examples
    --------
    >>> amount_text(1259.595), amount_text(-0.001)
    ('1,259.60', '0.00')
    """
    return money_text(_two_digits(amount))


def value_text(value: float) -> str:
    """Write a value that is no money like an amount, without a currency.

    Examples
    --------
    >>> value_text(1259.595)
    '1,259.60'
    """
    return local_number(_two_digits(value))


def _two_digits(amount: float) -> str:
    if not has_cents(amount):
        return f"{amount:,.2f}"
    return f"{Decimal(cents(amount)) / 100:,.2f}"


def change_text(amount: float) -> str:
    """Write a difference of amounts, whose sign is shown also if it is positive.

    Examples
    --------
    >>> change_text(2.5), change_text(-2.5), change_text(0.001)
    ('+2.50', '-2.50', '0.00')
    """
    if rounded(amount) <= 0:
        return amount_text(amount)
    return amount_text(-amount).replace("-", "+", 1)  # the sign is in the same place


def price_text(price: float, spec: str = ",.10g") -> str:
    """Write a price with the digits that it has; with a currency, with two digits if they suffice.

    Examples
    --------
    >>> price_text(7.5)
    '7.5'
    """
    if current_speech().currency is not None and has_cents(price) and rounded(price) == price:
        return amount_text(price)
    return money_text(f"{price:{spec}}")


def rounded(amount: float) -> float:
    """An amount in whole cents, as :func:`amount_text` writes it."""
    return cents(amount) / 100 if has_cents(amount) else amount


def has_cents(amount: float) -> bool:
    """Whether an amount is finite and small enough for exact cents."""
    return math.isfinite(amount) and abs(amount) < LARGE


def cents(amount: float) -> int:
    """An amount in cents, halves away from zero.

    Two ways to compute the same amount may differ in its last digits, which must not show.

    Examples
    --------
    >>> cents(1625.825), cents(1625.8249999999998)
    (162583, 162583)
    """
    return int(_digits(amount).quantize(Decimal("0.01"), ROUND_HALF_UP) * 100)


def _digits(amount: float) -> Decimal:
    return Decimal(repr(round(amount, 6) if abs(amount) < EXACT else float(amount)))


def shared_out(total: float, amounts: Sequence[float]) -> list[float]:
    """Round amounts to whole cents whose sum is a given total in whole cents.

    Examples
    --------
    >>> shared_out(1.0, [1 / 3, 1 / 3, 1 / 3])
    [0.34, 0.33, 0.33]
    """
    if not all(map(has_cents, (total, *amounts))):
        return list(amounts)
    return [each / 100 for each in share_cents(cents(total), amounts)]


def share_cents(total: int, amounts: Sequence[float]) -> list[int]:
    """Round amounts to cents whose sum is a given total: up where the rest is largest."""
    exact = [_digits(amount) * 100 for amount in amounts]
    down = [int(each.to_integral_value(ROUND_FLOOR)) for each in exact]
    missing = total - sum(down)
    # Rounding of the total can ask for one more, or for one less.
    order = sorted(range(len(exact)), key=lambda k: (down[k] - exact[k], k))
    for k in order[: max(0, missing)]:
        down[k] += 1
    for k in order[: max(0, -missing)]:
        down[k] -= 1
    return down
