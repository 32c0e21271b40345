"""Regions that are far apart: what the paths between them are like. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from labkit.errors import WrongUseError

MAX_REGIONS = 16
MAX_RTT_MS = 2_000.0
# What a path's queue holds at its rate before it drops frames: about a round trip, as routers of
# wide-area links have it, but not less than some dozens of frames.
MIN_QUEUE_BYTES = 64 * 1024
MAX_QUEUE_BYTES = 2**30
DEFAULT_RTT_MS = 100.0

_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)%?", re.ASCII)


@dataclass(frozen=True)
class WanPath:
    """The way between two regions, the same in both directions.

    Args:
        regions: the two, counted from 0.
        rtt_ms: added to a round trip, half of it each way.
        jitter_ms: each frame is late by up to so much more, evenly; none overtakes another.
        loss: the share of frames lost at random, in each direction.
        rate_bits: in bit/s in each direction; None is unlimited.
        queue_bytes: what waits for the rate at most; more is dropped.
    """

    regions: tuple[int, int]
    rtt_ms: float
    jitter_ms: float = 0.0
    loss: float = 0.0
    rate_bits: int | None = None
    queue_bytes: int = MIN_QUEUE_BYTES


def wan_path(
    regions: tuple[int, int],
    *,
    rtt_ms: float,
    jitter_ms: float = 0.0,
    loss: float = 0.0,
    rate_bits: int | None = None,
    queue_bytes: int | None = None,
) -> WanPath:
    """A path, checked; without `queue_bytes` its queue holds what a round trip carries.

    Raises:
        WrongUseError: a figure is out of range.
    """
    if not 0.0 <= rtt_ms <= MAX_RTT_MS:
        raise WrongUseError(f"a round trip has 0 to {MAX_RTT_MS:g} ms, not {rtt_ms:g}")
    if not 0.0 <= jitter_ms <= MAX_RTT_MS:
        raise WrongUseError(f"jitter has 0 to {MAX_RTT_MS:g} ms, not {jitter_ms:g}")
    if not 0.0 <= loss < 1.0:
        raise WrongUseError(f"a path cannot lose {100 * loss:g} % of its frames")
    if queue_bytes is None:
        queue_bytes = round((rate_bits or 0) / 8 * rtt_ms / 1e3)
    if not 0 <= queue_bytes <= MAX_QUEUE_BYTES:
        raise WrongUseError(f"a path's queue has 0 to {MAX_QUEUE_BYTES} bytes, not {queue_bytes}")
    return WanPath(regions, rtt_ms, jitter_ms, loss, rate_bits, max(MIN_QUEUE_BYTES, queue_bytes))


def full_mesh(regions: int, **figures: Any) -> tuple[WanPath, ...]:
    """A path of the same figures, as `wan_path` takes them, between every two regions.

    Raises:
        WrongUseError: too few or too many regions, or a figure out of range.
    """
    if not 2 <= regions <= MAX_REGIONS:
        raise WrongUseError(f"a wide area has 2 to {MAX_REGIONS} regions, not {regions}")
    return tuple(wan_path(pair, **figures) for pair in itertools.combinations(range(regions), 2))


def parse_loss(text: str) -> float:
    """Read a share such as `0.01%`; a number without the sign is in per cent, too.

    Raises:
        WrongUseError: not a share below 100 %.
    """
    match = _PERCENT.fullmatch(text.strip())
    if match is None or float(match[1]) >= 100:
        raise WrongUseError(f"{text!r} is not a share of frames", "write 0.01% or 1%")
    return float(match[1]) / 100


def box_text(ports: Sequence[str], paths: Sequence[WanPath], seed: int, *, bound: bool) -> str:
    """What the delay box is told.

    Args:
        ports: names of its devices, those of the regions in their order first; to and from every
            further one frames pass at once.
        paths: between regions.
        seed: of what is lost and of jitter.
        bound: whether it ends with its input.
    """
    lines = [f"seed {seed}", *(f"port {port}" for port in ports)]
    if bound:
        lines.append("end-with-input")
    regions = 1 + max(region for path in paths for region in path.regions)
    for path in paths:
        figures = (
            f"{path.rtt_ms * 500:.3f} {path.jitter_ms * 1000:.3f} {path.loss:.9f}"
            f" {path.rate_bits or 0} {path.queue_bytes}"
        )
        for one, other in (path.regions, path.regions[::-1]):
            lines.append(f"path {one} {other} {figures}")
    for near in range(regions, len(ports)):
        for other in range(len(ports)):
            if other < near:
                lines += [
                    f"path {one} {two} 0 0 0 0 0" for one, two in ((near, other), (other, near))
                ]
    return "\n".join([*lines, "go", ""])
