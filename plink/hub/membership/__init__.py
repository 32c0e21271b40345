"""Who contributes to which iteration: events in, actions out, nothing else."""
