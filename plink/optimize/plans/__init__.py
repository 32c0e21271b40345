"""From a cluster to a plan of aggregation."""
