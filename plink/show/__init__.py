"""Output for people: the terminal and the report page."""
