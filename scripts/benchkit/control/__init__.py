"""The points of the benchmark training-control: each has what its ranks do, and what is told."""
