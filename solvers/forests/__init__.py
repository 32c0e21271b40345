"""Aggregation forests: routes of chunks, and the share of the buffer that each carries."""
