"""Choice of few pairs of a large cluster that show its groups."""
