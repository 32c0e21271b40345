"""Network settings, NIC rates, counters and clocks that the hosts of a cluster report."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from plink.formats.limits import Text
from plink.formats.measurements import Measurement
from plink.probes.condition import HostCondition


class NamedCondition(Struct, frozen=True, forbid_unknown_fields=True):
    """Network condition (settings, NIC rates, counters, clock) of a host, with its name.

    Attributes:
        host: name of the host
        condition: what the host says; members that it does not say are absent
    """

    host: Text
    condition: HostCondition


class ConditionMeasurement(Measurement, frozen=True, forbid_unknown_fields=True):
    """Network conditions of all hosts that answered.

    Attributes:
        hosts: condition of each, at most once
    """

    hosts: Sequence[NamedCondition] = []
