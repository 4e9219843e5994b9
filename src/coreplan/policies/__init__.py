"""Plans: the next action of each agent, their exact values, and their files."""
