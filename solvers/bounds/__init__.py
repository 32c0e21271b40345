"""Proven lower bounds of the latency form of a collective's cost, over all orders."""
