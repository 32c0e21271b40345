"""Training that sends only the important chunks of gradients, by `plink.training.sparse`.

What to hold back is in `csc`; a `part` is a pool with its state, and `weights` are what it steps;
`exchange` is what ranks send each other in a step. `optimizer` ties these together, and
`checkpoints` keep them.
"""
