"""Hosts as points whose distances agree with the measured ones (Luo 2020, §4.2.1)."""
