"""Dates in the states of contractors: the first and last step of works, in files of states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.formats.state import dated_texts, without_dates
from coreplan.model.dated_steps import DatedSteps, is_dated


@dated_texts.register
def _texts(problem: MaintenanceProblem, given: Any) -> Iterable[Any]:
    """The steps under ``times``."""
    for ends in _times(given).values():
        if isinstance(ends, list):
            yield from ends


@without_dates.register
def _steps(problem: MaintenanceProblem, given: Any, steps: DatedSteps) -> Any:
    """The state with numbers under ``times``."""
    times = _times(given)
    if not any(map(is_dated, _texts(problem, given))):
        return given
    read = {
        work: [
            steps.read(end, last=position > 0) if is_dated(end) else end
            for position, end in enumerate(ends)
        ]
        if isinstance(ends, list)
        else ends
        for work, ends in times.items()
    }
    return {**given, "times": read}


def _times(given: Any) -> Mapping[str, Any]:
    times = given.get("times") if isinstance(given, dict) else None
    return times if isinstance(times, dict) else {}
