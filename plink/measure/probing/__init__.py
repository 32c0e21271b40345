"""From a host list to a cluster file: between the `probes` package and plink's files."""
