"""Applying an order or a plan to a job: launchers, remote hosts, verification, starting jobs."""
