"""Points at which a group's ranks balance their network interfaces anew."""

from __future__ import annotations

from plink.autotune.ranks.agreement import Points, Stride
from plink.engine import Engine

# Some seconds of a gigabit per second: short beside a training, long beside the kernel's ticks.
BYTES = 128_000_000
COLLECTIVES = 256


class BalancePoints:
    """Counter of collectives that balances an engine at the same points on every rank.

    Args:
        engine: of this rank.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._points = Points(Stride(BYTES, COLLECTIVES))

    def would_wait(self, size_bytes: int) -> bool:
        """Return whether `after` a collective of that size would wait for other ranks."""
        return self._points.is_next(size_bytes) and not self._engine.can_balance_at_once

    def after(self, size_bytes: int) -> None:
        """Count a collective that has begun, and balance the engine if a point is reached.

        Args:
            size_bytes: the same on every rank; 0 where it differs.

        Raises:
            EngineError: the engine has failed.
        """
        if self._points.count(size_bytes):
            self._engine.balance()
