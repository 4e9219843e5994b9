"""``python -m coreplan.cli``."""

from coreplan.cli import main

main()
