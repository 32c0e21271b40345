"""What the daemon and the ranks say to each other."""
