"""Time limits that are kept: one deadline, which everything asks."""
