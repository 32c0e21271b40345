"""Which transfers show what a group's uplink carries. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

# Of a host at once, for every one takes a channel of its SSH connection, of which sshd allows 10.
MAX_FLOWS = 8


@dataclass(frozen=True)
class Flow:
    """A transfer between a host of the group and one of another group.

    Args:
        member: index of the group's host.
        partner: index of the other host.
    """

    member: int
    partner: int


def plan_flows(groups: Sequence[Sequence[int]], together: Sequence[int]) -> list[list[Flow]]:
    """The transfers of some groups, all to run at once.

    Every host of these groups takes part, with two partners where there are enough of them, so that
    one slow partner decides nothing. Partners come from the other groups in turn, and as many of
    them as there can be, so that neither their links nor their groups' uplinks are the limit
    where that can be avoided.

    Args:
        groups: indices of the hosts of each group, no host in two; at least two groups, none empty.
        together: indices of the groups in question, not of all.

    Returns:
        the transfers of each of them, as many for every host, at most `MAX_FLOWS` for a host. Where
        there are so few partners that this is not enough for all hosts, some have none.
    """
    members = [(group, host) for group in together for host in groups[group]]
    others = [hosts for group, hosts in enumerate(groups) if group not in together]
    partners = in_turn(others)
    each = 2 if len(partners) >= 2 * len(members) else 1
    flows: dict[int, list[Flow]] = {group: [] for group in together}
    for number in range(min(each * len(members), MAX_FLOWS * len(partners))):
        group, member = members[number % len(members)]
        flows[group].append(Flow(member, partners[number % len(partners)]))
    return [flows[group] for group in together]


def in_turn(groups: Sequence[Sequence[int]]) -> list[int]:
    """The first host of every group, then the second of every group that has one, and so on."""
    longest = max(map(len, groups), default=0)
    return [hosts[place] for place in range(longest) for hosts in groups if place < len(hosts)]


def slots(senders: Sequence[int]) -> list[int]:
    """Of each transfer, how many of its sender's come before it: each needs a port of its own."""
    seen: Counter[int] = Counter()
    found = []
    for sender in senders:
        found.append(seen[sender])
        seen[sender] += 1
    return found


def plan_links(groups: Sequence[Sequence[int]]) -> list[list[tuple[int, int]]]:
    """Rounds of transfers, from one host to another, that show what each host can do by itself.

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
        last = _circle([alone[0], circles[0][0]])
    first = [pair for hosts in circles for pair in _circle(hosts)]
    return [pairs for pairs in (first, last) if pairs]


def _circle(hosts: Sequence[int]) -> list[tuple[int, int]]:
    return list(zip(hosts, [*hosts[1:], hosts[0]], strict=True))
