"""Simulated annealing of orders under forms of rounds and of trees."""
