"""Small helpers that know nothing of planning: checks, signals, memory, processors."""
