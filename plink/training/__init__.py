"""A training job as plink sees it from inside its processes.

So far only where its iterations end (`iterations`), which any part may want to know: the autotuner
measures by them, and it is one user among others.
"""
