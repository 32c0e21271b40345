"""A training job as plink sees it from inside its processes.

Where its iterations end (`iterations`), which any part may want to know: the autotuner measures by
them, and it is one user among others. And which of its collectives run in which order (`control`).
"""
