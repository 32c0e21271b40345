"""Orders of hosts that take several ranks, or of which some stay unused."""
