"""The engine of `core`: teams with their bounds and policies."""
