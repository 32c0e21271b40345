"""Groups of hosts in a cluster file, and what their uplinks carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plink.base.errors import WrongUseError
from plink.files.bandwidth import MAX_GBIT_S
from plink.files.document import brief
from plink.files.fields import Fields
from plink.files.measurement import Measurement, parse_record, record_to_json, without_nones


@dataclass(frozen=True)
class Group:
    """Hosts, by name, that are near each other. No host is in two groups."""

    name: str
    hosts: Sequence[str]


@dataclass(frozen=True)
class Uplink:
    """What the hosts of a group, all at once, exchange with hosts of other groups.

    Args:
        group: the group's name.
        send_gbit_s, receive_gbit_s: what was measured, None where it was not.
        hosts_gbit_s: the sum of what the group's hosts can do by themselves, None where unknown.
        send_is_lower_bound, receive_is_lower_bound: something else may have been the limit.
        both_gbit_s: what they sent and received together, both at once; None where not measured.
    """

    group: str
    send_gbit_s: float | None
    receive_gbit_s: float | None
    hosts_gbit_s: float | None = None
    send_is_lower_bound: bool = False
    receive_is_lower_bound: bool = False
    both_gbit_s: float | None = None

    @property
    def is_whole(self) -> bool:
        """Whether both directions were measured."""
        return self.send_gbit_s is not None and self.receive_gbit_s is not None


@dataclass(frozen=True)
class HostLink:
    """What a host sends and receives by itself, at best; None where that was not measured."""

    host: str
    send_gbit_s: float | None
    receive_gbit_s: float | None


@dataclass(frozen=True)
class UplinkMeasurement(Measurement):
    """The uplinks of groups.

    Args:
        uplinks: of each group that was measured.
        links: of the hosts, measured beside them; empty in older files.
    """

    uplinks: Sequence[Uplink]
    links: Sequence[HostLink] = ()


def groups_to_json(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """`groups` as a JSON list."""
    return [{"name": group.name, "hosts": list(group.hosts)} for group in groups]


def parse_groups(fields: Fields, names: Sequence[str]) -> list[Group]:
    """The field `groups` of a cluster file with hosts of these names; empty where it is absent.

    Raises:
        WrongUseError: a group is listed twice or is empty, a host is in two groups or unknown.
    """
    known = set(names)
    grouped: set[str] = set()
    groups: list[Group] = []
    for item in fields.objects("groups", optional=True):
        group = Group(item.word("name"), item.texts("hosts"))
        if not group.hosts:
            raise item.error("hosts", "at least one host")
        if any(group.name == other.name for other in groups):
            raise WrongUseError(f"{item.place}: group {brief(group.name)} is listed twice")
        for host in group.hosts:
            if host not in known:
                raise WrongUseError(f"{item.place}: {brief(host)} is not one of the hosts")
            if host in grouped:
                raise WrongUseError(f"{item.place}: {brief(host)} is in two groups")
            grouped.add(host)
        groups.append(group)
    return groups


def uplinks_to_json(measurement: UplinkMeasurement) -> dict[str, Any]:
    """`measurement` as a JSON object."""
    links = [without_nones(vars(link)) for link in measurement.links]
    return {
        **record_to_json(measurement),
        "uplinks": [without_nones(vars(uplink)) for uplink in measurement.uplinks],
        **({"links": links} if links else {}),
    }


def parse_uplinks(fields: Fields, names: Sequence[str]) -> UplinkMeasurement:
    """The uplinks of a cluster file's groups, and its hosts' links.

    Raises:
        WrongUseError: invalid values, or a link of a host that is not there, or listed twice.
    """
    links = [_parse_link(item) for item in fields.objects("links", optional=True)]
    known = set(names)
    for link in links:
        if link.host not in known:
            raise WrongUseError(
                f"{fields.place}: links has {brief(link.host)} twice, or it is not a host"
            )
        known.remove(link.host)
    return UplinkMeasurement(
        uplinks=[_parse_uplink(item) for item in fields.objects("uplinks")],
        links=links,
        **parse_record(fields),
    )


def _parse_link(fields: Fields) -> HostLink:
    return HostLink(
        host=fields.text("host"),
        send_gbit_s=fields.optional_number("send_gbit_s", low=0.0, high=MAX_GBIT_S),
        receive_gbit_s=fields.optional_number("receive_gbit_s", low=0.0, high=MAX_GBIT_S),
    )


def _parse_uplink(fields: Fields) -> Uplink:
    return Uplink(
        group=fields.word("group"),
        send_gbit_s=fields.optional_number("send_gbit_s", low=0.0, high=MAX_GBIT_S),
        receive_gbit_s=fields.optional_number("receive_gbit_s", low=0.0, high=MAX_GBIT_S),
        hosts_gbit_s=fields.optional_number("hosts_gbit_s", low=0.0, high=MAX_GBIT_S),
        send_is_lower_bound=fields.flag("send_is_lower_bound"),
        receive_is_lower_bound=fields.flag("receive_is_lower_bound"),
        both_gbit_s=fields.optional_number("both_gbit_s", low=0.0, high=MAX_GBIT_S),
    )
