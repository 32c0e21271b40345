"""Time limits of searches."""
