"""Going on with an earlier measurement: what it must have in common, and what is kept of it."""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from plink.base.errors import WrongUseError
from plink.files.cluster import Cluster, Host, Unreachable
from plink.files.document import finite_number
from plink.files.measurement import FollowedSample, Measurement, recorded_sample
from plink.files.rtt import RttMeasurement
from plink.measure.listed import as_listed
from plink.measure.probing.limits import FOLLOWED_ROUNDS, MAX_COUNT, MAX_PASSES
from plink.measure.probing.request import STANDARD_PERCENTILES
from plink.measure.probing.tools import TOOLS
from probes.hosts.address import IPNetwork, is_address
from probes.hosts.host import ListedHost


def check_resumable(
    earlier: Cluster, source: str, *, tool: str, reading: float
) -> Measurement | None:
    """The measurement to go on with, or None where the file holds none of the tool's quantity.

    Raises:
        WrongUseError: it was made in another way, so that the readings would not compare.
    """
    measurement = earlier.measured(TOOLS[tool].collector.quantity)
    if measurement is None:
        return None
    if measurement.tool != tool:
        hint = "measure anew into another file with -o"
        if measurement.tool in TOOLS:
            hint = f"use --tool {measurement.tool}, or {hint}"
        raise WrongUseError(f"{source}: was measured with {measurement.tool}, not {tool}", hint)
    if isinstance(measurement, RttMeasurement):
        _check_percentiles(measurement, source, reading)
    return measurement


def _check_percentiles(rtt: RttMeasurement, source: str, reading: float) -> None:
    wanted = {*STANDARD_PERCENTILES, reading}
    if rtt.reading != reading or set(rtt.rtt_us) != wanted:
        raise WrongUseError(
            f"{source}: was measured at percentile {rtt.reading:g}, not {reading:g}",
            f"use --percentile {rtt.reading:g}",
        )


def recorded_count(options: Mapping[str, Any]) -> int | None:
    """The probes per direction and meeting that a measurement records, if it does.

    Before there were passes, a meeting with a precision was so long at most, and mostly shorter.
    """
    count = options.get("count")
    if recorded_passes(options) is None and recorded_precision(options):
        return None
    return count if type(count) is int and 1 <= count <= MAX_COUNT else None


def recorded_passes(options: Mapping[str, Any]) -> int | None:
    """How often pairs met at most, by what a measurement records; None before there were passes."""
    passes = options.get("passes")
    return passes if type(passes) is int and 1 <= passes <= MAX_PASSES else None


def recorded_precision(options: Mapping[str, Any]) -> float | None:
    """The precision in per cent that a measurement records, if it does."""
    precision_percent = finite_number(options.get("precision_percent"))
    if precision_percent is None or not 0.0 <= precision_percent <= 100.0:
        return None
    return precision_percent


def same_network(
    options: Mapping[str, Any], given: IPNetwork | None, source: str
) -> IPNetwork | None:
    """The network whose addresses an earlier measurement used, or None.

    Raises:
        WrongUseError: another one is `given`, or what is recorded is none.
    """
    recorded = options.get("network")
    try:
        network = None if recorded is None else ipaddress.ip_network(str(recorded))
    except ValueError:
        raise WrongUseError(f"{source}: options.network is no network") from None
    if given is not None and given != network:
        raise _measured_elsewhere(source, "--network", network, given)
    return network


def same_interface(options: Mapping[str, Any], given: str | None, source: str) -> str | None:
    """The interface whose addresses an earlier measurement used, or None.

    Raises:
        WrongUseError: another one is `given`, or what is recorded is none.
    """
    recorded = options.get("interface")
    if recorded is not None and not isinstance(recorded, str):
        raise WrongUseError(f"{source}: options.interface is no name")
    if given is not None and given != recorded:
        raise _measured_elsewhere(source, "--interface", recorded, given)
    return recorded


def same_sample(
    before: Measurement | None, rounds: int | None, seed: int | None, source: str
) -> dict[str, int | None]:
    """The `rounds` and `seed` to go on with: as given, else as an earlier measurement has them.

    More rounds of the same seed begin with those that were gone through.

    Raises:
        WrongUseError: another seed is given than the one recorded.
    """
    sample = None if before is None else recorded_sample(before.options)
    if sample is None:
        return {"rounds": rounds, "seed": seed}
    if seed not in (None, sample.seed):
        raise _measured_elsewhere(source, "--seed", sample.seed, seed)
    before_it = FOLLOWED_ROUNDS if isinstance(sample, FollowedSample) else sample.rounds
    return {"rounds": before_it if rounds is None else rounds, "seed": sample.seed}


def _measured_elsewhere(source: str, option: str, recorded: object, given: object) -> WrongUseError:
    how = f"without {option}" if recorded is None else f"with {option} {recorded}"
    hint = f"leave out {option}, or measure anew into another file"
    return WrongUseError(f"{source}: was measured {how}, not {given}", hint)


def hosts_of(cluster: Cluster, source: str) -> list[ListedHost]:
    """The hosts of an earlier run as they were listed, the unreachable ones included.

    Raises:
        WrongUseError: there are fewer than two.
    """
    listed = [as_listed(host, source) for host in cluster.hosts]
    missed = {host.source: host for host in cluster.unreachable if host.source not in cluster.names}
    # Ascending, so that whoever stood before is there already; those without a place come last.
    for host in sorted(missed.values(), key=_place):
        again = ListedHost(
            host.source, user=host.user, port=host.port, slots=host.slots, place=source
        )
        listed.insert(_place(host), again)
    if len(listed) < 2:
        hint = f"list the others too: plink probe HOSTS --resume {source}"
        raise WrongUseError(f"{source}: has one host, and probing needs at least two", hint)
    return listed


def _place(host: Unreachable) -> int:
    return sys.maxsize if host.position is None else host.position


def refuse_to_drop(earlier: Cluster, listed: Sequence[ListedHost], hosts: str, resume: str) -> None:
    """Refuse a host list that would cost the earlier file readings.

    Raises:
        WrongUseError: the list `hosts` lacks hosts that the file `resume` has readings of.
    """
    read = np.zeros((len(earlier.hosts), len(earlier.hosts)), dtype=bool)
    if earlier.rtt is not None:
        read |= ~np.isnan(earlier.rtt.readings_us)
    if earlier.bandwidth is not None:
        read |= ~np.isnan(earlier.bandwidth.gbit_s)
    if earlier.routes is not None:
        read |= ~np.isnan(earlier.routes.hops)
    has_uplink = (
        set() if earlier.uplinks is None else {known.group for known in earlier.uplinks.uplinks}
    )
    measured = {
        name
        for index, name in enumerate(earlier.names)
        if read[index].any() or read[:, index].any()
    }.union(*(group.hosts for group in earlier.groups if group.name in has_uplink))
    known = {host.name for host in listed}
    lacking = [name for name in earlier.names if name in measured - known]
    if lacking:
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise WrongUseError(
            f"{hosts}: does not list {lacking[0]}{more}, whose readings {resume} would lose",
            "list every host of it, or write another file with -o",
        )


def kept_hosts(
    listed: Sequence[ListedHost], reached: Mapping[str, Host], earlier: Cluster | None
) -> list[Host]:
    """The hosts of the cluster to write, in list order: reached now, or measured earlier.

    A host that was not reached and whose address is another's now is not kept.
    """
    taken = {host.address for host in reached.values()}
    known = {} if earlier is None else {host.name: host for host in earlier.hosts}
    hosts = []
    for host in listed:
        if host.name in reached:
            hosts.append(reached[host.name])
        elif host.name in known and known[host.name].address not in taken:
            before = known[host.name]
            hosts.append(replace(before, user=host.user, port=host.port, slots=host.slots))
    return hosts


def moved_hosts(hosts: Sequence[Host], earlier: Cluster | None) -> dict[str, str]:
    """Hosts that had another traffic address in an earlier run: name to that address.

    A host that has a name for an address, as those of an imported matrix, was never reached, so
    that nothing says that it moved.
    """
    known = () if earlier is None else earlier.hosts
    before = {host.name: host.address for host in known if is_address(host.address)}
    return {
        host.name: before[host.name]
        for host in hosts
        if before.get(host.name, host.address) != host.address
    }
