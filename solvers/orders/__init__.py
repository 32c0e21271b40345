"""Cheap orders for any latency form: `plink.solvers.orders.latency_search.search_by_latency`."""
