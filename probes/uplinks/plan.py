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


def plan_flows(groups: Sequence[Sequence[int]], group: int) -> list[Flow]:
    """The transfers of one group, all to run at once.

    Every host of the group takes part, with two partners where there are enough of them, so that
    one slow partner decides nothing. Partners come from the other groups in turn, and as many of
    them as there can be, so that neither their links nor their groups' uplinks are the limit
    where that can be avoided.

    Args:
        groups: indices of the hosts of each group, no host in two; at least two groups, none empty.
        group: index of the group in question.

    Returns:
        as many for every host of the group, at most `MAX_FLOWS` for a host. Where there are so few
        partners that this is not enough for all hosts of the group, some have none.
    """
    members = groups[group]
    partners = in_turn([hosts for other, hosts in enumerate(groups) if other != group])
    each = 2 if len(partners) >= 2 * len(members) else 1
    count = min(each * len(members), MAX_FLOWS * len(partners))
    return [
        Flow(members[number % len(members)], partners[number % len(partners)])
        for number in range(count)
    ]


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
    """Rounds of disjoint pairs that show what each host can do by itself.

    Hosts meet one of their own group, so that no uplink is in the way; the only host of a group
    meets one of another group.
    """
    rounds: list[list[tuple[int, int]]] = [[], []]
    for hosts in groups:
        rounds[0] += zip(hosts[::2], hosts[1::2], strict=False)
        if len(hosts) % 2 and len(hosts) > 1:
            rounds[1].append((hosts[0], hosts[-1]))
    for number, hosts in enumerate(groups):
        if len(hosts) == 1:
            others = groups[number - 1] if number else groups[-1]
            rounds.append([(hosts[0], others[0])])
    return [pairs for pairs in rounds if pairs]
