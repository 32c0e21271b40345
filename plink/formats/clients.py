"""Fitted software costs of communication libraries (clients) in a cluster file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import replace

from plink.formats.groups import MAX_BURST_BYTES
from plink.formats.limits import Seconds, Text, Word, constrain_to_words

FITTED = ("engine", "gloo", "openmpi", "mpich")

# Clients whose ranks keep a core, also while they wait.
SPINNING = ("mpich",)

# The least and the largest value of each estimate.
_RANGES: Mapping[str, tuple[float, float]] = {
    "overhead_us": (0.0, 60e6),
    "rendezvous_us": (0.0, 60e6),
    "reduction_s_per_gb": (0.0, 1e6),
    "flow_share": (0.01, 2.0),
    "serialised": (0.0, 1.0),
    "processor_s_per_gb": (0.0, 1e6),
    "burst_bytes": (0.0, MAX_BURST_BYTES),
    "turn_us": (0.0, 60e6),
}

BufferSize = Annotated[int, Meta(ge=0, le=1 << 50)]
Spread = Annotated[float, Meta(ge=0, le=10)]


class Estimate(Struct, frozen=True, forbid_unknown_fields=True):
    """Estimate of one software cost of a communication library, with its 90 % interval.

    Attributes:
        value: most likely value
        low, high: ends of the interval
    """

    value: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high:
            raise ValueError(
                f"value is {self.value:g}, expected a number from low to high, "
                f"{self.low:g} to {self.high:g}"
            )


class SizeSpread(Struct, frozen=True, forbid_unknown_fields=True):
    """Spread of measured times around their prediction, for buffers of one size.

    Attributes:
        size_bytes: size of the buffer, in bytes
        spread: standard deviation of the times' logarithm
    """

    size_bytes: BufferSize
    spread: Spread


class FitSample(Struct, frozen=True, forbid_unknown_fields=True):
    """Measured all-reduce of a client (communication library) from which its costs were fitted.

    Attributes:
        algorithm: algorithm of the client
        hosts: names of the hosts, in rank order
        size_bytes: size of the buffer, in bytes
        seconds: time of every repetition, in s
    """

    algorithm: Word
    hosts: Sequence[str]
    size_bytes: BufferSize
    seconds: Sequence[Seconds]


class ClientFit(Struct, frozen=True, forbid_unknown_fields=True):
    """Fitted software costs of a client, a library: plink's engine, Gloo, Open MPI or MPICH.

    Attributes:
        client: `engine`, `gloo`, `openmpi` or `mpich`
        overhead_us: time before a message begins, beside the network's latency, in µs
        rendezvous_us: additional time of a message above 64 KiB, for asking first, in µs
        reduction_s_per_gb: time to add 10^9 bytes that arrived, in s
        flow_share: what flows get together of a link's rate
        serialised: share of exchanges in which one message waits for the other
        processor_s_per_gb: time of a rank's process for 10^9 bytes of buffer, in s; absent if it
            polls, so that its time says nothing
        burst_bytes: what links let pass at once, as its times show if nothing else tells, in bytes
        turn_us: time that a rank keeps a core that it shares with others, if its client spins, in
            µs; absent if it gives way
        spreads: how far times are from predicted ones, by size, the smallest size first
        shared_cores: cores of the one machine that all hosts are on; absent if each has its own
        versions: versions of the client's parts
        started: when it was fitted, ISO 8601 in UTC; absent if it was described
        samples: what it was fitted to
    """

    client: Annotated[str, constrain_to_words(*FITTED)]
    overhead_us: Estimate
    rendezvous_us: Estimate
    reduction_s_per_gb: Estimate
    flow_share: Estimate
    serialised: Estimate
    processor_s_per_gb: Estimate | None = None
    burst_bytes: Estimate | None = None
    turn_us: Estimate | None = None
    spreads: Sequence[SizeSpread] = []
    shared_cores: Annotated[int, Meta(ge=1, le=1 << 20)] | None = None
    versions: Mapping[str, Text] | None = None
    started: Text | None = None
    samples: Sequence[FitSample] = []

    def __post_init__(self) -> None:
        for name, (low, high) in _RANGES.items():
            estimate = getattr(self, name)
            if estimate is not None and not low <= estimate.low <= estimate.high <= high:
                raise ValueError(
                    f"{self.client}: {name} and its interval must be from {low:g} to {high:g}"
                )
        sizes = [each.size_bytes for each in self.spreads]
        if sizes != sorted(set(sizes)):
            raise ValueError("spreads must be sorted by size_bytes, with no size twice")


def with_estimates(fit: ClientFit, estimates: Mapping[str, Estimate]) -> ClientFit:
    """Return a copy of a library's fitted costs with some estimates replaced, by member name."""
    changed: dict[str, Any] = dict(estimates)
    return replace(fit, **changed)


def build_exact_estimate(value: float) -> Estimate:
    """Return an estimate for a value that is known exactly: all of its interval is the value."""
    return Estimate(value, value, value)


def build_free_client(client: str) -> ClientFit:
    """Return the costs of an ideal communication library: none, and its flows use links fully."""
    nothing = build_exact_estimate(0.0)
    return ClientFit(
        client, nothing, nothing, nothing, flow_share=build_exact_estimate(1.0), serialised=nothing
    )
