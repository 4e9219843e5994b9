"""From a problem to a result: compile, search, prove."""
