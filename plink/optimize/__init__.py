"""Decisions derived from a measured network: groups, orders, plans and predictions."""
