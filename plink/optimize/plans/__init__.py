"""Search for a cluster's aggregation plan."""
