"""Recomputing a solver's bounds, apart from all solvers: plain numpy on the indexed problem.

The way of the data: :mod:`local` unrolls every agent and finds its losses; :mod:`elimination` says
which actions no optimal plan needs; :mod:`classes` checks that what a certificate takes together is
equal; :mod:`relaxation` solves the clusters; :mod:`couplings` says who can still interact, and
:mod:`search` works out the records of a search. Nothing here uses the core.
"""
