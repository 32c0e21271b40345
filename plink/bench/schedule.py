"""Which order runs when. Rounds interleave the orders, so that drift of the network hits all."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Launch:
    """One start of the client: its round, and the index of the order that it runs."""

    round: int
    order_index: int


def schedule(order_count: int, rounds: int, seed: int) -> Iterator[Launch]:
    """Every order once a round, in a sequence that the seed shuffles anew for each round."""
    generator = random.Random(seed)
    for number in range(rounds):
        indices = list(range(order_count))
        generator.shuffle(indices)
        for index in indices:
            yield Launch(number, index)
