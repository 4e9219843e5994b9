"""What people look at: words, the terminal, pictures."""
