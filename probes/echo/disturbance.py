"""How much other work on two hosts disturbed their meeting. Pure."""

from __future__ import annotations

from probes.echo.protocol import Effort

# From this share on a reading is not trusted (docs/benchmarks/probing.md).
DISTURBED = 0.15


def disturbance(one: Effort, other: Effort, *, same_processor: bool) -> float | None:
    """The share of a meeting's time that its ends spent waiting for a processor, 0 to 1.

    On one processor the two ends wait for each other all the time, and that is no disturbance:
    there it is the time in which neither of them ran, as far as they were ready to.

    None where a host's kernel does not tell, or where nothing was measured.
    """
    elapsed_us = max(one.elapsed_us, other.elapsed_us)
    if one.wait_us is None or other.wait_us is None or elapsed_us == 0:
        return None
    lost_us = one.wait_us + other.wait_us
    if same_processor:
        lost_us = min(lost_us, elapsed_us - one.run_us - other.run_us)
    return min(max(lost_us, 0) / elapsed_us, 1.0)
