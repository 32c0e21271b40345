"""Cheap orders for any latency form: `solvers.orders.latency_search.search_by_latency`."""
