"""Coarse-grained sparse communication: only the important chunks of all gradients are sent.

Sun et al., GradientFlow (2019), section 3.2. Pure: no clock, no I/O, nothing but numpy. The
gradients stand in one flat pool that is cut into chunks (`chunks`). How many of them are held back
follows a ramp (`ramp`), which ones their norms (`selection`), and what becomes of what was held
back a correction (`corrections`, `state`).
"""
