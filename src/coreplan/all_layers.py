"""Loads every layer that provides methods of lower ones, or registers formats of files.

The package loads layers when they are first used. :mod:`coreplan.support.late` imports this module
where something is asked for that a layer may provide that is not loaded yet.
"""

import coreplan.plot  # noqa: F401 - it provides charts
from coreplan.analysis import tables as tables
from coreplan.domains import maintenance as maintenance
from coreplan.solving import lookahead as lookahead
from coreplan.view import report as report
