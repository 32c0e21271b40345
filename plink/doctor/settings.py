"""Findings about settings that differ between hosts: MTU, congestion control, NIC speed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from plink.base.text import bandwidth_text, format_names
from plink.doctor.evidence import Evidence
from plink.doctor.finding import Finding, FindingKind
from plink.probes.condition import HostCondition

# So many of the hosts that say it have to agree for the others to be the odd ones.
_MOST = 0.6
_LEAST_HOSTS = 3
# What a host itself reads from its kernel is as sure as that it is the host that was meant.
_READ = 0.999
# That a difference costs something is less sure than that it is there.
_MTU_COST, _CONGESTION_COST = 1.3, 1.2
_SLOT_SHARE = 0.9


def find(evidence: Evidence) -> list[Finding]:
    """Return a finding for each host with an unusual setting, or for all if none is usual."""
    said = evidence.conditions
    return [
        *_odd(said, lambda each: each.mtu_bytes, _mtu),
        *_odd(said, lambda each: each.congestion_control, _congestion_control),
        *_find_slower(said, lambda each: _gbit_s(each.speed_mbit), "its NIC"),
        *_find_slower_ports(said),
        *_find_half_duplex(said),
        *_slots(said),
    ]


def _odd(
    said: Mapping[str, HostCondition],
    value_of: Callable[[HostCondition], object],
    finding: Callable[[Sequence[str], object, object, int], Finding],
) -> list[Finding]:
    values = {host: value_of(each) for host, each in said.items() if value_of(each) is not None}
    if len(values) < _LEAST_HOSTS:
        return []
    (usual, count), *_ = Counter(values.values()).most_common(1)
    if count == len(values) or count < _MOST * len(values):
        return [] if count == len(values) else [_build_mixed_finding(values, finding)]
    odd: dict[object, list[str]] = {}
    for host, value in values.items():
        if value != usual:
            odd.setdefault(value, []).append(host)
    return [finding(hosts, value, usual, count) for value, hosts in odd.items()]


def _build_mixed_finding(
    values: Mapping[str, object], finding: Callable[[Sequence[str], object, object, int], Finding]
) -> Finding:
    """Build the finding for a setting of which no value prevails."""
    (usual, count), (value, _), *_ = Counter(values.values()).most_common(2)
    return finding([host for host, each in values.items() if each == value], value, usual, count)


def _mtu(hosts: Sequence[str], value: object, usual: object, count: int) -> Finding:
    return Finding(
        FindingKind.MTU,
        list(hosts),
        f"{format_names(hosts)} {_has(hosts)} an MTU of {value} bytes, {count} other hosts have "
        f"{usual}",
        _READ,
        _MTU_COST,
        [
            (
                f"ip link set dev INTERFACE mtu {usual}, if the switches between carry it, "
                "and the same where the interface is configured"
            ),
            "with unequal MTUs large datagrams vanish, and TCP waits where ICMP is filtered",
        ],
    )


def _congestion_control(hosts: Sequence[str], value: object, usual: object, count: int) -> Finding:
    return Finding(
        FindingKind.CONGESTION_CONTROL,
        list(hosts),
        f"TCP of {format_names(hosts)} uses {value}, that of {count} other hosts {usual}",
        _READ,
        _CONGESTION_COST,
        [
            f"sysctl -w net.ipv4.tcp_congestion_control={usual}, and the same in /etc/sysctl.d",
            "where both share a link, one of the two gets less than its part",
        ],
    )


def _find_slower(
    said: Mapping[str, HostCondition],
    gbit_s_of: Callable[[HostCondition], float | None],
    what: str,
) -> list[Finding]:
    rates = {host: rate for host, each in said.items() if (rate := gbit_s_of(each)) is not None}
    if len(rates) < _LEAST_HOSTS:
        return []
    (usual, count), *_ = Counter(rates.values()).most_common(1)
    return [
        Finding(
            FindingKind.NIC_SPEED,
            [host],
            f"{host} says that {what} runs at {bandwidth_text(rate)}, "
            f"those of {count} other hosts at {bandwidth_text(usual)}",
            _READ,
            usual / rate,
            [
                (
                    "look at the cable or transceiver and the switch port; ethtool INTERFACE tells "
                    "both ends offer"
                ),
                "take the link down and up again, so that both ends agree anew on a speed",
            ],
        )
        for host, rate in rates.items()
        if rate < usual and count >= _MOST * len(rates)
    ]


def _find_slower_ports(said: Mapping[str, HostCondition]) -> list[Finding]:
    ports = dict.fromkeys(port for each in said.values() for port in each.infiniband_gbit_s)
    found = []
    for port in ports:

        def get_rate(each: HostCondition, port: str = port) -> float | None:
            return each.infiniband_gbit_s.get(port)

        found += _find_slower(said, get_rate, f"its port {port}")
    return found


def _find_half_duplex(said: Mapping[str, HostCondition]) -> list[Finding]:
    return [
        Finding(
            FindingKind.NIC_SPEED,
            [host],
            f"{host} says that its NIC runs in half duplex: it cannot send and receive at once",
            _READ,
            2.0,
            ["let both ends of the cable negotiate speed and duplex, or set both alike"],
        )
        for host, each in said.items()
        if each.duplex == "half"
    ]


def _slots(said: Mapping[str, HostCondition]) -> list[Finding]:
    return [
        Finding(
            FindingKind.NIC_SPEED,
            [host],
            f"the NIC of {host} has {100.0 * each.pcie_share:.0f} % of the PCIe lanes and speed "
            "that it could use",
            _READ,
            1.0 / max(each.pcie_share, 0.05),
            ["move the card to another slot, or seat it anew; compare lspci -vv with other hosts"],
        )
        for host, each in said.items()
        if each.pcie_share is not None
        and each.pcie_share < _SLOT_SHARE
        and not _is_common(said, each.pcie_share)
    ]


def _is_common(said: Mapping[str, HostCondition], share: float) -> bool:
    """Return whether most hosts have at most this share of PCIe lanes, by design."""
    known = [each.pcie_share for each in said.values() if each.pcie_share is not None]
    return sum(each <= share for each in known) > len(known) / 2


def _has(hosts: Sequence[str]) -> str:
    return "has" if len(hosts) == 1 else "have"


def _gbit_s(mbit: int | None) -> float | None:
    return None if mbit is None else mbit / 1000.0
