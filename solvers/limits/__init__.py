"""Time limits of searches, natively: when they must end, and how they are interrupted."""

from plink.solvers._native import Deadline

__all__ = ["Deadline"]
