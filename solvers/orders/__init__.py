"""Cheap orders for any latency form."""
