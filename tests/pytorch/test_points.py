"""A group balances its engine at the same collectives on every rank."""

from __future__ import annotations

from typing import Any, cast

from plink.torch.points import BYTES, COLLECTIVES, BalancePoints


class Counting:
    """In the engine's place."""

    def __init__(self) -> None:
        self.balanced = 0
        self.can_balance_at_once = False

    def balance(self) -> None:
        self.balanced += 1


def test_points_come_after_so_many_bytes_or_collectives() -> None:
    engine = Counting()
    points = BalancePoints(cast("Any", engine))
    points.after(BYTES - 1)
    assert engine.balanced == 0
    assert points.would_wait(1)
    assert not points.would_wait(0)
    points.after(1)
    assert engine.balanced == 1
    for _ in range(COLLECTIVES):
        points.after(0)
    assert engine.balanced == 2
    engine.can_balance_at_once = True
    assert not points.would_wait(BYTES)
