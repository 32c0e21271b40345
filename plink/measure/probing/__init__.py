"""Probing of hosts into a cluster file, on top of the `probes` package."""
