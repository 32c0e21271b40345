"""SSH client: configuration, connections, remote commands."""
