"""Random clusters with readings of what their links carry, some with a slow or a far host."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plink.formats.cluster import Cluster
from plink.formats.groups import HostLink, Uplink, UplinkMeasurement
from plink.formats.hosts import Group, Host
from plink.formats.matrices import Matrix
from plink.formats.measurements import BandwidthMeasurement, RttMeasurement


@dataclass(frozen=True)
class Drawn:
    """A cluster, and the host that is slow or far in it; None for none."""

    cluster: Cluster
    odd: int | None


def draw(seed: int, *, most: int, odd: str | None = None, known: float = 1.0) -> Drawn:
    """A cluster of racks of random sizes behind uplinks that carry too little or enough.

    Args:
        seed: decides everything.
        most: hosts in a rack, and racks.
        odd: `slow`, `sends`, `receives` or `far`: what is wrong with one of them; None for nothing.
        known: the share of the directed pairs that were measured.
    """
    rng = np.random.default_rng([seed, most])
    sizes = rng.integers(1, most + 1, size=rng.integers(1, most + 1))
    while sizes.sum() < 4 or (sizes.min() == 1 and (sizes > 1).sum() < 2):
        sizes = np.append(sizes, 2)
    rack = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    size = len(rack)
    link = float(rng.choice([0.4, 1.0, 10.0, 25.0, 100.0]))
    send, receive = np.full(size, link), np.full(size, link)
    host = int(rng.integers(size)) if odd else None
    factor = float(rng.uniform(0.1, 0.5))
    if odd in {"slow", "sends"}:
        send[host] *= factor
    if odd in {"slow", "receives"}:
        receive[host] *= factor
    # A host alone behind a thin uplink, or far from one rack of all others, would be odd.
    share = np.where(sizes == 1, 1.0, rng.choice([0.1, 0.3, 0.5, 1.0], size=len(sizes)))
    uplink = link * sizes * share
    noise = float(rng.choice([0.02, 0.05, 0.12]))
    rates = np.minimum(send[:, None], receive[None, :])
    across = rack[:, None] != rack[None, :]
    rates = np.where(
        across, np.minimum(rates, np.minimum(*np.ix_(uplink[rack], uplink[rack]))), rates
    )
    rates *= np.minimum(1.0, rng.lognormal(0.0, noise, rates.shape))
    # Now and then a transfer of a second goes wrong.
    rates *= np.where(rng.random(rates.shape) < 0.05, rng.uniform(0.3, 1.0, rates.shape), 1.0)
    delay = np.zeros(size)
    within, between = float(rng.uniform(10.0, 100.0)), float(rng.uniform(1.2, 4.0))
    if odd == "far":
        delay[host] = within * between * float(rng.uniform(1.0, 4.0))
    rtt = np.where(across, within * between, within) + delay[:, None] + delay[None, :]
    rtt = rtt * (1.0 + np.abs(rng.normal(0.0, noise, rtt.shape)))
    is_known = rng.random(rates.shape) < known
    return Drawn(_cluster(rates, rtt, is_known, rack), host)


def with_links_alone(drawn: Drawn, link: float, seed: int) -> Cluster:
    """The same hosts where uplinks were measured, and each host's link beside them."""
    rng = np.random.default_rng([seed, 7])
    rates = link * np.minimum(1.0, rng.lognormal(0.0, 0.05, (2, len(drawn.cluster.hosts))))
    if drawn.odd is not None:
        rates[:, drawn.odd] *= 0.4
    links = [
        HostLink(name, float(send), float(receive))
        for name, send, receive in zip(drawn.cluster.names, *rates, strict=True)
    ]
    uplinks = UplinkMeasurement(
        uplinks=[Uplink(group.name, link, link) for group in drawn.cluster.groups],
        links=links,
        tool="uplinks",
        options={"duration_s": 2, "streams": 1},
    )
    return Cluster(drawn.cluster.hosts, groups=drawn.cluster.groups, uplinks=uplinks)


def _cluster(rates: Matrix, rtt_us: Matrix, is_known: Matrix, rack: Matrix) -> Cluster:
    names = [f"n{host:02}" for host in range(len(rack))]
    for matrix in (rates, rtt_us):
        matrix[np.logical_not(is_known)] = np.nan
        np.fill_diagonal(matrix, np.nan)
    counts = np.where(np.isnan(rtt_us), 0, 100).astype(np.int64)
    return Cluster(
        [Host(name, f"10.0.0.{place + 1}") for place, name in enumerate(names)],
        rtt=RttMeasurement(
            rtt_us={10.0: rtt_us, 50.0: rtt_us * 1.02, 99.0: rtt_us * 1.1},
            reading=10.0,
            samples=counts,
            losses=0 * counts,
            tool="echo",
        ),
        bandwidth=BandwidthMeasurement(
            gbit_s=rates,
            retransmits=0.0 * rates,
            tool="iperf3",
            options={"duration_s": 1, "streams": 1, "congestion": None, "direction": "each"},
        ),
        groups=[
            Group(f"r{number}", [names[host] for host in np.flatnonzero(rack == number)])
            for number in np.unique(rack)
        ],
    )
