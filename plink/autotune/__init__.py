"""Keeping a plan fitted to the network while training runs (`docs/autotune.md`).

`tuner` only computes, `daemon` runs beside the training, `ranks` is its end in every process, and
`log` is what remains of it; `attaching` looks at a daemon from elsewhere.
"""
