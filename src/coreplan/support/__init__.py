"""Small helpers that know nothing of planning: checks, frozen mappings, signals, memory, processors."""
