"""Options of an engine."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass

from plink.base.arguments import check_flag, check_instance, check_integer, check_real, check_text
from plink.base.errors import WrongUseError
from plink.base.text import brief
from plink.transport.tls import Tls

DEFAULT_WORKERS = 2
DEFAULT_MEMORY_BYTES = 128 << 10
DEFAULT_SPIN_US = 200.0
MOST_WORKERS = 64
MOST_IN_FLIGHT = 64
MOST_CHUNK_BYTES = 1 << 40
MOST_SEND_BUFFER_BYTES = (1 << 30) - 1
MOST_PORT = 65_535
MOST_SPIN_US = 1e6
LEAST_TIMEOUT_S = 1e-6
MOST_TIMEOUT_S = 999_999.0


@dataclass(frozen=True)
class Options:
    """Options of an engine. Those marked * must be the same on every rank, which is verified.

    Args:
        workers: * threads that carry data, each with a connection to every peer; None for rank
            0's default, 2.
        chunk_bytes: * None for a size that suits buffer and plan.
        deterministic: * contributions are added in a fixed order, so that a run that is repeated
            has the same results bit for bit. (All ranks have the same results in any case.)
        addresses: numeric addresses on which to listen, each of another interface; connections
            are spread over them. Empty for the address of the default route.
        port: on which to listen, 0 for any.
        congestion_control: of TCP, such as `reno`; None for the system's, but where that is `bbr`
            `reno` to peers whose hosts are within 500 µs.
        send_buffer_bytes: of each connection: by TCP the kernel doubles it, of shared memory it is
            the next power of two, at least 64 KB. None for 128 KB of shared memory, and by TCP for
            512 KB over all that the plan sends on, 16 to 256 KB each, where the peer's host is
            within 500 µs, and the kernel's own tuning elsewhere.
        shared_memory: data to and from ranks of the same host go through memory that both have
            mapped, instead of TCP. Ranks are of one host where they share a network namespace and
            a user. Where one of two ranks does not want it, both use TCP.
        tls: all TCP connections go by TLS 1.3, and both ends show certificates (`docs/engine.md`);
            either the files, or the folder that has them. None for clear connections. Each rank
            has its own, but all have one or none has.
        in_flight: how many collectives are under way at once.
        cores: for the workers to be pinned to, in turn; None for the cores of this process where
            there are no more of them than workers, else no pinning; () for none.
        spin_us: a thread that waits for a buffer of at most 64 KB looks again and again for so long
            before it sleeps: faster by the time that waking takes, for a busy core. 0 sleeps at
            once. None for 200 µs where the ranks of this host are no more than the cores of this
            process, and not for a second after another thread turned out to want the core.
        setup_timeout_s: for all ranks to be there.
        silence_timeout_s: a peer of which nothing is heard for so long, while a collective is
            pending, is given up.
        stall_timeout_s: so is one that does not join a collective.
    """

    workers: int | None = None
    chunk_bytes: int | None = None
    deterministic: bool = False
    addresses: Sequence[str] = ()
    port: int = 0
    congestion_control: str | None = None
    send_buffer_bytes: int | None = None
    shared_memory: bool = True
    tls: Tls | str | None = None
    in_flight: int = 2
    cores: Sequence[int] | None = None
    spin_us: float | None = None
    setup_timeout_s: float = 60.0
    silence_timeout_s: float = 30.0
    stall_timeout_s: float = 1800.0

    def __post_init__(self) -> None:
        bounds = {
            "workers": (1, MOST_WORKERS),
            "chunk_bytes": (1, MOST_CHUNK_BYTES),
            "send_buffer_bytes": (1, MOST_SEND_BUFFER_BYTES),
        }
        for name, (low, high) in bounds.items():
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), low, high)
        check_integer("in_flight", self.in_flight, 1, MOST_IN_FLIGHT)
        check_integer("port", self.port, 0, MOST_PORT)
        for name in ("deterministic", "shared_memory"):
            check_flag(name, getattr(self, name))
        if self.spin_us is not None:
            check_real("spin_us", self.spin_us, 0.0, MOST_SPIN_US)
        for name in ("setup_timeout_s", "silence_timeout_s", "stall_timeout_s"):
            check_real(name, getattr(self, name), LEAST_TIMEOUT_S, MOST_TIMEOUT_S)
        if self.congestion_control is not None:
            check_text("congestion_control", self.congestion_control, "such as reno or bbr")
        if self.tls is not None:
            check_instance("tls", self.tls, (Tls, str), "a folder of certificates or a Tls")
        self._check_lists()

    def _check_lists(self) -> None:
        if isinstance(self.addresses, str):
            raise WrongUseError(
                f"addresses is {self.addresses!r}, expected a list of addresses",
                f"addresses=[{self.addresses!r}]",
            )
        check_instance("addresses", self.addresses, Sequence, "a list of addresses")
        for address in self.addresses:
            if not _is_address(address):
                raise WrongUseError(
                    f"addresses has {brief(address)}, expected numeric addresses such as 10.0.0.1"
                )
        if self.cores is not None:
            check_instance("cores", self.cores, Sequence, "a list of numbers of cores")
            for core in self.cores:
                check_integer("each of cores", core, 0)

    def certificates(self, rank: int) -> Tls | None:
        """Return a rank's certificates; None for connections without TLS.

        Raises:
            WrongUseError: a file cannot be read.
        """
        tls = Tls.of_folder(self.tls) if isinstance(self.tls, str) else self.tls
        return tls.for_rank(rank) if tls is not None else None

    def spin_time_us(self, ranks_of_host: int) -> float:
        """Return how many µs a waiting thread spins before it sleeps."""
        if self.spin_us is not None:
            return self.spin_us
        return DEFAULT_SPIN_US if ranks_of_host <= len(os.sched_getaffinity(0)) else 0.0

    def pinned_cores(self, workers: int) -> list[int]:
        """Return the cores that the workers are pinned to, in turn; empty to pin none."""
        if self.cores is not None:
            return list(self.cores)
        # With no more cores than workers there is no better place to move to; with more, several
        # engines of one host must not all crowd on the first ones.
        own = sorted(os.sched_getaffinity(0))
        return own if len(own) <= workers else []


def _is_address(address: object) -> bool:
    try:
        ipaddress.ip_address(address)  # type: ignore[arg-type]
    except ValueError:
        return False
    return isinstance(address, str)
