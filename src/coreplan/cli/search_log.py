"""How the commands show a running search: for planners in their words, for researchers in full."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console

from coreplan.cli.shared import shown_log
from coreplan.model.problem import PlanningProblem
from coreplan.solving.limits import Callback
from coreplan.solving.result import Result
from coreplan.view.terminal import LiveLog, PlannerLog, print_summary
from coreplan.view.words import speech

verbose_option = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Also print technical lines: sizes, the log of the search, its work.",
)


class SearchLog:
    """The lines that a command prints about a search.

    Parameters
    ----------
    console
        The console of the command.
    problem
        The problem: planners of works get amounts of money, others bounds and counts.
    verbose
        Whether technical lines are printed for planners, too.
    """

    def __init__(self, console: Console, problem: PlanningProblem, verbose: bool) -> None:
        self._console = console
        self._speak = speech(problem)
        self.technical = verbose or not problem.words.money

    @contextmanager
    def shown(self) -> Iterator[Callback]:
        """Show the log of a search while it runs; gives the callback for it."""
        if not self.technical:
            yield PlannerLog(self._console, self._speak)
            return
        with shown_log(self._console):
            yield LiveLog(self._console)

    def summary(self, result: Result) -> None:
        """Print the result of the search."""
        print_summary(self._console, result, technical=self.technical)
