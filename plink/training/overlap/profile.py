"""Gradients in the order in which a backward pass makes them ready."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Profile:
    """Gradients of one iteration's backward pass, and when they are ready.

    Args:
        names: of the gradients, L of them, in the order in which they become ready.
        sizes_bytes: of each.
        ready_s: when each is ready, from the beginning of the backward pass; never falling.

    Raises:
        ValueError: they are not as many as each other, none at all, or out of order.
    """

    names: tuple[str, ...]
    sizes_bytes: tuple[int, ...]
    ready_s: tuple[float, ...]

    def __post_init__(self) -> None:
        if not len(self.names) == len(self.sizes_bytes) == len(self.ready_s):
            raise ValueError("a profile needs a name, a size and a time of each gradient")
        if not self.names:
            raise ValueError("a profile needs a gradient at least")
        if min(self.sizes_bytes) < 0 or self.ready_s[0] < 0:
            raise ValueError("sizes and times of gradients are not negative")
        if any(later < sooner for sooner, later in pairwise(self.ready_s)):
            raise ValueError("gradients stand in the order in which they become ready")

    def __len__(self) -> int:
        """Return how many gradients."""
        return len(self.names)

    @property
    def total_bytes(self) -> int:
        """Bytes of all gradients."""
        return sum(self.sizes_bytes)

    @property
    def before_bytes(self) -> Floats:
        """(L + 1): what all gradients before each have, and at last what all have."""
        return np.concatenate(([0.0], np.cumsum(np.array(self.sizes_bytes, dtype=np.float64))))


def slowest(profiles: Sequence[Profile]) -> Profile:
    """Combine all ranks' profiles: a collective begins when the last rank is ready for it.

    In the order in which the last rank has each; of those that come at the same time, as the first
    profile has them.

    Args:
        profiles: of each rank, with the same names and sizes in any order.

    Raises:
        ValueError: there is none, or they are not of the same gradients.
    """
    if not profiles:
        raise ValueError("ranks' profiles are needed")
    first = profiles[0]
    sizes = dict(zip(first.names, first.sizes_bytes, strict=True))
    ready_s = dict.fromkeys(first.names, 0.0)
    for profile in profiles:
        if dict(zip(profile.names, profile.sizes_bytes, strict=True)) != sizes:
            raise ValueError("ranks have profiles of different gradients")
        for name, at_s in zip(profile.names, profile.ready_s, strict=True):
            ready_s[name] = max(ready_s[name], at_s)
    names = sorted(first.names, key=ready_s.__getitem__)
    return Profile(
        tuple(names),
        tuple(sizes[name] for name in names),
        tuple(ready_s[name] for name in names),
    )
