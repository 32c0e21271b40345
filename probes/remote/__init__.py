"""Programs on other hosts, whatever way leads there."""
