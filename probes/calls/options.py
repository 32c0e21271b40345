"""Options for agents that call plink."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class ListenOptions:
    """Address at which plink listens for agents, and the secret they must prove.

    Args:
        host: the address to listen on; empty for all of this machine's.
        port: the port; 0 for a free one.
        secret: what all agents know, too.
        wait_s: how long to wait for the hosts that are expected.
        concurrency: handshakes in flight.
    """

    host: str
    port: int
    secret: bytes = field(repr=False)
    wait_s: float = 300.0
    concurrency: int = 16
