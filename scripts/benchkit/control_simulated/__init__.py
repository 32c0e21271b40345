"""The points of the benchmark training-control-simulated."""
