"""Judgement whether a measured rate is the uplink's own, or limited by hosts and links. Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from plink.probes.uplinks.plan import Flow, GroupExchange, HostRates

# A link that carries so much of what it is known to carry may be full.
_FULL = 0.9


@dataclass(frozen=True)
class KnownRates:
    """Known rates in Gbit/s of the links that transfers cross, in their direction.

    Args:
        members: what each host of the group can do by itself.
        partners: what each host of the other groups can do by itself.
        groups: what each of the other groups' uplinks carried at most.
        group_of: the group of every host.
    """

    members: Mapping[int, float]
    partners: Mapping[int, float]
    groups: Mapping[int, float]
    group_of: Mapping[int, int]


def may_exceed(
    exchange: GroupExchange,
    groups: Sequence[Sequence[int]],
    links: HostRates,
    carried: Mapping[tuple[int, bool], float],
) -> bool:
    """Return whether a group's true rate may exceed the measured one (`is_lower_bound`).

    Args:
        carried: measured rate in Gbit/s by group and whether it sent.
    """
    sends = exchange.sends
    known = KnownRates(
        members=links.send if sends else links.receive,
        partners=links.receive if sends else links.send,
        groups={group: rate for (group, was_sent), rate in carried.items() if was_sent != sends},
        group_of={host: group for group, hosts in enumerate(groups) for host in hosts},
    )
    return not exchange.is_whole or is_lower_bound(exchange.rates, known, exchange.beside)


def raise_to_seen_rates(links: HostRates, exchanges: Iterable[GroupExchange]) -> HostRates:
    """Return hosts' own rates, raised to what the hosts reached among others."""
    send, receive = dict(links.send), dict(links.receive)
    for exchange in exchanges:
        of_member: dict[int, float] = defaultdict(float)
        of_partner: dict[int, float] = defaultdict(float)
        for flow, gbit_s in exchange.rates:
            of_member[flow.member] += gbit_s
        for flow, gbit_s in (*exchange.rates, *exchange.beside):
            of_partner[flow.partner] += gbit_s
        members, partners = (send, receive) if exchange.sends else (receive, send)
        for known, seen in ((members, of_member), (partners, of_partner)):
            for host, gbit_s in seen.items():
                known[host] = max(known.get(host, 0.0), gbit_s)
    return HostRates(send, receive)


def is_lower_bound(
    rates: Sequence[tuple[Flow, float]],
    known: KnownRates,
    beside: Sequence[tuple[Flow, float]] = (),
) -> bool:
    """Return whether something other than the uplink may have limited these transfers.

    It is not where all its hosts' own links were full, nor where a transfer had room left on its
    two hosts' links and on the partner's uplink: what kept that one down is the group's own uplink,
    or what lies behind it and is shared by all. A link of which nothing is known counts as full.

    Args:
        rates: the transfers, and what each achieved in Gbit/s.
        beside: transfers of other groups that ran meanwhile in the same direction.
    """
    of_member: dict[int, float] = defaultdict(float)
    of_partner: dict[int, float] = defaultdict(float)
    of_group: dict[int, float] = defaultdict(float)
    for flow, gbit_s in rates:
        of_member[flow.member] += gbit_s
    for flow, gbit_s in (*rates, *beside):
        of_partner[flow.partner] += gbit_s
        of_group[known.group_of[flow.partner]] += gbit_s
    own_gbit_s = sum(known.members.get(member, math.inf) for member in of_member)
    if sum(of_member.values()) >= _FULL * own_gbit_s > 0.0:
        return False

    def has_room(flow: Flow) -> bool:
        group = known.group_of[flow.partner]
        return (
            of_member[flow.member] < _FULL * known.members.get(flow.member, 0.0)
            and of_partner[flow.partner] < _FULL * known.partners.get(flow.partner, 0.0)
            and of_group[group] < _FULL * known.groups.get(group, 0.0)
        )

    return not any(has_room(flow) for flow, _ in rates)
