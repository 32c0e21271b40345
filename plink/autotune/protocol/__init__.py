"""What the daemon, the ranks and viewers say to each other."""
