"""Options of a hub server, and which of its event loops serve which port."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from plink.base.errors import WrongUseError
from plink.hub.placement import MOST_CORES, MOST_PORTS
from plink.transport.addresses import parse_address
from plink.transport.tls import Tls


@dataclass(frozen=True)
class ServerOptions:
    """Options of a hub server.

    Args:
        listen: its ports, each as HOST:PORT with a numeric host; port 0 for any. Workers call all
            of them; the first is the one by which people name the server.
        secret: of whoever may create and delete services.
        cores: event loops; None for as many as this process may use cores.
        pins: the cores that loops are pinned to, in turn; () for none, None for this process's if
            there are no more of them than loops.
        weights: of the ports, such as their rates; () for equal ones.
        send_buffer_bytes: of each connection to a near host; the kernel doubles it.
        snapshots: folder that they are written to and read from; None for none.
        tls: files of the server's; callers have to use TLS, too. None for clear connections.
        metrics: HOST:PORT at which Prometheus reads them; None for nowhere.
        window_s: of how long what ports carry is judged, by which services that are made later
            have other weights; 0 for never.

    Raises:
        WrongUseError: one of them cannot be.
    """

    listen: Sequence[str]
    secret: bytes
    cores: int | None = None
    pins: Sequence[int] | None = None
    weights: Sequence[float] = ()
    send_buffer_bytes: int = 128 << 10
    snapshots: str | None = None
    tls: Tls | None = None
    metrics: str | None = None
    window_s: float = 5.0

    def __post_init__(self) -> None:
        if not 0 < len(self.listen) <= MOST_PORTS:
            raise WrongUseError(
                f"a server with {len(self.listen)} ports, expected 1 to {MOST_PORTS}"
            )
        for address in self.listen:
            parse_address(address, "a server's address")
        if self.metrics is not None:
            parse_address(self.metrics, "the address of metrics")
        if self.cores is not None and not 0 < self.cores <= MOST_CORES:
            raise WrongUseError(f"{self.cores} cores, expected 1 to {MOST_CORES}")
        if self.weights and len(self.weights) != len(self.listen):
            raise WrongUseError(
                f"{len(self.weights)} weights for {len(self.listen)} ports",
                "give one for each address, in the same order",
            )

    def loops(self) -> int:
        """Return the number of event loops."""
        return self.cores or len(os.sched_getaffinity(0))

    def pinned_cores(self) -> list[int]:
        """Return the core that each event loop is pinned to; -1 for none."""
        loops = self.loops()
        own = sorted(os.sched_getaffinity(0))
        pins = list(self.pins) if self.pins is not None else own if len(own) <= loops else []
        return [pins[i % len(pins)] if pins else -1 for i in range(loops)]


def cores_of_ports(ports: int, loops: int) -> list[list[int]]:
    """Return the event loops that serve each port, dealt out evenly.

    With more loops than ports a port has several of its own; else ports share them in turn.
    """
    if loops <= ports:
        return [[port % loops] for port in range(ports)]
    return [[loop for loop in range(loops) if loop % ports == port] for port in range(ports)]
