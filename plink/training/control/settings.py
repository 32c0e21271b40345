"""Settings of the negotiation of collectives by name, the same on all ranks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Settings of the negotiation.

    Args:
        fusion_bytes: of a batch at most.
        cycle_s: of the root's patience: so long it waits for more that could be fused while
            something it released is under way. In modes with cycles, from one to the next.
        stall_warning_s: seconds after which all ranks are told which of them keep the others
            waiting, and again after as long; up to 5 s later if a rank does not answer.
        stall_error_s: seconds after which what they wait for fails, likewise up to 5 s later; None
            for never.
        check_every: after so many messages of the root ranks compare their tables.
        most_positions: that the table has.
        cache: positions that the cache of `bitvector` begins with; it grows up to `most_positions`.
        common_sleep_every: after so many cycles all ranks sleep alike; 0 for never.
        is_blocking: ranks of `bitvector` await each other within a cycle; else they sleep, and look
            when they wake.
        is_deterministic: what shares a buffer must not depend on timing.
    """

    fusion_bytes: int = 64 << 20
    cycle_s: float = 0.001
    stall_warning_s: float = 60.0
    stall_error_s: float | None = None
    check_every: int = 256
    most_positions: int = 1 << 20
    cache: int = 1024
    common_sleep_every: int = 0
    is_blocking: bool = True
    is_deterministic: bool = False
