"""Time limit of a search (`Deadline`), which native loops heed and which can be stopped early."""

from plink.solvers._native import Deadline

__all__ = ["Deadline"]
