"""When collectives begin and end, with several in flight on one line: exact, event by event.

How they share it is the engine's way: `fifo` carries what began first, first; `fair` gives each as
much (Shi et al. 2021, section III); `serial` lets only latencies overlap.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Literal

from plink.training.overlap.network import Network
from plink.training.overlap.profile import Profile
from plink.training.overlap.schedule import Group, Schedule

Sharing = Literal["serial", "fair", "fifo"]


@dataclass(frozen=True)
class Span:
    """Time span of a collective, in seconds from the beginning of the backward pass.

    Args:
        begin_s: when it is posted.
        end_s: when all ranks have its result.
    """

    begin_s: float
    end_s: float


def simulate(
    profile: Profile, schedule: Schedule, network: Network, sharing: Sharing = "fifo"
) -> list[Span]:
    """Return all collectives of an iteration, in the order in which they begin.

    A collective begins when its gradients are ready, all before it have begun, and fewer than
    `schedule.in_flight` are under way, or one where nobody has said how many.

    Args:
        profile: of the backward pass.
        schedule: of as many gradients.
        network: what collectives take.
        sharing: of the line.
    """
    groups = schedule.groups(profile)
    if sharing == "fair":
        return _shared_fairly(groups, network, schedule.in_flight or 1)
    if sharing == "serial":
        network = replace(network, line_s_per_byte=network.s_per_byte)
    return _in_order(groups, network, schedule.in_flight or 1)


def communicated_s(
    profile: Profile, schedule: Schedule, network: Network, sharing: Sharing = "fifo"
) -> float:
    """Return when the last gradient is reduced (equation 19), from the backward pass's start."""
    return max(span.end_s for span in simulate(profile, schedule, network, sharing))


def end_of(begin_s: float, line_free_s: float, size_bytes: float, network: Network) -> Span:
    """Return when a collective that begins then ends, and when the line is free of it.

    Args:
        begin_s: when it is posted.
        line_free_s: when the line has carried all that was posted before.
        size_bytes: of the collective.
        network: that carries it.

    Returns:
        `begin_s` is when the line has carried it, `end_s` when it ends.
    """
    at_line_s = max(line_free_s, begin_s + network.latency_s)
    line_s = at_line_s + network.line_s(size_bytes)
    return Span(line_s, max(line_s, begin_s + network.alone_s(size_bytes)))


def _in_order(groups: Sequence[Group], network: Network, in_flight: int) -> list[Span]:
    spans: list[Span] = []
    line_free_s = 0.0
    ends: list[float] = []
    for group in groups:
        begin_s = max(group.ready_s, heappop(ends) if len(ends) == in_flight else 0.0)
        span = end_of(begin_s, line_free_s, group.size_bytes, network)
        line_free_s = span.begin_s
        spans.append(Span(begin_s, span.end_s))
        heappush(ends, span.end_s)
    return spans


@dataclass
class _Transfer:
    """Transfer that shares the line: what is left of it, in seconds of a line of its own."""

    place: int
    begin_s: float
    at_line_s: float
    left_s: float
    most_rate: float


def _shared_fairly(groups: Sequence[Group], network: Network, in_flight: int) -> list[Span]:
    spans = [Span(0.0, 0.0)] * len(groups)
    waiting = deque(enumerate(groups))
    under_way: list[_Transfer] = []
    now_s = 0.0
    while waiting or under_way:
        while waiting and len(under_way) < in_flight and waiting[0][1].ready_s <= now_s:
            place, group = waiting.popleft()
            under_way.append(_transfer(place, group, now_s, network))
        sharing = [each for each in under_way if each.at_line_s <= now_s]
        rates = {each.place: min(each.most_rate, 1.0 / len(sharing)) for each in sharing}
        ends_s = {each.place: now_s + each.left_s / rates[each.place] for each in sharing}
        next_s = min(
            [*ends_s.values()]
            + [each.at_line_s for each in under_way if each.at_line_s > now_s]
            + ([waiting[0][1].ready_s] if waiting and len(under_way) < in_flight else [])
        )
        for each in sharing:
            each.left_s -= (next_s - now_s) * rates[each.place]
            if ends_s[each.place] <= next_s:
                under_way.remove(each)
                spans[each.place] = Span(each.begin_s, next_s)
        now_s = next_s
    return spans


def _transfer(place: int, group: Group, now_s: float, network: Network) -> _Transfer:
    line_s = network.line_s(group.size_bytes)
    own_s = network.alone_s(group.size_bytes) - network.latency_s
    rate = line_s / own_s if own_s else 1.0
    return _Transfer(place, now_s, now_s + network.latency_s, line_s, rate)
