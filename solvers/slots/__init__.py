"""Hosts that take several ranks, and more hosts than are needed."""
