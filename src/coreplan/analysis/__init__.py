"""Analyses of plans: trees, explanations, simulations, comparisons."""
