"""Works lists: the spreadsheets that planners keep, and problems made of them."""

from coreplan.works.read import WorksList, read_works
from coreplan.works.table import WorksListError

__all__ = ["WorksList", "WorksListError", "read_works"]
