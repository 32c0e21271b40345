"""Groups of hosts, and how sure they are."""
