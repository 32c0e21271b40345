"""Orders of hosts that take several ranks each, or of which some stay unused."""
