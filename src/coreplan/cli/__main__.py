"""``python -m coreplan.cli``: the same as the command ``coreplan``."""

from coreplan_launcher import main

main()
