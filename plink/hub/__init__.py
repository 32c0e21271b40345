"""Parameter server that aggregates gradients and steps the optimiser: servers and workers."""
