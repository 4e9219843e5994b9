"""Other tools: problems in their languages, and answers of theirs to compare with."""
