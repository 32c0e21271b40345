"""Exact engines for few ranks, which find a cheapest order or prove a bound."""
