"""Clusters whose ills are known: racks of unequal sizes, noise from a seed, and one fault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.conditions import ConditionMeasurement, NamedCondition
from plink.formats.groups import HostLink, Uplink, UplinkMeasurement
from plink.formats.hosts import Group, Host
from plink.formats.measurements import (
    BandwidthMeasurement,
    RttMeasurement,
)
from plink.probes.condition import HostCondition

GBIT_S = 0.94
SENT = 200

Floats = npt.NDArray[np.float64]


@dataclass
class Ward:
    """A cluster in the making: what `cluster` measures of it.

    Args:
        racks: hosts in each.
        seed: of noise, distances and uplinks.
    """

    racks: Sequence[int]
    seed: int = 0

    def __post_init__(self) -> None:
        self.chance = np.random.default_rng(self.seed)
        self.rack = np.repeat(np.arange(len(self.racks)), self.racks)
        self.size = len(self.rack)
        up_us = self.chance.uniform(5.0, 40.0, len(self.racks))
        far = self.rack[:, None] != self.rack[None, :]
        ways_us = up_us[self.rack]
        self.quick_us: Floats = 20.0 + far * (ways_us[:, None] + ways_us[None, :])
        self.wait_us: Floats = np.zeros((self.size, self.size))
        self.loss: Floats = np.zeros((self.size, self.size))
        self.send, self.receive = (np.full(self.size, GBIT_S) for _ in range(2))
        self.up, self.down = (self.chance.uniform(0.4, 1.0, len(self.racks)) for _ in range(2))
        self.up = self.down = np.minimum(self.up, self.down) * np.array(self.racks) * GBIT_S
        self.both = np.full(len(self.racks), 1.0)
        self.conditions = [
            HostCondition(
                interface="eth0",
                mtu_bytes=9000,
                speed_mbit=1000,
                duplex="full",
                congestion_control="cubic",
                processor_share=float(self.chance.uniform(0.7, 1.0)),
                busy_share=float(self.chance.uniform(0.0, 0.3)),
                steal_share=0.0,
                rx_bytes_s=1000.0,
                tx_bytes_s=1000.0,
                clock_offset_s=float(self.chance.normal(5.0, 0.01)),
                clock_error_s=0.02,
            )
            for _ in range(self.size)
        ]

    @property
    def names(self) -> list[str]:
        return [f"n{index:02d}" for index in range(self.size)]

    def members(self, rack: int) -> list[str]:
        return [name for name, of in zip(self.names, self.rack, strict=True) if of == rack]

    def set(self, host: int, **values: object) -> None:
        """Let a host say something else."""
        self.conditions[host] = replace(self.conditions[host], **values)  # type: ignore[arg-type]

    def cluster(self, *, with_pairs: bool = False) -> Cluster:
        """What would be measured, noise included."""
        quick = self.quick_us * (1.0 + np.abs(self.chance.normal(0.0, 0.03, self.quick_us.shape)))
        usual = quick * (1.0 + np.abs(self.chance.normal(0.0, 0.05, quick.shape))) + self.wait_us
        for matrix in (quick, usual):
            np.fill_diagonal(matrix, np.nan)
        sent = np.full(quick.shape, SENT)
        np.fill_diagonal(sent, 0)
        lost = self.chance.binomial(sent, self.loss)
        names = self.names
        groups = [
            Group(f"g{rack + 1}", self.members(rack))
            for rack, hosts in enumerate(self.racks)
            if hosts > 1
        ]
        return Cluster(
            [Host(name, f"10.0.0.{index + 1}") for index, name in enumerate(names)],
            rtt=RttMeasurement(
                rtt_us={10.0: quick, 50.0: usual},
                reading=10.0,
                samples=sent - lost,
                losses=lost,
                tool="echo",
            ),
            groups=groups,
            uplinks=UplinkMeasurement(
                tool="uplinks",
                uplinks=[self._uplink(group, int(group.name[1:]) - 1) for group in groups],
                links=[
                    HostLink(name, self._noisy(send), self._noisy(receive))
                    for name, send, receive in zip(names, self.send, self.receive, strict=True)
                ],
            ),
            bandwidth=self._bandwidth() if with_pairs else None,
            conditions=ConditionMeasurement(
                tool="shell",
                hosts=[
                    NamedCondition(name, said)
                    for name, said in zip(names, self.conditions, strict=True)
                ],
            ),
        )

    def _uplink(self, group: Group, rack: int) -> Uplink:
        up, down = self._noisy(self.up[rack]), self._noisy(self.down[rack])
        both = self._noisy(self.both[rack] * (up + down))
        return Uplink(group.name, up, down, both_gbit_s=both)

    def _bandwidth(self) -> BandwidthMeasurement:
        gbit_s = np.minimum(self.send[:, None], self.receive[None, :])
        noisy = gbit_s * np.exp(-np.abs(self.chance.normal(0.0, 0.03, gbit_s.shape)))
        np.fill_diagonal(noisy, np.nan)
        unknown = np.full(gbit_s.shape, np.nan)
        return BandwidthMeasurement(gbit_s=noisy, retransmits=unknown, tool="iperf3")

    def _noisy(self, gbit_s: float) -> float:
        return float(gbit_s * np.exp(-abs(self.chance.normal(0.0, 0.04))))


def drawn(seed: int) -> Ward:
    """Three to six racks of two to seven hosts, and now and then one of a single host."""
    chance = np.random.default_rng(10_000 + seed)
    racks = chance.integers(2, 8, chance.integers(3, 7)).tolist()
    if chance.random() < 0.4:
        racks.append(1)
    return Ward(racks, seed)
