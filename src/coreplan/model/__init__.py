"""What a problem is: agents, rewards, and the same in numbers."""
