"""Test sets, runs over them, and the figures made from runs."""
