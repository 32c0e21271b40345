"""Identity of a plan: a number that the daemon gives, and a digest of its content."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from msgspec import Meta

from plink.plans.forest import Forest

LARGEST_NUMBER = (1 << 31) - 1
_DIGEST_BITS = 32


@dataclass(frozen=True, order=True)
class Identity:
    """The identity of a plan. Two with the same number and digest are the same plan.

    Args:
        number: 0 for the plan that the job began with.
        digest: of the forest, as the plan file numbers its ranks; 32 bits.
    """

    number: Annotated[int, Meta(ge=0, le=LARGEST_NUMBER)]
    digest: Annotated[int, Meta(ge=0, lt=1 << _DIGEST_BITS)]

    @property
    def encoded(self) -> int:
        """Return the identity as one number of 63 bits: the plan's number, then the digest."""
        return self.number << _DIGEST_BITS | self.digest


def identity(number: int, forest: Forest) -> Identity:
    """Return the identity of this plan."""
    hashed = hashlib.sha256(f"{forest.routes} {forest.ranks} ".encode())
    hashed.update(np.ascontiguousarray(forest.weights, dtype="<f8").tobytes())
    for parents in (forest.reduce_parents, forest.broadcast_parents):
        hashed.update(np.ascontiguousarray(parents, dtype="<i4").tobytes())
    return Identity(number, int.from_bytes(hashed.digest()[: _DIGEST_BITS // 8], "little"))
