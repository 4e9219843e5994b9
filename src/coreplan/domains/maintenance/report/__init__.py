"""The report of a maintenance plan: one HTML file to read, to try delays in, and to print."""

from __future__ import annotations

from typing import Any

from coreplan.domains.maintenance.courses import MOST_PIECES
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.report.content import report_data
from coreplan.domains.maintenance.report.contractor import contractor_data
from coreplan.domains.maintenance.report.findings import find
from coreplan.view.report import Report, ReportOptions, report_of
from coreplan.view.report.page import assemble, part
from coreplan.view.report.plan import ReportedPlan

SCRIPTS = (
    "words",
    "money",
    "courses",
    "chart",
    "path",
    "hindrance",
    "tables",
    "start",
)
"""The parts of the page's script; each one may use those before it."""


@report_of.register
def _report(problem: MaintenanceProblem, plan: ReportedPlan, options: ReportOptions) -> Report:
    findings = find(
        plan,
        options.calendar,
        most_pieces=MOST_PIECES if options.most_pieces is None else options.most_pieces,
        seed=options.seed,
        time_limit=options.time_limit,
    )
    if options.contractor is not None:
        return _page(contractor_data(findings, options.contractor, title=options.title))
    names = problem.agent_names if options.each_contractor else ()
    pages = {name: _page(contractor_data(findings, name, title=options.title)) for name in names}
    return _page(
        report_data(
            findings, title=options.title, seed=options.seed, time_limit=options.time_limit
        ),
        pages,
    )


def _page(data: dict[str, Any], contractors: dict[str, Report] | None = None) -> Report:
    before, after = part(__package__, "frame.html").split("{sections}")
    sections = [part(__package__, f"sections/{name}.html") for name in data["sections"]]
    scripts = [part(__package__, f"script/{name}.js") for name in SCRIPTS]
    title = data["title"]
    if "contractor" in data:
        title = f"{data['contractor']} – {title}"
    body = "".join([before, "\n".join(sections), after])
    return Report(assemble(body, title, data, scripts), data, contractors or {})
