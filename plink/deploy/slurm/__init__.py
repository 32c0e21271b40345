"""Ordering the nodes of a Slurm job from within it, and what is kept for the next one."""
