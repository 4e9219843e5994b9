"""Cells of works lists: the advice in an error leads to a cell that is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coreplan.domains.maintenance.works.cells import (
    CellError,
    NumberStyle,
    read_chance,
    read_number,
)


@pytest.mark.parametrize("style", NumberStyle)
@given(whole=st.integers(1, 999), part=st.integers(0, 999), sign=st.sampled_from(",."))
def test_advice_on_unclear_numbers(style: NumberStyle, whole: int, part: int, sign: str) -> None:
    """Where a number could be two, writing it as advised gives one of the two."""
    text = f"{whole}{sign}{part:03}"
    meanings = [float(f"{whole}{part:03}"), float(f"{whole}.{part:03}")]
    try:
        assert read_number(text, "a cost", style) in meanings
    except CellError as error:
        _, _, advice = str(error).partition("; write ")
        read = [read_number(each, "a cost", style) for each in advice.split(" or ")]
        assert read == meanings


def test_advice_is_what_people_write() -> None:
    """Nobody is told to write zeros that do not matter."""
    with pytest.raises(CellError, match=r"could be 1250 or 1\.25; write 1250 or 1\.25$"):
        read_number("1.250", "a cost", NumberStyle.EITHER)


@pytest.mark.parametrize(("text", "advice"), [("110%", False), ("-5 %", False), ("30", True)])
def test_advice_on_chances(text: str, advice: bool) -> None:
    """A number of per cent is recognised as one; what is written in per cent is not."""
    with pytest.raises(CellError, match="from 0 % to 100 %") as caught:
        read_chance(text, NumberStyle.POINT)
    assert ("if this is per cent, write 30 %" in str(caught.value)) is advice
