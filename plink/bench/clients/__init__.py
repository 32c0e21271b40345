"""The real clients: each starts its ranks on the hosts in a given order and reports times."""
