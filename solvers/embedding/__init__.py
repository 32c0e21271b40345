"""Embedding of hosts as points whose distances match the measured ones (Luo 2020, §4.2.1)."""
