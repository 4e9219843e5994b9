"""The options ``--contractor`` and ``--each-contractor``: pages of single contractors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from coreplan.domains.maintenance import MaintenanceProblem
from coreplan.files.writing import is_special
from coreplan.model.problem import PlanningProblem
from coreplan.support.checks import unknown_name
from coreplan.support.language import say

LONGEST = 60
"""The most characters of a contractor's name in the name of a file."""


def contractor_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add both options to a command."""
    each = click.option(
        "--each-contractor",
        is_flag=True,
        help="Also write a page for each contractor, beside FILE: plan-NAME.html.",
    )
    one = click.option(
        "--contractor",
        metavar="NAME",
        help="Write the page of this contractor only: its works, dates and costs, and what to do "
        "about delays, without the costs of others.",
    )
    return one(each(command))


def check_contractors(
    problem: PlanningProblem, contractor: str | None, each: bool, output: str
) -> None:
    """Raise an error before a long run if a page could not be made."""
    if contractor is None and not each:
        return
    option = "'--each-contractor'" if contractor is None else "'--contractor'"
    wrong = ""
    if contractor is not None and each:
        wrong = "use only one of --contractor and --each-contractor"
    elif not isinstance(problem, MaintenanceProblem):
        wrong = "pages of contractors need a maintenance problem (mpp/1)"
    elif each and is_special(output):
        wrong = f"{output!r} is no file; the pages of contractors are written beside a file"
    elif contractor is not None and contractor not in problem.agent_names:
        wrong = unknown_name(contractor, "contractor", problem.agent_names, "the problem")
    if wrong:
        raise click.BadParameter(wrong, param_hint=option)


def files_beside(output: str, names: Iterable[str]) -> dict[str, str]:
    """The files of the contractors' pages, by name: the report's own name, with theirs.

    Examples
    --------
    >>> files_beside("plan.html", ["Noord Infra", "N.V. Dijk / Zn."])
    {'Noord Infra': 'plan-noord-infra.html', 'N.V. Dijk / Zn.': 'plan-n-v-dijk-zn.html'}
    """
    whole = Path(output)
    taken = {whole.name.casefold()}
    found: dict[str, str] = {}
    for number, name in enumerate(names, 1):
        letters = "".join(each if each.isalnum() else " " for each in name.lower())
        base = f"{whole.stem}-{'-'.join(letters[:LONGEST].split()) or f'contractor-{number}'}"
        file, again = f"{base}{whole.suffix}", 1
        while file.casefold() in taken:
            again += 1
            file = f"{base}-{again}{whole.suffix}"
        taken.add(file.casefold())
        found[name] = str(whole.with_name(file))
    return found


def said_of(files: Sequence[str]) -> str:
    """Say where the contractors' pages are."""
    if len(files) == 1:
        return say("the page of its contractor is in {file}", file=files[0])
    return say(
        "the pages of {number} contractors are beside it: {first} to {last}",
        number=len(files),
        first=files[0],
        last=files[-1],
    )
