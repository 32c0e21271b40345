"""What is known of clients in a cluster file: what their software costs, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from plink.base.errors import WrongUseError
from plink.files.fields import Fields
from plink.files.link_facts import MAX_BURST_BYTES

FITTED = ("engine", "gloo", "openmpi", "mpich")

# Their ranks keep a core, also while they wait.
SPINNING = ("mpich",)

_MAX_OVERHEAD_US = 60e6
_MAX_S_PER_GB = 1e6
_LEAST_SHARE = 0.01
_MAX_SHARE = 2.0
_MAX_SPREAD = 10.0
_MAX_SECONDS = 1e9
_MAX_BYTES = 1 << 50
_MAX_CORES = 1 << 20


@dataclass(frozen=True)
class Estimate:
    """A value, and from what to what it may be (90 %)."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class SizeSpread:
    """How far times with buffers of a size are from what is predicted.

    Args:
        size_bytes: of the buffer.
        spread: the standard deviation of the times' logarithm.
    """

    size_bytes: int
    spread: float


@dataclass(frozen=True)
class FitSample:
    """What a fit was made from: an all-reduce of the real client.

    Args:
        algorithm: of the client.
        hosts: names, in rank order.
        size_bytes: of the buffer.
        seconds: of every repetition.
    """

    algorithm: str
    hosts: Sequence[str]
    size_bytes: int
    seconds: Sequence[float]


@dataclass(frozen=True)
class ClientFit:
    """What a client's software does and costs.

    Args:
        client: of `FITTED`.
        overhead_us: before a message begins, beside the network's latency.
        rendezvous_us: the same, of a message above 64 KiB, for asking first.
        reduction_s_per_gb: to add 10^9 bytes that arrived.
        flow_share: what flows get together of a link's rate.
        serialised: the share of exchanges in which one message waits for the other.
        processor_s_per_gb: of a rank's process, for 10^9 bytes of buffer; None where it polls, so
            that its time says nothing.
        burst_bytes: that links let pass at once, as its times show where nothing else tells; None
            where the cluster file does.
        turn_us: how long a rank keeps a core that it shares with others, where its client spins;
            None where it gives way.
        spreads: how far times are from predicted ones, by size, the least size first.
        shared_cores: of the one machine that all hosts are on; None where each has its own.
        versions: of the client's parts.
        started: when it was fitted, ISO 8601 in UTC; None where it was described.
        samples: that it was made from.
    """

    client: str
    overhead_us: Estimate
    rendezvous_us: Estimate
    reduction_s_per_gb: Estimate
    flow_share: Estimate
    serialised: Estimate
    processor_s_per_gb: Estimate | None = None
    burst_bytes: Estimate | None = None
    turn_us: Estimate | None = None
    spreads: Sequence[SizeSpread] = ()
    shared_cores: int | None = None
    versions: Mapping[str, str] | None = None
    started: str | None = None
    samples: Sequence[FitSample] = ()


def with_estimates(fit: ClientFit, estimates: Mapping[str, Estimate]) -> ClientFit:
    """The fit with other estimates, by their names."""
    changed: dict[str, Any] = dict(estimates)
    return replace(fit, **changed)


def exactly(value: float) -> Estimate:
    """A value that is known."""
    return Estimate(value, value, value)


def unfitted(client: str) -> ClientFit:
    """A client that costs nothing, whose flows get all that links carry."""
    nothing = exactly(0.0)
    return ClientFit(client, nothing, nothing, nothing, flow_share=exactly(1.0), serialised=nothing)


def to_json(fit: ClientFit) -> dict[str, Any]:
    """`fit` as a JSON object."""
    estimates = {
        name: _rounded(getattr(fit, name)) for name in _RANGES if getattr(fit, name) is not None
    }
    data: dict[str, Any] = {"client": fit.client, **estimates}
    data["spreads"] = [{**vars(each), "spread": round(each.spread, 4)} for each in fit.spreads]
    for name in ("shared_cores", "started"):
        if getattr(fit, name) is not None:
            data[name] = getattr(fit, name)
    if fit.versions:
        data["versions"] = dict(fit.versions)
    if fit.samples:
        data["samples"] = [
            {
                **vars(sample),
                "hosts": list(sample.hosts),
                "seconds": [round(seconds, 9) for seconds in sample.seconds],
            }
            for sample in fit.samples
        ]
    return data


_RANGES: Mapping[str, tuple[float, float]] = {
    "overhead_us": (0.0, _MAX_OVERHEAD_US),
    "rendezvous_us": (0.0, _MAX_OVERHEAD_US),
    "reduction_s_per_gb": (0.0, _MAX_S_PER_GB),
    "flow_share": (_LEAST_SHARE, _MAX_SHARE),
    "serialised": (0.0, 1.0),
    "processor_s_per_gb": (0.0, _MAX_S_PER_GB),
    "burst_bytes": (0.0, MAX_BURST_BYTES),
    "turn_us": (0.0, _MAX_OVERHEAD_US),
}
_OPTIONAL = ("processor_s_per_gb", "burst_bytes", "turn_us")


def parse_all(items: Sequence[Fields]) -> list[ClientFit]:
    """The clients of a cluster file.

    Raises:
        WrongUseError: one is not known or listed twice, or has invalid values.
    """
    found: list[ClientFit] = []
    for item in items:
        fit = _parse(item)
        if any(fit.client == other.client for other in found):
            raise WrongUseError(f"{item.place}: {fit.client} is listed twice")
        found.append(fit)
    return found


def _parse(fields: Fields) -> ClientFit:
    client = fields.text("client")
    if client not in FITTED:
        raise fields.error("client", f"one of {', '.join(FITTED)}")
    estimates: dict[str, Any] = {
        name: _estimate(fields.object(name), *limits)
        for name, limits in _RANGES.items()
        if name not in _OPTIONAL or fields.values.get(name) is not None
    }
    versions = None
    if fields.values.get("versions") is not None:
        parts = fields.object("versions")
        versions = {name: parts.text(name) for name in parts.names()}
    return ClientFit(
        client=client,
        **estimates,
        spreads=_spreads(fields),
        shared_cores=fields.optional_integer("shared_cores", 1, _MAX_CORES),
        versions=versions,
        started=fields.optional_text("started"),
        samples=[_sample(item) for item in fields.objects("samples", optional=True)],
    )


def _estimate(fields: Fields, low: float, high: float) -> Estimate:
    found = Estimate(*(fields.number(name, low, high) for name in ("value", "low", "high")))
    if not found.low <= found.value <= found.high:
        raise fields.error("value", "a number from low to high")
    return found


def _spreads(fields: Fields) -> list[SizeSpread]:
    found = [
        SizeSpread(
            item.integer("size_bytes", 0, _MAX_BYTES), item.number("spread", 0.0, _MAX_SPREAD)
        )
        for item in fields.objects("spreads")
    ]
    sizes = [each.size_bytes for each in found]
    if not sizes or sizes != sorted(set(sizes)):
        raise fields.error("spreads", "at least one, the least size first")
    return found


def _sample(fields: Fields) -> FitSample:
    values = fields.values.get("seconds")
    count = len(values) if isinstance(values, list) else 0
    if "hosts" not in fields.values:
        raise fields.error("hosts", "a list of texts")
    return FitSample(
        algorithm=fields.word("algorithm"),
        hosts=fields.texts("hosts"),
        size_bytes=fields.integer("size_bytes", 0, _MAX_BYTES),
        seconds=fields.numbers("seconds", count, _MAX_SECONDS),
    )


def _rounded(estimate: Estimate) -> dict[str, float]:
    return {name: float(f"{value:.6g}") for name, value in vars(estimate).items()}
