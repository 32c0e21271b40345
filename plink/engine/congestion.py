"""Which congestion control TCP has towards near peers and far ones."""

from __future__ import annotations

import socket
from dataclasses import dataclass

# It keeps four segments of every flow under way whatever is lost, which many flows of near hosts
# overflow the queues of a slow link with (Cardwell 2017, "BBR", minimum window).
_HOLDS_ITS_OWN = "bbr"
# Every Linux has it, and lets every user choose it.
_GIVES_WAY = "reno"
_NAME_BYTES = 16


@dataclass(frozen=True)
class CongestionControl:
    """The kernel's names, None for the system's.

    Args:
        near: of connections to peers whose hosts are near, and of all until that is known.
        far: of the others, from then on.
    """

    near: str | None
    far: str | None


def congestion_control(asked: str | None, systems: str) -> CongestionControl:
    """What connections get.

    Args:
        asked: by the user, for all; None for what suits.
        systems: what TCP has on this host by itself.
    """
    if asked is not None or systems != _HOLDS_ITS_OWN:
        return CongestionControl(asked, None)
    return CongestionControl(_GIVES_WAY, systems)


def systems_congestion_control() -> str:
    """What TCP has on this host, in this network namespace, by itself."""
    with socket.socket() as probe:
        name = probe.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, _NAME_BYTES)
    return name.partition(b"\0")[0].decode("ascii", "replace")
