"""A service that aggregates gradients and steps the optimiser: its pure parts and its two ends."""
