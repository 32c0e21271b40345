"""Exact engines for small cases: they find a cheapest order, or prove that there is no cheaper."""
