"""Decide what to change, when and why: no clock, network or randomness (`docs/autotune.md`)."""
