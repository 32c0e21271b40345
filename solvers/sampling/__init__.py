"""Which pairs of a large cluster to measure, so that its groups show in few of them."""
