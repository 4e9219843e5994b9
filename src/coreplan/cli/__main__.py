"""``python -m coreplan.cli``: as the command ``coreplan``."""

from coreplan_launcher import main

main()
