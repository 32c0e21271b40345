"""Reordering of a Slurm job's nodes from within the job, with readings kept for later jobs."""
