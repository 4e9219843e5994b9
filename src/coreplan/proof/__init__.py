"""Proofs of a solver's bounds, computed without any solver: plain numpy on the indexed problem.

The flow of the data: :mod:`local` unrolls every agent and computes its losses. :mod:`elimination`
finds the actions that no optimal plan needs. :mod:`classes` checks that the states and actions that
a certificate merges are equal. :mod:`relaxation` solves the clusters. :mod:`couplings` finds the
agents that can still interact, and :mod:`search` computes the records of a search. This package
does not use the core.
"""
