"""Text files: reading with the position of every value, and writing completely or not at all."""
