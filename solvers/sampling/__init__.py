"""Choice of few host pairs of a large cluster whose readings suffice to find its groups."""
