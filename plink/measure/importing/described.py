"""Networks described by their user in TOML: hosts, groups, rows of groups, rates and latencies.

latency_us = [10, 25, 60]     # one way: in a group, between groups, between rows
host_gbit_s = 25
uplink_gbit_s = 100           # of a group
burst_bytes = 262144

[[groups]]
name = "r1"
hosts = "n[01-04]"            # as in a host list
uplink_gbit_s = 50            # a group may differ

[[rows]]
name = "row1"
groups = ["r1", "r2"]
uplink_gbit_s = 200

[clients.openmpi]
overhead_us = 5
reduction_s_per_gb = 0.2
flow_share = 0.95
serialised = 0.75
"""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.base.errors import PlinkError, WrongUseError
from plink.base.replacing import replace
from plink.base.text import brief
from plink.formats import document
from plink.formats.clients import (
    FITTED,
    ClientFit,
    SizeSpread,
    build_exact_estimate,
    build_free_client,
    with_estimates,
)
from plink.formats.cluster import Cluster
from plink.formats.fields import Fields
from plink.formats.groups import (
    LEAST_GBIT_S,
    MAX_BURST_BYTES,
    GroupRow,
    HostLink,
    LinkFacts,
    Uplink,
    UplinkMeasurement,
)
from plink.formats.hosts import Group, Host
from plink.formats.limits import MAX_GBIT_S, MAX_RTT_US
from plink.formats.measurements import RttMeasurement
from plink.measure.importing.pairs import MAX_HOSTS
from plink.probes.errors import HostListError
from plink.probes.hosts.hostlist import ListedHost, parse_host_list

TOOL = "described"

_LEVELS = 3


def build_latencies(
    top: Fields,
    hosts: Sequence[Host],
    groups: Sequence[Group],
    rows: Sequence[GroupRow],
    *,
    is_limited: bool,
) -> RttMeasurement | None:
    """Return round-trip times (N, N), twice the described latencies; None if none are described.

    An omitted latency is zero where rates of links are described (`is_limited`).
    """
    if "latency_us" in top.values:
        given = top.values["latency_us"]
        if not isinstance(given, list) or not 1 <= len(given) <= _LEVELS:
            raise top.error("latency_us", "one to three numbers, as in [10, 25, 60]")
        levels = top.numbers("latency_us", len(given), MAX_RTT_US / 2)
    elif is_limited:
        levels = [0.0]
    else:
        return None
    levels += [levels[-1]] * (_LEVELS - len(levels))
    group, row = _number_groups_and_rows(hosts, groups, rows)
    alike, same_row = group[:, None] == group, row[:, None] == row
    rtt_us = 2.0 * np.where(alike, levels[0], np.where(same_row, levels[1], levels[2]))
    np.fill_diagonal(rtt_us, np.nan)
    return RttMeasurement(
        rtt_us={10.0: rtt_us},
        reading=10.0,
        samples=np.isfinite(rtt_us).view(np.int8),
        losses=np.zeros(rtt_us.shape, dtype=np.int8),
        tool=TOOL,
        notes=["described, not measured"],
    )


def _number_groups_and_rows(
    hosts: Sequence[Host], groups: Sequence[Group], rows: Sequence[GroupRow]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return each host's group number and row number, (H,) each; a host in none has its own.

    What is in no group or no row is alone, but where there are no groups, or no rows, at all.
    """
    group_of = {host: number for number, group in enumerate(groups) for host in group.hosts}
    row_of = {name: number for number, row in enumerate(rows) for name in row.groups}
    alone = len(groups)
    in_group = [
        group_of.get(host.name, alone + place if groups else 0) for place, host in enumerate(hosts)
    ]
    row_of_group = [row_of.get(group.name, len(rows) + n) for n, group in enumerate(groups)]
    in_row = [
        (row_of_group[group] if group < alone else len(rows) + group) if rows else 0
        for group in in_group
    ]
    return np.array(in_group, dtype=np.intp), np.array(in_row, dtype=np.intp)


SUFFIX = ".toml"
MOST_BYTES = 1 << 20

_HINT = "docs/predict.md has an example of a described network"
_RATES = ("host_gbit_s", "uplink_gbit_s")
_TOP = (*_RATES, "latency_us", "burst_bytes", "slots", "hosts", "groups", "rows", "clients")
_OF_GROUP = ("name", "hosts", "slots", *_RATES)
_OF_ROW = ("name", "groups", "uplink_gbit_s")
# What a client may have: its least, its most, and what it has if nothing is said.
_OF_CLIENT: Mapping[str, tuple[float, float, float]] = {
    "overhead_us": (0.0, 60e6, 0.0),
    "rendezvous_us": (0.0, 60e6, 0.0),
    "reduction_s_per_gb": (0.0, 1e6, 0.0),
    "flow_share": (0.01, 2.0, 1.0),
    "serialised": (0.0, 1.0, 0.0),
    "spread": (0.0, 10.0, 0.1),
}


def is_described(source: str) -> bool:
    """Return whether a file's name ends in .toml, as those of network descriptions do."""
    return source.lower().endswith(SUFFIX)


def read_network(path: str) -> Cluster:
    """Read a cluster from a file in TOML that describes a network."""
    return import_network(document.read_bytes(path, MOST_BYTES), document.label(path))


def import_network(content: bytes, source: str) -> Cluster:
    """Return the cluster of a TOML description; if one host link has a rate, others have no limit.

    Raises:
        WrongUseError: it is not TOML, has a key that is not known, or a value that cannot be.
        PlinkError: this Python has no reader of TOML.
    """
    if len(content) > MOST_BYTES:
        raise WrongUseError(
            f"{source}: the description is larger than {MOST_BYTES >> 20} MiB", _HINT
        )
    try:
        data = _load_toml_reader().loads(content.decode())
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise WrongUseError(f"{source}:{line}: is not text in UTF-8", _HINT) from None
    except (ValueError, RecursionError) as error:
        reason = "too deeply nested" if isinstance(error, RecursionError) else error
        raise WrongUseError(f"{source}: not valid TOML ({reason})", _HINT) from None
    top = _check_names(Fields(data, source), _TOP)
    hosts, groups, links, uplinks = _read_hosts(top)
    facts = LinkFacts(
        top.integer("burst_bytes", 0, MAX_BURST_BYTES, default=0),
        _read_rows(top, [group.name for group in groups]),
    )
    return Cluster(
        hosts=hosts,
        rtt=build_latencies(top, hosts, groups, facts.rows, is_limited=bool(links or uplinks)),
        made_from=document.digest(content),
        groups=groups,
        uplinks=UplinkMeasurement(uplinks=uplinks, links=links, tool=TOOL),
        links=facts if facts != LinkFacts() else None,
        clients=_read_clients(top),
        source=source,
    )


def _load_toml_reader() -> Any:
    # Python 3.10 has none of its own; the tomli package is the same one.
    name = "tomllib" if sys.version_info >= (3, 11) else "tomli"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise PlinkError("this Python cannot read TOML", "pip install tomli") from None


def _check_names(fields: Fields, names: Sequence[str]) -> Fields:
    for name in fields.names():
        if name not in names:
            raise WrongUseError(
                f"{fields.place}: {brief(name)} is not a known key",
                f"known keys: {', '.join(names)}",
            )
    return fields


def _read_hosts(
    top: Fields,
) -> tuple[list[Host], list[Group], list[HostLink], list[Uplink]]:
    hosts: list[Host] = []
    groups: list[Group] = []
    links: list[HostLink] = []
    uplinks: list[Uplink] = []
    order: dict[str, int] = {}
    parts = [_check_names(item, _OF_GROUP) for item in top.objects("groups", optional=True)]
    if "hosts" in top.values:
        parts.append(top)
    for part in parts:
        listed = _parse_hosts(part)
        if part is top:
            order = {host.name: place for place, host in enumerate(listed)}
            grouped = {host.name for host in hosts}
            listed = [host for host in listed if host.name not in grouped]
        names = [host.name for host in listed]
        slots = part.integer("slots", 1, 1 << 16, default=top.integer("slots", 1, 1 << 16, 1))
        for host in listed:
            # A line of the list may say it of its hosts.
            own_slots = host.slots if host.slots > 1 else slots
            hosts.append(Host(host.name, host.name, None, host.user, host.port, own_slots))
        rate = _read_rate(part, top, "host_gbit_s")
        links += [HostLink(name, rate, rate) for name in names if rate is not None]
        if part is top:
            continue
        group = Group(part.word("name"), names)
        if any(group.name == other.name for other in groups):
            raise WrongUseError(f"{part.place}: group {brief(group.name)} is listed twice")
        groups.append(group)
        rate = _read_rate(part, top, "uplink_gbit_s")
        if rate is not None:
            uplinks.append(Uplink(group.name, rate, rate))
    if not hosts:
        raise WrongUseError(f"{top.place}: the description names no hosts", _HINT)
    if len(hosts) > MAX_HOSTS:
        raise WrongUseError(f"{top.place}: the description names more than {MAX_HOSTS:,} hosts")
    counts = Counter(host.name for host in hosts)
    if len(counts) < len(hosts):
        name = counts.most_common(1)[0][0]
        raise WrongUseError(f"{top.place}: host {brief(name)} is listed twice")
    if links:
        # Others are not limited, where a file without their links would leave that open.
        unlimited = counts.keys() - {link.host for link in links}
        links += [HostLink(name, MAX_GBIT_S, MAX_GBIT_S) for name in counts if name in unlimited]
    if order:
        # Those that it leaves out come last.
        hosts.sort(key=lambda host: order.get(host.name, len(order)))
    return hosts, groups, links, uplinks


def _parse_hosts(part: Fields) -> list[ListedHost]:
    try:
        return parse_host_list(part.text("hosts"), f"{part.place}: hosts", least=1)
    except HostListError as error:
        raise WrongUseError(str(error), error.hint) from None


def _read_rate(part: Fields, top: Fields, name: str) -> float | None:
    own = part if part.values.get(name) is not None else top
    return own.optional_number(name, LEAST_GBIT_S, MAX_GBIT_S)


def _read_rows(top: Fields, groups: Sequence[str]) -> list[GroupRow]:
    left = set(groups)
    rows: list[GroupRow] = []
    for item in top.objects("rows", optional=True):
        _check_names(item, _OF_ROW)
        rate = item.optional_number("uplink_gbit_s", LEAST_GBIT_S, MAX_GBIT_S)
        row = GroupRow(item.word("name"), item.texts("groups"), rate, rate)
        if not row.groups or any(row.name == other.name for other in rows):
            raise item.error(
                "groups" if not row.groups else "name", "groups, and a name of its own"
            )
        for group in row.groups:
            if group not in left:
                raise WrongUseError(
                    f"{item.place}: {brief(group)} is not a group of the file, or is in two rows"
                )
            left.remove(group)
        rows.append(row)
    return rows


def _read_clients(top: Fields) -> list[ClientFit]:
    given = top.optional_object("clients")
    clients = []
    for name in () if given is None else given.names():
        if name not in FITTED:
            raise WrongUseError(
                f"{top.place}: clients: {brief(name)} is not a communication library that plink "
                "can predict",
                f"known libraries: {', '.join(FITTED)}",
            )
        part = _check_names(given.object(name), tuple(_OF_CLIENT)) if given is not None else top
        values = {
            key: usual if part.values.get(key) is None else part.number(key, low, high)
            for key, (low, high, usual) in _OF_CLIENT.items()
        }
        spread = values.pop("spread")
        exact = {key: build_exact_estimate(value) for key, value in values.items()}
        fit = with_estimates(build_free_client(name), exact)
        clients.append(replace(fit, spreads=[SizeSpread(1, spread)]))
    return clients
