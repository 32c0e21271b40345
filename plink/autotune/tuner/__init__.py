"""What to change, when and why: without clock, network or chance (`docs/autotune.md`)."""
