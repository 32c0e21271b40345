"""Running programs on other hosts, whatever the connection."""
