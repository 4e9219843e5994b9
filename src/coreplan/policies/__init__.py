"""Plans: what everyone does next, what that is worth, and how it is saved."""
