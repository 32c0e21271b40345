"""Network settings, NIC rates, counters and clocks that the hosts of a cluster report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from plink.base.text import brief
from plink.files.limits import Text, is_word
from plink.files.measurements import Measurement
from plink.probes.condition import HostCondition

_MAX_NAMES = 64
_MAX_BYTES_S = 1e15
_MAX_S = 1e10
_RANGES: Mapping[str, tuple[float, float]] = {
    "mtu_bytes": (1, 1 << 20),
    "speed_mbit": (1, 10_000_000),
    "pcie_share": (0, 1),
    "load": (0, 1e6),
    "cores": (1, 1 << 20),
    "busy_share": (0, 1),
    "steal_share": (0, 1),
    "processor_share": (0, 1),
    "throttled_share": (0, 1),
    "rx_bytes_s": (0, _MAX_BYTES_S),
    "tx_bytes_s": (0, _MAX_BYTES_S),
    "clock_offset_s": (-_MAX_S, _MAX_S),
    "clock_error_s": (0, _MAX_S),
}


class NamedCondition(Struct, frozen=True, forbid_unknown_fields=True):
    """Network condition of a host, with the host's name.

    Attributes:
        host: name of the host
        condition: what the host says; members that it does not say are absent
    """

    host: Text
    condition: HostCondition

    def __post_init__(self) -> None:
        for name, (low, high) in _RANGES.items():
            value = getattr(self.condition, name)
            if value is not None and not low <= value <= high:
                raise ValueError(f"{name} is {value:g}, expected a number from {low:g} to {high:g}")
        if self.condition.duplex not in (None, "full", "half"):
            raise ValueError(f"duplex is {brief(self.condition.duplex)}, expected full or half")
        for name in ("interface", "congestion_control", "kernel"):
            word = getattr(self.condition, name)
            if word and not is_word(word):
                raise ValueError(f"{name} is {brief(word)}, expected a word")
        for name in ("counters", "infiniband_gbit_s"):
            values = getattr(self.condition, name)
            if len(values) > _MAX_NAMES or not all(0 <= v < 1 << 62 for v in values.values()):
                raise ValueError(f"{name} has more than {_MAX_NAMES} names, or a number below 0")


class ConditionMeasurement(Measurement, frozen=True, forbid_unknown_fields=True):
    """Network conditions of all hosts that answered.

    Attributes:
        hosts: condition of each, at most once
    """

    hosts: Sequence[NamedCondition] = []
