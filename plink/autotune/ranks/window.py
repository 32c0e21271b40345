"""Measurements of a rank from one point to a later one."""

from __future__ import annotations

from dataclasses import dataclass, field

from plink.plans.names import COLLECTIVES
from plink.training.iterations import Markers, period_of

# A window is looked through for its period each time it has so many times more collectives.
_GROWTH = 1.25
# A window of more collectives than that ends without a period.
MOST_COLLECTIVES = 1 << 14


@dataclass
class Window:
    """Between two points, from the first of them on.

    Args:
        begin: number of the next collective at the first.
        began_s: when that was.
        times_s, sizes: of each collective since; sizes of different kinds differ.
        bytes_of: by kind of collective, of all since.
        markers: where iterations ended.
        looked_at: how many collectives there were when a period was last looked for.
        period: collectives after which sizes repeat; None if none was found.
    """

    begin: int
    began_s: float
    times_s: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    bytes_of: dict[str, int] = field(default_factory=dict)
    markers: Markers = field(default_factory=Markers)
    looked_at: int = 0
    period: int | None = None

    def add(self, size_bytes: int, collective: str) -> None:
        """Count a collective that has begun."""
        kind = COLLECTIVES.index(collective)
        self.sizes.append(size_bytes * len(COLLECTIVES) + kind)
        self.bytes_of[collective] = self.bytes_of.get(collective, 0) + size_bytes

    @property
    def iteration_collectives(self) -> int | None:
        """Collectives of an iteration; None while nothing tells."""
        return self.markers.collectives if self.markers.are_expected else self.period

    def is_long_enough(self, now_s: float, window_s: float, stride: int) -> bool:
        """Return whether the window may end at the next point.

        Args:
            now_s: the time of this point.
            window_s: seconds that a window lasts at least.
            stride: collectives from this point to the next.
        """
        if now_s - self.began_s < window_s:
            return False
        if len(self.sizes) >= MOST_COLLECTIVES:
            return True
        if self.markers.are_expected:
            collectives = self.iteration_collectives
            return self.markers.will_be_enough(stride // collectives if collectives else 0)
        if self.period is None and len(self.sizes) >= _GROWTH * self.looked_at:
            self.looked_at = len(self.sizes)
            self.period = period_of(self.sizes)
        # Once true it stays so: windows end when all ranks say so at the same point.
        return self.period is not None
