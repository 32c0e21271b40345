"""Fragments: their layers and exchanges (Douillard et al. 2025, Streaming DiLoCo, §2.2).

Fragment p is sent after the local steps t with t mod H = floor((p + 1) H / P), and what comes back
is taken in tau steps later. Exchanges are numbered: exchange n is fragment n mod P's, in its round
n div P.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plink.base.errors import WrongUseError


@dataclass(frozen=True)
class Schedule:
    """Schedule of when fragments are sent and applied.

    Args:
        sync_every: H, local steps between two exchanges of a fragment.
        fragments: P.
        overlap_steps: tau, local steps between sending a fragment and taking in what comes back.

    Raises:
        WrongUseError: fragments would be sent before they were taken in, or one is never sent.
    """

    sync_every: int
    fragments: int = 1
    overlap_steps: int = 0

    def __post_init__(self) -> None:
        if self.sync_every < 1:
            raise WrongUseError(f"sync_every is {self.sync_every}, expected 1 or more local steps")
        if not 1 <= self.fragments <= self.sync_every:
            raise WrongUseError(
                f"{self.fragments} fragments, expected 1 to {self.sync_every}, one a local step "
                "at most"
            )
        if not 0 <= self.overlap_steps < self.sync_every:
            raise WrongUseError(
                f"overlap_steps is {self.overlap_steps}, expected 0 to {self.sync_every - 1}: a "
                "fragment is taken in before it is sent again"
            )

    def time(self, exchange: int) -> int:
        """Return the local step, from 1, after which an exchange is sent; 0 for a negative one."""
        if exchange < 0:
            return 0
        round_, fragment = divmod(exchange, self.fragments)
        return round_ * self.sync_every + (fragment + 1) * self.sync_every // self.fragments

    def sent(self, step: int) -> int | None:
        """Return the number of the exchange that is sent after a local step, or None."""
        if step < 1:
            return None
        round_, within = divmod(step - 1, self.sync_every)
        for fragment in range(self.fragments):
            if (fragment + 1) * self.sync_every // self.fragments == within + 1:
                return round_ * self.fragments + fragment
        return None

    def taken(self, step: int) -> int | None:
        """Return the number of the exchange whose result is applied after a local step, or None."""
        return self.sent(step - self.overlap_steps)

    def is_possible(self, rounds: Sequence[int]) -> bool:
        """Return whether a worker can join at these rounds and miss no exchange between them.

        Else it would wait for an exchange to which others need an earlier one of it.

        Args:
            rounds: of each fragment, the first to which it contributes.
        """
        numbers = [of * self.fragments + fragment for fragment, of in enumerate(rounds)]
        return max(numbers) - min(numbers) < self.fragments

    def begin(self, rounds: Sequence[int]) -> int:
        """Return the local step at which a worker that joins begins.

        Args:
            rounds: of each fragment, the first to which it contributes.

        Returns:
            The step of the exchange before the first to which it contributes.
        """
        first = min(of * self.fragments + fragment for fragment, of in enumerate(rounds))
        return self.time(first - 1)


def deal_layers(sizes: Sequence[int], fragments: int) -> list[list[int]]:
    """Deal layers to fragments, each to the fragment with the fewest elements so far.

    Layers of one size fall to fragments in turn, the strided pattern of the paper.

    Args:
        sizes: of each layer, in the model's order.
        fragments: at most as many as layers.

    Returns:
        The layers of each fragment, in the model's order.

    Raises:
        WrongUseError: there are fewer layers.
    """
    if fragments > len(sizes):
        raise WrongUseError(f"{fragments} fragments of a model with {len(sizes)} layers")
    found: list[list[int]] = [[] for _ in range(fragments)]
    filled = [0] * fragments
    for layer, size in enumerate(sizes):
        # No fragment may stay empty, so those left come first when layers run out.
        empty = [p for p in range(fragments) if not found[p]]
        choice = empty if len(sizes) - layer <= len(empty) else range(fragments)
        least = min(choice, key=lambda p: (filled[p], p))
        found[least].append(layer)
        filled[least] += size
    return found
