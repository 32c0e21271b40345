"""What a cluster's hosts said of their networks: settings, rates of NICs, counters, clocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plink.base.errors import WrongUseError
from plink.files.document import brief
from plink.files.fields import Fields
from plink.files.measurement import Measurement, parse_record, record_to_json, without_nones
from plink.probes.condition import HostCondition

_MOST_COUNTED = 1 << 62
_MOST_BYTES_S = 1e15
_MOST_S = 1e10
_MOST_NAMES = 64


@dataclass(frozen=True)
class NamedCondition:
    """The condition of the host called `host`."""

    host: str
    condition: HostCondition


@dataclass(frozen=True)
class ConditionMeasurement(Measurement):
    """The condition of the hosts that could be asked, each at most once."""

    hosts: Sequence[NamedCondition] = ()


def to_json(conditions: ConditionMeasurement) -> dict[str, Any]:
    """`conditions` as a JSON object."""
    return {
        **record_to_json(conditions),
        "hosts": [
            {"host": each.host, **without_nones(vars(each.condition))} for each in conditions.hosts
        ],
    }


def parse(fields: Fields, names: Sequence[str]) -> ConditionMeasurement:
    """The conditions of some of the hosts of these names.

    Raises:
        WrongUseError: invalid values, a host that is not there, or one twice.
    """
    left = set(names)
    found = []
    for item in fields.objects("hosts"):
        host = item.text("host")
        if host not in left:
            raise WrongUseError(f"{item.place}: {brief(host)} is there twice, or is not a host")
        left.remove(host)
        found.append(NamedCondition(host, _parse(item)))
    return ConditionMeasurement(hosts=found, **parse_record(fields))


def _parse(item: Fields) -> HostCondition:
    counters = item.optional_object("counters")
    ports = item.optional_object("infiniband_gbit_s")
    for part, name in ((counters, "counters"), (ports, "infiniband_gbit_s")):
        if part is not None and len(part.values) > _MOST_NAMES:
            raise item.error(name, f"at most {_MOST_NAMES} members")
    duplex = item.optional_text("duplex")
    if duplex not in (None, "full", "half"):
        raise item.error("duplex", "full or half")
    return HostCondition(
        interface=item.optional_word("interface") or "",
        mtu_bytes=item.optional_integer("mtu_bytes", 1, 1 << 20),
        speed_mbit=item.optional_integer("speed_mbit", 1, 10_000_000),
        duplex=duplex,
        pcie_share=item.optional_number("pcie_share", 0.0, 1.0),
        congestion_control=item.optional_word("congestion_control"),
        kernel=item.optional_word("kernel"),
        load=item.optional_number("load", 0.0, 1e6),
        cores=item.integer("cores", 1, 1 << 20, 1),
        busy_share=item.optional_number("busy_share", 0.0, 1.0),
        steal_share=item.optional_number("steal_share", 0.0, 1.0),
        processor_share=item.optional_number("processor_share", 0.0, 1.0),
        rx_bytes_s=item.optional_number("rx_bytes_s", 0.0, _MOST_BYTES_S),
        tx_bytes_s=item.optional_number("tx_bytes_s", 0.0, _MOST_BYTES_S),
        counters={}
        if counters is None
        else {name: counters.integer(name, 0, _MOST_COUNTED) for name in counters.names()},
        infiniband_gbit_s={}
        if ports is None
        else {name: ports.number(name, 0.0, 1e6) for name in ports.names()},
        clock_offset_s=item.optional_number("clock_offset_s", -_MOST_S, _MOST_S),
        clock_error_s=item.optional_number("clock_error_s", 0.0, _MOST_S),
    )
