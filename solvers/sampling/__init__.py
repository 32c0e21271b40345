"""Choice of few pairs of a large cluster that suffice to find its groups."""
