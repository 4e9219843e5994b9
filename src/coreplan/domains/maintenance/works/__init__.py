"""Works lists: problems made from the spreadsheets of planners."""

from coreplan.domains.maintenance.works.read import WorksList, read_works
from coreplan.domains.maintenance.works.table import WorksListError

__all__ = ["WorksList", "WorksListError", "read_works"]
