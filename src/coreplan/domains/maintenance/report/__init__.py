"""The report of a maintenance plan: one HTML file to read, to try delays in, and to print."""

from __future__ import annotations

from coreplan.domains.maintenance.courses import MOST_PIECES
from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.report.content import report_data
from coreplan.view.report import Report, ReportOptions, report_of
from coreplan.view.report.page import assemble, part
from coreplan.view.report.plan import ReportedPlan

SCRIPTS = ("words", "courses", "chart", "path", "tables", "start")
"""The parts of the page's script; each one may use those before it."""


@report_of.register
def _report(problem: MaintenanceProblem, plan: ReportedPlan, options: ReportOptions) -> Report:
    data = report_data(
        plan,
        calendar=options.calendar,
        title=options.title,
        most_pieces=MOST_PIECES if options.most_pieces is None else options.most_pieces,
        seed=options.seed,
        time_limit=options.time_limit,
    )
    scripts = [part(__package__, f"script/{name}.js") for name in SCRIPTS]
    return Report(assemble(part(__package__, "template.html"), data["title"], data, scripts), data)
