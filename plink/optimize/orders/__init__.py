"""From a cluster to the rank order that suits an algorithm."""
