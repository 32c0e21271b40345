"""The points of the benchmark of SimGrid's simulations."""
