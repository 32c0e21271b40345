"""Findings from hosts' reports of settings, NIC errors, processors, traffic and clocks.

A host is compared with the other hosts: what most have alike is how the machines were rented.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np

from plink.base.text import bandwidth_text, format_names, rtt_text
from plink.doctor.certainty import probability, spread
from plink.doctor.evidence import Evidence
from plink.doctor.finding import Finding, FindingKind
from plink.probes.condition import HostCondition

_LEAST_HOSTS = 3
# So many of the hosts that say it have to agree for the others to be the odd ones.
_MOST = 0.6
# Where more hosts than this share are odd, none is.
_MOST_ODD = 0.3
# What a host itself reads from its kernel is as sure as that it is the host that was meant.
_READ = 0.999
# A load may be another the next moment.
_READ_LOAD, _READ_TRAFFIC = 0.98, 0.97
# That a difference costs something is less sure than that it is there.
_MTU_COST, _CONGESTION_COST, _CLOCK_COST, _ERRORS_COST = 1.3, 1.2, 1.02, 1.5
_SLOT_SHARE = 0.9

# Shares of what a program gets elsewhere, and of the log of that: what differs from host to host.
_LITTLE, _LEAST_SPREAD = 0.6, 0.2
# Shares of all processors' time while nothing is measured: of the host, and of the others.
_BUSY, _STOLEN = (0.8, 0.5), (0.1, 0.05)
# Share of the periods in which a program wants all of a processor.
_THROTTLED = 0.3

_COUNTERS = {
    "rx_crc_errors": "CRC errors",
    "rx_errors": "receive errors",
    "tx_errors": "send errors",
}
# Share of packets: a healthy cable loses a bit in 10^12 (IEEE 802.3), 10^-8 of its packets.
_LEAST_ERRORS, _LEAST_COUNT = 1e-6, 10
# They may be of long ago: counters run since the host started.
_ERRORS_PROBABILITY = 0.9
# Share of what a host's link carries.
_LEAST_TRAFFIC = 0.1
# Below a tenth of a second clocks disturb no timeout, and logs can still be compared.
_LEAST_OFFSET_S = 0.1


def _build(
    kind: FindingKind, host: str, says: str, sure: float, cost: float, *advice: str
) -> Finding:
    return Finding(kind, [host], says, sure, cost, advice)


def find_odd_settings(evidence: Evidence) -> list[Finding]:
    """Return findings on hosts whose MTU, TCP or NIC settings differ from most hosts'."""
    found = []
    for hosts, value, usual, count in _find_odd(evidence, lambda each: each.mtu_bytes):
        says = f"the MTU of {format_names(hosts)} is {value}, that of {count} other hosts {usual}"
        advice = [
            f"ip link set dev INTERFACE mtu {usual}, if the switches between carry it",
            "with unequal MTUs large datagrams vanish, and TCP waits where ICMP is filtered",
        ]
        found.append(Finding(FindingKind.MTU, hosts, says, _READ, _MTU_COST, advice))
    for hosts, value, usual, count in _find_odd(evidence, lambda each: each.congestion_control):
        says = f"TCP of {format_names(hosts)} uses {value}, that of {count} other hosts {usual}"
        advice = [
            f"sysctl -w net.ipv4.tcp_congestion_control={usual}, and the same in /etc/sysctl.d",
            "where both share a link, one of the two gets less than its part",
        ]
        kind, cost = FindingKind.CONGESTION_CONTROL, _CONGESTION_COST
        found.append(Finding(kind, hosts, says, _READ, cost, advice))
    nics = evidence.reported(lambda each: each.speed_mbit)
    found += _find_slower({host: mbit / 1000.0 for host, mbit in nics.items()}, "its NIC")
    conditions = evidence.conditions
    for port in dict.fromkeys(p for each in conditions.values() for p in each.infiniband_gbit_s):
        rates = {
            host: each.infiniband_gbit_s[port]
            for host, each in conditions.items()
            if port in each.infiniband_gbit_s
        }
        found += _find_slower(rates, f"its port {port}")
    for host, each in conditions.items():
        if each.duplex == "half":
            says = f"the NIC of {host} runs in half duplex: it cannot send and receive at once"
            hint = "let both ends of the cable negotiate speed and duplex, or set both alike"
            found.append(_build(FindingKind.NIC_SPEED, host, says, _READ, 2.0, hint))
    lanes = evidence.reported(lambda each: each.pcie_share)
    for host, share in lanes.items():
        is_common = sum(each <= share for each in lanes.values()) > len(lanes) / 2
        if share < _SLOT_SHARE and not is_common:
            says = f"the NIC of {host} has {100.0 * share:.0f} % of the PCIe rate it could use"
            hint = "move the card to another slot, or seat it anew; compare lspci -vv elsewhere"
            cost = 1.0 / max(share, 0.05)
            found.append(_build(FindingKind.NIC_SPEED, host, says, _READ, cost, hint))
    return found


def _find_odd(
    evidence: Evidence, value_of: Callable[[HostCondition], object]
) -> list[tuple[list[str], object, object, int]]:
    """Return (hosts, value, most common value, its count) for each value that most do not have."""
    values = evidence.reported(value_of)
    counts = Counter(values.values()).most_common()
    if len(values) < _LEAST_HOSTS or len(counts) == 1:
        return []
    (usual, count), *others = counts
    if count < _MOST * len(values):
        # Where no value prevails, the second stands for all others.
        others = others[:1]
    odd = dict.fromkeys(value for value in values.values() if value in dict(others))
    return [
        ([host for host, each in values.items() if each == value], value, usual, count)
        for value in odd
    ]


def _find_slower(gbit_s: Mapping[str, float], what: str) -> list[Finding]:
    if len(gbit_s) < _LEAST_HOSTS:
        return []
    (usual, count), *_ = Counter(gbit_s.values()).most_common(1)
    return [
        _build(
            FindingKind.NIC_SPEED,
            host,
            f"{host} says that {what} runs at {bandwidth_text(rate)}, "
            f"those of {count} other hosts at {bandwidth_text(usual)}",
            _READ,
            usual / rate,
            "look at the cable or transceiver and the switch port; ethtool INTERFACE tells both "
            "ends offer",
            "take the link down and up again, so that both ends agree anew on a speed",
        )
        for host, rate in gbit_s.items()
        if rate < usual and count >= _MOST * len(gbit_s)
    ]


def find_errors(evidence: Evidence) -> list[Finding]:
    """Return a finding for each host whose NIC has counted far more errors than most hosts'."""
    conditions = evidence.conditions
    if len(conditions) < _LEAST_HOSTS:
        return []
    found: dict[str, Finding] = {}
    for counter, words in _COUNTERS.items():
        counts = {host: each.counters.get(counter, 0) for host, each in conditions.items()}
        packets = f"{counter[:2]}_packets"
        shares = {
            host: count / max(conditions[host].counters.get(packets, 0), 1)
            for host, count in counts.items()
        }
        usual = float(np.median(list(shares.values())))
        for host, share in shares.items():
            if counts[host] < _LEAST_COUNT or share <= max(_LEAST_ERRORS, 10.0 * usual):
                continue
            finding = _build(
                FindingKind.LOSS,
                host,
                f"the NIC of {host} has counted {counts[host]:,} {words} since it started, "
                f"{1e6 * share:.3g} in a million packets; those of most other hosts next to none",
                _ERRORS_PROBABILITY,
                _ERRORS_COST,
                "look whether the count still grows: ip -s link, ethtool -S INTERFACE",
                "clean or change the cable or transceiver, and try another switch port",
            )
            found.setdefault(host, finding)
    return list(found.values())


def find_busy_hosts(evidence: Evidence) -> list[Finding]:
    """Return a finding for each host whose processors are busy, stolen or throttled."""
    hosts = len(evidence.conditions)
    if hosts < _LEAST_HOSTS:
        return []
    gets = evidence.reported(lambda each: each.processor_share)
    throttled = evidence.reported(lambda each: each.throttled_share)
    found = [
        *_find_above(
            evidence.reported(lambda each: each.busy_share),
            _BUSY,
            "the processors of {host} are {share:.0f} % busy while nothing is measured, those of "
            "the other hosts {usual:.0f} % (median)",
        ),
        *_find_above(
            evidence.reported(lambda each: each.steal_share),
            _STOLEN,
            "the machine below {host} takes {share:.0f} % of its processors' time (steal), of the "
            "other hosts' {usual:.0f} % (median)",
        ),
    ]
    if len(gets) >= _LEAST_HOSTS:
        logs = np.log(np.maximum(1e-3, np.array(list(gets.values()))))
        usual, noise = float(np.exp(np.median(logs))), spread(logs, _LEAST_SPREAD)
        found += [
            _build(
                FindingKind.BUSY,
                host,
                f"a program that wants all of a processor gets {100.0 * share:.0f} % of it on "
                f"{host}, and {100.0 * usual:.0f} % on the other hosts (median)",
                probability(float(np.log(usual) - log) / noise, len(gets)),
                min(10.0, usual / share),
                f"look what runs on {host}: top, systemd-cgtop; another job, a runaway process",
                "look for a limit of the container or the job: cpu.max, nr_throttled in cpu.stat",
            )
            for (host, share), log in zip(gets.items(), logs, strict=True)
            if share < _LITTLE * usual
        ]
    stopped = {host: share for host, share in throttled.items() if share > _THROTTLED}
    if len(stopped) <= _MOST_ODD * hosts:
        found += [
            _build(
                FindingKind.BUSY,
                host,
                f"a limit stops programs on {host} in {100.0 * share:.0f} % of its periods: one "
                f"that wants all of a processor gets {100.0 * gets.get(host, 0.0):.0f} % of it",
                _READ_LOAD,
                min(10.0, 1.0 / max(gets.get(host, 1.0), 0.1)),
                "raise the limit of the container or the job: cpu.max, the pod's limits.cpu",
                f"look what else runs on {host} under the same limit: systemd-cgtop",
            )
            for host, share in stopped.items()
        ]
    # The last of these says most about a host.
    by_host = {each.hosts[0]: each for each in found}
    return _unless_common(list(by_host.values()), hosts)


def _unless_common(found: list[Finding], hosts: int) -> list[Finding]:
    return found if len(found) <= max(1, int(_MOST_ODD * hosts)) else []


def _find_above(
    shares: Mapping[str, float], limits: tuple[float, float], says: str
) -> list[Finding]:
    """Return a finding for each host above `limits[0]` if the median is below `limits[1]`."""
    usual = float(np.median(list(shares.values()))) if shares else 1.0
    return [
        _build(
            FindingKind.BUSY,
            host,
            says.format(host=host, share=100.0 * share, usual=100.0 * usual),
            _READ_LOAD,
            1.0 / max(0.1, 1.0 - share),
            f"look what runs on {host}: top, systemd-cgtop",
            "a virtual machine beside a busy one: ask for another, or for processors of its own",
        )
        for host, share in shares.items()
        if share > limits[0] and usual < limits[1]
    ]


def find_traffic(evidence: Evidence) -> list[Finding]:
    """Return a finding for each host whose link carries traffic while nothing is measured."""
    carries = {
        link.host: max(link.send_gbit_s or 0.0, link.receive_gbit_s or 0.0)
        for link in evidence.links
    }
    sends = evidence.reported(lambda each: each.tx_bytes_s)
    receives = evidence.reported(lambda each: each.rx_bytes_s)
    used = {host: (8e-9 * sends[host], 8e-9 * receives[host]) for host in sends if host in receives}
    if len(used) < _LEAST_HOSTS or not carries:
        return []
    usual = float(np.median([rate for rate in carries.values() if rate] or [np.inf]))
    found = []
    for host, rates in used.items():
        share = max(rates) / max(carries.get(host, 0.0), usual)
        if share > _LEAST_TRAFFIC:
            finding = _build(
                FindingKind.OTHER_TRAFFIC,
                host,
                f"{host} sends {bandwidth_text(rates[0])} and receives {bandwidth_text(rates[1])} "
                "while nothing is measured, and most other hosts next to nothing",
                _READ_TRAFFIC,
                1.0 / max(0.1, 1.0 - share),
                "find who does: ss -tnp, nethogs; a backup, a copy of data, or another job",
            )
            found.append(finding)
    return _unless_common(found, len(used))


def find_clocks(evidence: Evidence) -> list[Finding]:
    """Return a finding for each host whose clock is off by over 0.1 s, beyond clocks' errors."""
    offsets = evidence.reported(lambda each: each.clock_offset_s)
    errors = {host: evidence.conditions[host].clock_error_s or 0.0 for host in offsets}
    if len(offsets) < _LEAST_HOSTS:
        return []
    usual_s = float(np.median(list(offsets.values())))
    usual_error_s = float(np.median(list(errors.values())))

    def seconds_text(seconds: float) -> str:
        return rtt_text(seconds * 1e6) if seconds < 999.0 else f"{seconds:,.0f} s"

    return [
        _build(
            FindingKind.CLOCK,
            host,
            f"the clock of {host} is {seconds_text(abs(offset - usual_s))} "
            f"{'ahead of' if offset > usual_s else 'behind'} those of the other hosts "
            f"(± {seconds_text(errors[host] + usual_error_s)})",
            _READ,
            _CLOCK_COST,
            "let it keep time by NTP or PTP: chronyc tracking, or timedatectl",
            "times in logs of this host, and certificates and leases on it, are off as much",
        )
        for host, offset in offsets.items()
        if abs(offset - usual_s) > _LEAST_OFFSET_S + errors[host] + usual_error_s
    ]
