"""Costs of running a machine in a thread, and of a message's delivery."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from plink.training.control.digest import mix_bits

# By how many seconds a rank's first, second, ... sleep lasts longer.
Oversleep = Callable[[int, int], float]


@dataclass(frozen=True)
class Costs:
    """Costs of the negotiation, the same on all ranks.

    Args:
        latency_s: of a message, from when its sender has sent it until its receiver could read it.
        step_s: of a processor, each time a thread looks at what came and steps its machine.
        in_s: of a processor, for each message that is read.
        in_s_per_byte: and for each of its bytes.
        out_s: of a processor, for each message that is sent.
        out_s_per_byte: and for each of its bytes.
    """

    latency_s: float = 5e-5
    step_s: float = 0.0
    in_s: float = 0.0
    in_s_per_byte: float = 0.0
    out_s: float = 0.0
    out_s_per_byte: float = 0.0


def punctual(_rank: int, _sleep: int) -> float:
    """Return no sleep lasts longer than it should."""
    return 0.0


@dataclass(frozen=True)
class Often:
    """A share of sleeps lasts longer; which do, rank, its number and seed decide.

    Args:
        share: of all sleeps.
        by_s: that these last longer.
        seed: of chance.
    """

    share: float
    by_s: float
    seed: int = 0

    def __call__(self, rank: int, sleep: int) -> float:
        """Return the seconds of a rank's sleep, by its number."""
        value = mix_bits(mix_bits(mix_bits(self.seed) ^ rank) ^ sleep)
        return self.by_s if value < self.share * 2.0**64 else 0.0
