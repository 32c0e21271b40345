"""Proven lower bounds on an algorithm's latency cost over all orders."""
