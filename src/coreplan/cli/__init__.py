"""The ``coreplan`` command: parses arguments, calls the library, prints results."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

import click

from coreplan.cli.bench import bench as bench_command
from coreplan.cli.check import check as check_command
from coreplan.cli.compare import compare as compare_command
from coreplan.cli.crg import crg as crg_command
from coreplan.cli.cross_check import cross_check as cross_check_command
from coreplan.cli.demo import demo as demo_command
from coreplan.cli.demo import example_path
from coreplan.cli.evaluate import evaluate as evaluate_command
from coreplan.cli.explain import explain as explain_command
from coreplan.cli.export import export as export_command
from coreplan.cli.generate import generate as generate_command
from coreplan.cli.import_works import import_works as import_command
from coreplan.cli.infinite import infinite as infinite_command
from coreplan.cli.info import info as info_command
from coreplan.cli.outputs import IncompleteError, print_internal_error, unwritable_output
from coreplan.cli.plan import plan as plan_command
from coreplan.cli.report import report as report_command
from coreplan.cli.schema import print_schema as schema_command
from coreplan.cli.sensitivity import sensitivity as sensitivity_command
from coreplan.cli.shared import (
    BAD_INPUT,
    INTERNAL_ERROR,
    INTERRUPTED,
    LIMIT_STRUCK,
    OK,
    Group,
    shown_warnings,
)
from coreplan.cli.simulate import simulate as simulate_command
from coreplan.cli.solve import solve as solve_command
from coreplan.cli.template import template as template_command
from coreplan.cli.trace import trace as trace_command
from coreplan.cli.verify import verify as verify_command
from coreplan.errors import OUT_OF_MEMORY, CoreplanError, LimitError
from coreplan.support.interrupts import forget_interrupts
from coreplan.support.version import __version__
from coreplan.view.terminal import READABLE, drop_output, print_error

__all__ = ["cli", "example_path", "main", "run_command_line"]


@click.group(
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""
    coreplan demo
    coreplan template lists --excel
    coreplan import lists/works.xlsx --start-date 2026-03-02 -o works.yaml
    coreplan plan works.yaml --time-limit 60
    coreplan report works.yaml -o plan.html
    """,
    notes={
        "For researchers": "Problems can also be transition-independent multi-agent MDPs "
        "(ti-mmdp/1). `coreplan solve` has all algorithms and their options; `solve -v` shows "
        "the work of a search."
    },
)
@click.version_option(__version__, prog_name="coreplan")
def cli() -> None:
    """Plan works of several contractors: who starts what when, so that it costs least.

    coreplan takes windows, possible delays, and works that hinder each other into account. It
    proves that a plan is the best one, or says how much a better plan could still save. Works come
    from a list (Excel or CSV) or from a problem file (mpp/1, in YAML or JSON).
    """


SECTIONS: Mapping[str, Sequence[click.Command]] = {
    "Plan": (plan_command, report_command, solve_command, demo_command),
    "Check and understand": (
        check_command,
        evaluate_command,
        simulate_command,
        explain_command,
        sensitivity_command,
    ),
    "Compare": (compare_command,),
    "Research": (
        info_command,
        infinite_command,
        verify_command,
        cross_check_command,
        crg_command,
        trace_command,
        generate_command,
        bench_command,
    ),
    "Files": (import_command, template_command, export_command, schema_command),
}
"""All commands, as the help groups them."""
for title, commands in SECTIONS.items():
    cli.add_section(title, commands)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit; see :func:`run_command_line`."""
    sys.exit(run_command_line(arguments))


def run_command_line(
    arguments: list[str] | None = None, begin: Callable[[], object] | None = None
) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments
        By default those of the process.
    begin
        Called first, once Ctrl-C is handled.

    Returns
    -------
    int
        The exit code: 0 with a result, 2 for bad input or usage or if an output cannot be written,
        3 if a limit was reached before any result, 4 if a certificate's claims are not
        confirmed, 130 if interrupted, 1 for an internal error or if algorithms or tools contradict
        each other.
    """
    try:
        if begin is not None:
            begin()
        forget_interrupts()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # the terminal may lack letters of names
                stream.reconfigure(errors=READABLE)
        with shown_warnings():
            code = cli.main(arguments, prog_name="coreplan", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code if isinstance(code, int) else OK
    except LimitError as error:
        print_error(str(error))
        return INTERRUPTED if error.reason == "interrupted" else LIMIT_STRUCK
    except CoreplanError as error:
        print_error(str(error))
        return BAD_INPUT
    except click.ClickException as error:
        error.show()
        return BAD_INPUT
    except (KeyboardInterrupt, click.Abort):
        print_error("interrupted")
        return INTERRUPTED
    except IncompleteError as error:
        print_error(str(error))
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # The reader of our output is gone; click and rich exit in this case.
        drop_output()
        return OK
    except MemoryError:
        print_error(OUT_OF_MEMORY)
        return LIMIT_STRUCK
    except OSError as error:
        drop_output()
        print_error(unwritable_output(error))
        return BAD_INPUT
    except Exception as error:
        print_internal_error(error)
        return INTERNAL_ERROR
