"""Simulated trainings of very many ranks, whose machines and clock are native."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plink.simulate.control import _native
from plink.simulate.control.costs import Costs, Often
from plink.simulate.control.data import DataPlane
from plink.simulate.control.iterations import DisagreementError, Iteration
from plink.simulate.control.workload import Workload
from plink.training.control.settings import Settings
from plink.training.control.shape import Place


class NativeTraining:
    """Native training, with the same result as `Training` to the last bit.

    Args:
        mode: `tree`, `bitvector`, or `full`.
        places: of the ranks, in a tree.
        workload: of each rank.
        costs: of control.
        data: what happens to what is released.
        settings: of all machines.
        oversleep: of control threads; None for none.
        spinning: the share of the computing's speed that is lost while a control thread waits
            within a cycle.
        seed: of computing times.
    """

    def __init__(
        self,
        mode: str,
        places: Sequence[Place],
        workload: Workload,
        costs: Costs,
        data: DataPlane,
        *,
        settings: Settings | None = None,
        oversleep: Often | None = None,
        spinning: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.ranks = len(places)
        self.iterations: list[Iteration] = []
        self._workload = workload
        self._random = np.random.default_rng(seed)
        # Others make nothing of it; and they are very many.
        heeds_done = [place.rank for place in places if place.parent is None]
        self._native = _native.Training(
            mode,
            places,
            Settings() if settings is None else settings,
            workload.events(),
            costs,
            data,
            oversleep,
            spinning,
            heeds_done if mode == "tree" else [],
        )

    def run(self, iterations: int) -> list[Iteration]:
        """Run further iterations.

        Raises:
            DisagreementError: ranks do not agree, so that their machines are wrong.
        """
        for _ in range(iterations):
            order, ready_s = self._workload.drawn(self.ranks, self._random)
            try:
                took_s, reduced_s, released, latencies_s = self._native.iterate(order, ready_s)
            except RuntimeError as error:
                raise DisagreementError(str(error)) from None
            names = [tuple(buffer) for buffer in released]
            self.iterations.append(Iteration(took_s, reduced_s, names, latencies_s))
        return self.iterations[-iterations:]

    @property
    def messages(self) -> int:
        """Sent so far."""
        return self._native.messages

    @property
    def now_s(self) -> float:
        """Return the seconds since all began."""
        return self._native.now_s

    def waited_s(self, rank: int) -> float:
        """Return how long a rank's thread has been awake in a cycle, waiting for others."""
        return self._native.waited_s(rank)

    def busy_s(self, rank: int) -> float:
        """Return how long a rank's thread has read, stepped and sent."""
        return self._native.busy_s(rank)

    def heard_bytes(self, rank: int) -> int:
        """Return the bytes of all messages that a rank has read."""
        return self._native.heard_bytes(rank)

    def spreads_s(self) -> list[float]:
        """Return each complete cycle's spread: from the first rank that begins it to the last."""
        return self._native.spreads_s()
