"""From a host list to a cluster file: probing, importing, drift."""
