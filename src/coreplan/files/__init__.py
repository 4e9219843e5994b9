"""Text files of all kinds: read with the place of every value, written as a whole or not at all."""
