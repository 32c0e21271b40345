"""Annealing of orders whose rounds are cheap or whose trees are shallow; one template for both."""
