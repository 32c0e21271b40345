"""Aggregation plans as weighted forests of trees; training processes import it: NumPy only."""
