"""Groups of a cluster's hosts: how they were computed, and the rates of their uplinks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from msgspec import Meta, Struct

from plink.base.text import brief
from plink.formats.hosts import Group
from plink.formats.limits import (
    LEAST_MEASURED_GBIT_S,
    MAX_GBIT_S,
    Count,
    GbitPerSecond,
    Share,
    Text,
    Word,
    check_settings,
    find_repeated,
)
from plink.formats.measurements import Measurement
from plink.formats.structs import FormatError

MAX_BURST_BYTES = 1 << 40
_LEAST_GBIT_S = 1e-6

Vector = npt.NDArray[np.float64]
Distance = Annotated[float, Meta(ge=0, le=1e12)]
LimitedRate = Annotated[float, Meta(ge=_LEAST_GBIT_S, le=MAX_GBIT_S)]
BurstBytes = Annotated[int, Meta(ge=0, le=MAX_BURST_BYTES)]


class Uplink(Struct, frozen=True, forbid_unknown_fields=True):
    """Measured rates of a group's uplink, which all its hosts used at once to other groups.

    Attributes:
        group: name of the group
        send_gbit_s, receive_gbit_s: rate that was measured, in Gbit/s; absent if not measured
        hosts_gbit_s: sum of what the group's hosts can do by themselves, in Gbit/s
        send_is_lower_bound, receive_is_lower_bound: whether something else may have been the limit
        both_gbit_s: rate of both directions together, both at once, in Gbit/s
    """

    group: Word
    send_gbit_s: GbitPerSecond | None = None
    receive_gbit_s: GbitPerSecond | None = None
    hosts_gbit_s: GbitPerSecond | None = None
    send_is_lower_bound: bool = False
    receive_is_lower_bound: bool = False
    both_gbit_s: GbitPerSecond | None = None

    def __post_init__(self) -> None:
        rates = ("send_gbit_s", "receive_gbit_s", "hosts_gbit_s", "both_gbit_s")
        _refuse_less_than_a_bit(self, rates)

    @property
    def is_whole(self) -> bool:
        """Whether the uplink's rate was measured in both directions."""
        return self.send_gbit_s is not None and self.receive_gbit_s is not None


class HostLink(Struct, frozen=True, forbid_unknown_fields=True):
    """Measured rates at which a host alone sends and receives, no other traffic going on.

    Attributes:
        host: name of the host
        send_gbit_s, receive_gbit_s: rate that was measured, in Gbit/s; absent if not measured
    """

    host: Text
    send_gbit_s: GbitPerSecond | None = None
    receive_gbit_s: GbitPerSecond | None = None

    def __post_init__(self) -> None:
        _refuse_less_than_a_bit(self, ("send_gbit_s", "receive_gbit_s"))


class UplinkMeasurement(Measurement, frozen=True, forbid_unknown_fields=True):
    """Measurement of the rates of groups' uplinks, and of hosts' links beside them.

    Attributes:
        uplinks: uplink of each group that was measured
        links: links of the hosts, measured beside them
    """

    uplinks: Sequence[Uplink]
    links: Sequence[HostLink] = []

    def link_rates(self, hosts: Sequence[str]) -> tuple[Vector, Vector]:
        """Return what the links of hosts send and receive in Gbit/s, (N,) each; NaN if unknown."""
        links = {link.host: link for link in self.links}
        send, receive = (
            np.array([getattr(links.get(host), member, None) or np.nan for host in hosts])
            for member in ("send_gbit_s", "receive_gbit_s")
        )
        return send, receive


class GroupRow(Struct, frozen=True, forbid_unknown_fields=True):
    """Row of groups (such as racks) that share one link towards all groups outside the row.

    Attributes:
        name: name of the row, such as a row of racks
        groups: names of its groups; no group is in two rows
        send_gbit_s, receive_gbit_s: rate of the link, in Gbit/s; absent if unlimited
    """

    name: Word
    groups: Annotated[Sequence[str], Meta(min_length=1)]
    send_gbit_s: LimitedRate | None = None
    receive_gbit_s: LimitedRate | None = None


class LinkFacts(Struct, frozen=True, forbid_unknown_fields=True):
    """Facts about links that the user stated: bytes that may pass in a burst, and rows of groups.

    Attributes:
        burst_bytes: what every limited link lets pass at once after a pause, in bytes
        rows: rows of groups
    """

    burst_bytes: BurstBytes = 0
    rows: Sequence[GroupRow] = []


class GroupQuality(Struct, frozen=True, forbid_unknown_fields=True):
    """Median distances within a group and to the nearest other one, and how sure its hosts are.

    Attributes:
        group: name of the group
        within_us: median distance between two of its hosts, in µs; absent for one host
        between_us: median distance to the hosts of the nearest other group, in µs
        within_gbit_s, between_gbit_s: the same if hosts were grouped by bandwidth, in Gbit/s
        probability: that its least sure host belongs to it
    """

    group: Word
    within_us: Distance | None = None
    between_us: Distance | None = None
    within_gbit_s: Distance | None = None
    between_gbit_s: Distance | None = None
    probability: Share | None = None


class DoubtfulHost(Struct, frozen=True, forbid_unknown_fields=True):
    """Host that may belong to another group, with the probability that its group is right.

    Attributes:
        host: name of the host
        probability: that it belongs where it is
    """

    host: Word
    probability: Share


class NearestGroups(Struct, frozen=True, forbid_unknown_fields=True):
    """Best and second-best group of a host whose group is doubtful, or that is in none.

    Attributes:
        host: name of the host
        groups: names of at most two groups, the best first
    """

    host: Word
    groups: Sequence[str]


class Partition(Struct, frozen=True, forbid_unknown_fields=True):
    """Partition of the hosts into groups at one level of the network.

    Attributes:
        groups: names of the hosts of each group
    """

    groups: Sequence[Sequence[str]]

    def __iter__(self) -> Iterator[Sequence[str]]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)


class Grouping(Struct, frozen=True, forbid_unknown_fields=True):
    """Record of how groups were computed, and how certain they are.

    Attributes:
        method: `levels`, `linkage` or `kmeans`
        matrix: `raw` or `embedding`: the distances that were grouped
        options: options that the method ran with
        seed: seed of the random choices
        probability: that all groups are exactly right; without groups, that there are any
        rival: best explanation of the distances without groups, in words
        confirmed: adjusted mutual information of the groups found on one half of the readings and
            on the other; absent if it could not be checked
        quality: quality of each group
        doubtful: hosts that may belong elsewhere, the least sure first
        alone: names of hosts that fit nowhere
        nearest: groups that hosts that are doubtful or alone suit best
        unmeasured: names of hosts with too few measurements to be placed
        levels: partitions that the distances show, the fewest groups first
        notes: what to know before trusting the groups
    """

    method: Word
    matrix: Word
    options: Mapping[str, Any] = {}
    seed: Count = 0
    probability: Share | None = None
    rival: Text | None = None
    confirmed: Annotated[float, Meta(ge=-1, le=1)] | None = None
    quality: Sequence[GroupQuality] = []
    doubtful: Sequence[DoubtfulHost] = []
    alone: Sequence[str] = []
    nearest: Sequence[NearestGroups] = []
    unmeasured: Sequence[str] = []
    levels: Sequence[Partition] = []
    notes: Sequence[str] = []

    def __post_init__(self) -> None:
        check_settings(self.options, "options")

    @property
    def hosts(self) -> set[str]:
        """Names of all hosts that the record mentions."""
        placed = {host for level in self.levels for group in level for host in group}
        return placed | {*self.alone, *self.unmeasured, *(each.host for each in self.doubtful)}


def check_rows(
    rows: Iterable[GroupRow], groups: Iterable[Group], source: str, place: str = "links.rows"
) -> None:
    """Raise FormatError if the rows of groups at a place repeat, overlap or name unknown groups."""
    rows = list(rows)
    twice = find_repeated(row.name for row in rows)
    if twice is not None:
        raise FormatError(source, place, f"row (of groups) {brief(twice)} is listed twice")
    known = {group.name for group in groups}
    for index, row in enumerate(rows):
        for group in row.groups:
            if group not in known:
                reason = f"{brief(group)} is not a group of the file, or is in two rows"
                raise FormatError(source, f"{place}[{index}].groups", reason)
            known.remove(group)


def _refuse_less_than_a_bit(rates: Struct, names: Iterable[str]) -> None:
    for name in names:
        if 0.0 < (getattr(rates, name) or 0.0) < LEAST_MEASURED_GBIT_S:
            raise ValueError(f"{name} is less than 1 bit/s, expected 0 or at least that")
