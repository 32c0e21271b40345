"""Measuring a job's hosts again while it runs, and planning anew (`docs/autotune-daemon.md`)."""
