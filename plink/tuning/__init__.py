"""Keeping a plan fitted to the network while training runs (`docs/autotune.md`)."""
