"""Keeping a plan fitted to the network while training runs (`docs/autotune.md`).

`tuner` only computes, `log` records what it did, and `daemon` runs beside the training; `ranks` is
its end in every process, and `protocol` what they say to each other. `reprobing` measures hosts
again where tuning cannot help.
"""
