"""SSH: configuration, connections, remote commands."""
