"""Search for the rank order of a cluster that suits an algorithm."""
