"""Probing hosts into a cluster file, between the `probes` package and plink's files."""
