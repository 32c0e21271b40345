"""How ranks agree; the same on all of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Of a machine.

    Args:
        fusion_bytes: of a batch at most.
        cycle_s: of the root's patience: so long it waits for more that could be fused while
            something it released is under way.
        stall_warning_s: after so long all ranks are told which of them keep the others waiting, and
            again after as long.
        stall_error_s: after so long what they wait for fails; None for never.
        check_every: after so many messages of the root ranks compare their tables.
        most_positions: that the table has.
    """

    fusion_bytes: int = 64 << 20
    cycle_s: float = 0.001
    stall_warning_s: float = 60.0
    stall_error_s: float | None = None
    check_every: int = 256
    most_positions: int = 1 << 20
