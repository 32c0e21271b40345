"""Cheap orders for any latency form: `solvers.orders.search.solve`."""
