"""Output for people: tables and charts in the terminal, and the report page in HTML."""
