"""Plan of the transfers that measure uplinks, and judgement of what limited them. Pure."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

# Of a host at once, for every one takes a channel of its SSH connection, of which sshd allows 10.
MAX_FLOWS = 8

# A transfer below this share of the median of all is slow.
_SLOW = 0.75

# As many hosts as a list may have, so that indices can be compared in a circle.
_SPREAD = 65_536


@dataclass(frozen=True)
class Flow:
    """Transfer between a host of the measured group and a host of another one."""

    member: int
    partner: int


@dataclass(frozen=True)
class GroupExchange:
    """Rates of simultaneous transfers between a group's hosts and other groups' hosts.

    Args:
        rates: what each transfer achieved, in Gbit/s, while all of them ran; at least one.
        is_whole: every host of the group took part, and no transfer failed.
        beside: what other groups' transfers in the same direction achieved meanwhile.
        is_busy: hosts share a machine that may have been the limit.
    """

    group: int
    sends: bool
    rates: Sequence[tuple[Flow, float]]
    is_whole: bool
    beside: Sequence[tuple[Flow, float]] = ()
    is_busy: bool = False

    @property
    def gbit_s(self) -> float:
        """Total rate of the group's transfers in Gbit/s."""
        return sum(gbit_s for _, gbit_s in self.rates)


@dataclass(frozen=True)
class HostRates:
    """Best rates to send and to receive of hosts' own links in Gbit/s, by host index."""

    send: Mapping[int, float]
    receive: Mapping[int, float]


def plan_flows(groups: Sequence[Sequence[int]], together: Sequence[int]) -> list[list[Flow]]:
    """Return, for each of some groups, the simultaneous transfers that measure its uplink.

    Every host of these groups takes part, with two partners where there are enough of them, so that
    one slow partner decides nothing; at most `MAX_FLOWS` transfers a host. Partners come from the
    other groups in turn, and as many of them as there can be, so that neither their links nor their
    groups' uplinks are the limit where that can be avoided.

    Args:
        groups: indices of the hosts of each group, no host in two; at least two groups, none empty.
        together: indices of the groups in question, not of all.
    """
    members = [(group, host) for group in together for host in groups[group]]
    others = [hosts for group, hosts in enumerate(groups) if group not in together]
    partners = interleave(others)
    each = 2 if len(partners) >= 2 * len(members) else 1
    flows: dict[int, list[Flow]] = {group: [] for group in together}
    for number in range(min(each * len(members), MAX_FLOWS * len(partners))):
        group, member = members[number % len(members)]
        flows[group].append(Flow(member, partners[number % len(partners)]))
    return [flows[group] for group in together]


def interleave(groups: Sequence[Sequence[int]]) -> list[int]:
    """Return hosts of the groups in turn: the first of each, then the second, and so on."""
    longest = max(map(len, groups), default=0)
    return [hosts[place] for place in range(longest) for hosts in groups if place < len(hosts)]


def number_transfers(senders: Sequence[int]) -> list[int]:
    """Return each transfer's number, from 0, among its sender's; each needs its own port."""
    seen: Counter[int] = Counter()
    numbers = []
    for sender in senders:
        numbers.append(seen[sender])
        seen[sender] += 1
    return numbers


def plan_links(groups: Sequence[Sequence[int]]) -> list[list[tuple[int, int]]]:
    """Return rounds of transfers within groups that measure each host's own link.

    The hosts of a group form a circle in which each sends to the next, so that no uplink is in the
    way. The only hosts of their groups form one by themselves; where there is one of them, it meets
    a host of another group, when that has nothing else to do. Both directions of a host's link are
    used at once, which costs neither anything where links are full duplex.
    """
    circles = [hosts for hosts in groups if len(hosts) > 1]
    alone = [host for hosts in groups if len(hosts) == 1 for host in hosts]
    last: list[tuple[int, int]] = []
    if len(alone) > 1:
        circles.append(alone)
    elif alone and circles:
        last = _build_circle([alone[0], circles[0][0]])
    first = [pair for hosts in circles for pair in _build_circle(hosts)]
    return [pairs for pairs in (first, last) if pairs]


def plan_second_looks(
    groups: Sequence[Sequence[int]], gbit_s: Mapping[tuple[int, int], float]
) -> list[list[tuple[int, int]]]:
    """Return rounds that pair both ends of slow transfers with others, to find the slow end.

    Each slow sender sends to a host that received well before, each slow receiver gets from a host
    that sent well; of their own group where there is one, so that no uplink is in the way.

    Args:
        gbit_s: rate of each transfer, by sender and receiver.
    """
    if not gbit_s:
        return []
    least = _SLOW * median(gbit_s.values())
    slow = [pair for pair, rate in gbit_s.items() if rate < least]
    well = [pair for pair, rate in gbit_s.items() if rate >= least]
    group_of = {host: group for group, hosts in enumerate(groups) for host in hosts}
    rounds: list[list[tuple[int, int]]] = []
    for sender, receiver in slow:
        for pair in (
            _pair_with_partner(sender, [to for _, to in well], group_of, receiver, sends=True),
            _pair_with_partner(receiver, [by for by, _ in well], group_of, sender, sends=False),
        ):
            if pair is not None:
                _add_to_round(rounds, pair)
    return rounds


def _pair_with_partner(
    host: int,
    partners: Sequence[int],
    group_of: Mapping[int, int],
    before: int,
    *,
    sends: bool,
) -> tuple[int, int] | None:
    """Return (sender, receiver) for a host and a new partner, preferably of its group; or None."""
    able = [partner for partner in partners if partner not in {host, before}]
    if not able:
        return None
    # Sorting is stable, and partners are spread over the slow hosts by their indices.
    able.sort(key=lambda other: (group_of[other] != group_of[host], (other - host) % _SPREAD))
    return (host, able[0]) if sends else (able[0], host)


def _add_to_round(rounds: list[list[tuple[int, int]]], pair: tuple[int, int]) -> None:
    """Add a transfer to the first round in which its sender and receiver are free."""
    if any(pair in other for other in rounds):
        return
    for others in rounds:
        if all(pair[0] != sender and pair[1] != receiver for sender, receiver in others):
            others.append(pair)
            return
    rounds.append([pair])


def _build_circle(hosts: Sequence[int]) -> list[tuple[int, int]]:
    return list(zip(hosts, [*hosts[1:], hosts[0]], strict=True))


@dataclass(frozen=True)
class ExchangeTurn:
    """Groups (indices) measured at once in one direction, which exchange nothing among them."""

    groups: tuple[int, ...]
    sends: bool


def plan_turns(sizes: Sequence[int], wanted: Collection[tuple[int, bool]]) -> list[ExchangeTurn]:
    """Return the turns, as few as possible, in which the groups' rates are measured.

    Where all uplinks carry as much, the others' bear what the groups of a turn exchange with room
    to spare, and there is a partner for every one of their hosts. No two groups share a turn in
    both directions, and one that shares a turn in one direction is alone in the other, so that it
    shows where something beyond their uplinks is shared and was the limit: a group's two
    directions then differ. A group of which only one direction is wanted is alone.

    Args:
        sizes: the number of hosts of each group, at least 1; at least two groups.
        wanted: index of a group, and whether it is to send.
    """
    order = sorted(range(len(sizes)), key=lambda group: (-sizes[group], group))
    both = [group for group in order if {(group, True), (group, False)} <= set(wanted)]
    receiving = _pack_turns(both, sizes, [])
    solo = next((group for group in both if _list_company(group, receiving)), None)
    sending: list[tuple[int, ...]] = [] if solo is None else [(solo,)]
    sending += _pack_turns([group for group in both if group != solo], sizes, receiving)
    turns = [ExchangeTurn(groups, sends=True) for groups in sending]
    turns += [ExchangeTurn(groups, sends=False) for groups in receiving]
    turns += [ExchangeTurn((group,), sends) for group, sends in wanted if group not in both]
    return turns


def _pack_turns(
    groups: Sequence[int], sizes: Sequence[int], apart: Iterable[tuple[int, ...]]
) -> list[tuple[int, ...]]:
    """Assign each group to a turn of at most half of all hosts, away from its groups in `apart`.

    With 4 groups of 9 in a turn, the uplinks of the others are 4/5 full.
    """
    most = 4 * len(sizes) // 9
    turns: list[tuple[int, ...]] = []
    for group in groups:
        others = _list_company(group, apart)
        for place, turn in enumerate(turns):
            hosts = sizes[group] + sum(sizes[other] for other in turn)
            if len(turn) < most and 2 * hosts <= sum(sizes) and not others & set(turn):
                turns[place] = (*turn, group)
                break
        else:
            turns.append((group,))
    return turns


def _list_company(group: int, turns: Iterable[tuple[int, ...]]) -> set[int]:
    return {other for turn in turns if group in turn for other in turn} - {group}


# A link that carries so much of what it is known to carry may be full.
_FULL = 0.9


def may_exceed(
    exchange: GroupExchange,
    groups: Sequence[Sequence[int]],
    links: HostRates,
    carried: Mapping[tuple[int, bool], float],
) -> bool:
    """Return whether a group's rate is only a lower bound, as not its uplink may have limited it.

    It does not where all its hosts' own links were full, nor where a transfer had room left on its
    two hosts' links and on the partner's uplink: what kept that one down is the group's own uplink,
    or what lies behind it and is shared by all. A link of which nothing is known counts as full.

    Args:
        carried: measured rate in Gbit/s by group and whether it sent.
    """
    sends = exchange.sends
    members, partners = (links.send, links.receive) if sends else (links.receive, links.send)
    group_of = {host: group for group, hosts in enumerate(groups) for host in hosts}
    of_member: dict[int, float] = defaultdict(float)
    of_partner: dict[int, float] = defaultdict(float)
    of_group: dict[int, float] = defaultdict(float)
    for flow, gbit_s in exchange.rates:
        of_member[flow.member] += gbit_s
    for flow, gbit_s in (*exchange.rates, *exchange.beside):
        of_partner[flow.partner] += gbit_s
        of_group[group_of[flow.partner]] += gbit_s
    own_gbit_s = sum(members.get(member, math.inf) for member in of_member)
    if exchange.is_whole and exchange.gbit_s >= _FULL * own_gbit_s > 0.0:
        return False

    def has_room(flow: Flow) -> bool:
        group = group_of[flow.partner]
        return (
            of_member[flow.member] < _FULL * members.get(flow.member, 0.0)
            and of_partner[flow.partner] < _FULL * partners.get(flow.partner, 0.0)
            and of_group[group] < _FULL * carried.get((group, not sends), 0.0)
        )

    return not (exchange.is_whole and any(has_room(flow) for flow, _ in exchange.rates))


def raise_to_seen_rates(links: HostRates, exchanges: Iterable[GroupExchange]) -> HostRates:
    """Return hosts' link rates, raised to what they reached in group transfers."""
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
