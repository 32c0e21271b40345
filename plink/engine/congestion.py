"""Choice of TCP's congestion control for connections to near and far peers."""

from __future__ import annotations

import socket
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

# It keeps four segments of every flow under way whatever is lost, which many flows of near hosts
# overflow the queues of a slow link with (Cardwell 2017, "BBR", minimum window).
_HOLDS_ITS_OWN = "bbr"
# Every Linux has it, and lets every user choose it.
_GIVES_WAY = "reno"
_NAME_BYTES = 16
_ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")


@dataclass(frozen=True)
class CongestionControl:
    """Names of TCP congestion controls, by distance of the peer; None for the system's.

    Args:
        near: of connections to peers whose hosts are near, and of all until that is known.
        far: of the others, from then on.
        distant: of those that are very far, instead.
    """

    near: str | None
    far: str | None
    distant: str | None = None


def congestion_control(
    asked: str | None, systems: str, allowed: Collection[str] = ()
) -> CongestionControl:
    """Choose the congestion control of connections.

    Args:
        asked: by the user, for all; None for what suits.
        systems: what TCP has on this host by itself.
        allowed: what this user may choose.
    """
    if asked is not None:
        return CongestionControl(asked, None)
    if systems == _HOLDS_ITS_OWN:
        return CongestionControl(_GIVES_WAY, systems, systems)
    # Others take every loss for a full queue, and on long ways need minutes to find the rate again.
    return CongestionControl(None, None, _HOLDS_ITS_OWN if _HOLDS_ITS_OWN in allowed else None)


def allowed_congestion_controls() -> list[str]:
    """Return the congestion controls that every user of this host may choose."""
    try:
        return _ALLOWED.read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return []


def systems_congestion_control() -> str:
    """Return the congestion control that TCP uses by default in this network namespace."""
    with socket.socket() as probe:
        name = probe.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, _NAME_BYTES)
    return name.partition(b"\0")[0].decode("ascii", "replace")
