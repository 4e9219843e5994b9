"""Output for people: sentences, terminal output, pictures, reports.

Importing this package registers the texts and pictures of results, policies and problems, see
:mod:`coreplan.support.late`.
"""

from coreplan.view import crg_svg as crg_svg
from coreplan.view import explanation_text as explanation_text
from coreplan.view import html as html
from coreplan.view import plan_text as plan_text
from coreplan.view import simulation_text as simulation_text
from coreplan.view import trace_svg as trace_svg
from coreplan.view import trace_text as trace_text
from coreplan.view import words as words
