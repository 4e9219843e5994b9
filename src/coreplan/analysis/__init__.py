"""What can be said about a plan: trees, explanations, simulations, comparisons."""
