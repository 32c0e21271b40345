"""Bringing an order or a plan to a job: launchers, remote hosts, verifying, running."""
