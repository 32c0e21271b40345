"""Figures of a simulated training's iterations."""

from __future__ import annotations

from dataclasses import dataclass, field

from plink.base.errors import PlinkError


class DisagreementError(PlinkError):
    """Ranks released different things, refused some, or wait for ever: the machines are wrong."""


@dataclass
class Iteration:
    """Iteration of all ranks.

    Args:
        took_s: from when all ranks begin until the last all-reduce has ended.
        reduced_s: in which an all-reduce was under way.
        released: names, by buffer, in the order of all ranks.
        latencies_s: of each tensor in that order, from when the last rank announced it until the
            last rank had released it.
    """

    took_s: float = 0.0
    reduced_s: float = 0.0
    released: list[tuple[str, ...]] = field(default_factory=list)
    latencies_s: list[float] = field(default_factory=list)
