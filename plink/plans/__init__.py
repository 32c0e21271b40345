"""Aggregation plans as weighted forests. Imported by training processes, so NumPy only."""
