"""Helpers without any planning: checks, signals, memory, processors."""
