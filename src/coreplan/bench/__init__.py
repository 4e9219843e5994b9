"""Benchmarks: test sets, runs, figures."""
