"""Other tools: exports to their languages, and their answers for comparison."""
