"""Protocol between the daemon, ranks and viewers."""
