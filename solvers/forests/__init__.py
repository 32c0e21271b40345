"""Aggregation forests: trees along which chunks go, and the share of the buffer of each."""
