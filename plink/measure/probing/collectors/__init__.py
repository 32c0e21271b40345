"""What gathers the readings of a probe run: one module a quantity."""
