"""The engine of `core`: teams, their bounds, their policies."""
