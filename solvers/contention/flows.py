"""Fluid simulation of a collective whose ranks proceed independently, sharing links.

`plink.solvers.contention.time` lets all ranks begin a round together. Here a rank begins its next
round once its own messages of the last one have arrived, so that flows of several rounds meet on
links. Rates are max-min fair: all rise together until a link is full, whose flows stay at that
while the others rise on (Bertsekas and Gallager, Data Networks, 1992, §6.5.2). The software adds
its `SoftwareCosts`: what it takes to begin a message, to add what arrived, whether two ranks that
exchange do so at the same time or, as some libraries do with one connection for both, one after
the other, and whether ranks that share cores spin on them.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from plink.solvers import _native
from plink.solvers.collectives.steps import PeerTable
from plink.solvers.contention.network import Network
from plink.solvers.contention.stages import Stages, distinct_rounds

# What a link with something in its bucket carries: more than a host sends.
PEAK_BYTES_S = 1.25e9

# A bucket with less than this share is empty.
EMPTY = 0.02

# For how long a socket's buffer feeds the host's own link, once it is full: TCP lets it grow with
# what the link carries.
KEPT_S = 0.018

# Of many rounds of one ring, so many are followed; the rest take as long each.
_MOST_OF_A_RING = 24

# Seeds whose draws are kept.
_MOST_DRAWN = 16

# What libraries send at once, without asking whether the receiver is there.
EAGER_BYTES = 65536


@dataclass(frozen=True)
class Trunk:
    """Link above the uplinks that several groups of hosts share towards all other groups.

    Args:
        groups: indices.
        send_bytes_s, receive_bytes_s: infinite where unlimited.
    """

    groups: tuple[int, ...]
    send_bytes_s: float
    receive_bytes_s: float


@dataclass(frozen=True)
class SharedLinks:
    """Rates and token-bucket bursts of a network's links by index, and each host's group.

    Args:
        rate_bytes_s: (L,) that each carries.
        burst_bytes: (L,) that it lets pass at once after a pause (a token bucket).
        group_of: (N,) the group of each host, -1 for none.
        trunk_of: (G,) the trunk of each group, -1 for none.
    """

    rate_bytes_s: Sequence[float]
    burst_bytes: Sequence[float]
    group_of: Sequence[int]
    trunk_of: Sequence[int]

    def path(self, source: int, destination: int) -> tuple[int, ...]:
        """Return the indices of rate-limited links from host to host; empty within a host."""
        if source == destination:
            return ()
        hosts, groups = len(self.group_of), len(self.trunk_of)
        crossed = [source, hosts + destination]
        one, other = self.group_of[source], self.group_of[destination]
        if one != other:
            above = [-1 if group < 0 else self.trunk_of[group] for group in (one, other)]
            base = 2 * hosts + 2 * groups
            trunks = (len(self.rate_bytes_s) - base) // 2
            for side, group in enumerate((one, other)):
                if group >= 0:
                    crossed.append(2 * hosts + side * groups + group)
                    if above[side] >= 0 and above[0] != above[1]:
                        crossed.append(base + side * trunks + above[side])
        return tuple(link for link in crossed if self.rate_bytes_s[link] < float("inf"))

    def carried_s(self, loads: Stages, order: Sequence[int]) -> float:
        """Return the seconds that the busiest link needs for all of a collective's bytes.

        Args:
            loads: stages of flows that load links (`plink.solvers.contention.stages.split`).
            order: (R,) the host of each rank.
        """
        sizes_bytes = loads.sizes_bytes * np.repeat(loads.counts, np.diff(loads.starts))
        total = np.zeros(len(self.rate_bytes_s))
        ends = loads.sources.tolist(), loads.destinations.tolist(), sizes_bytes.tolist()
        for source, destination, size in zip(*ends, strict=True):
            for link in self.path(order[source], order[destination]):
                total[link] += size
        rates = np.array(self.rate_bytes_s)
        steady_s = (total - self.burst_bytes) / rates
        return float(np.maximum(steady_s, total / np.maximum(PEAK_BYTES_S, rates)).max())


def shared_links(
    network: Network,
    trunks: Sequence[Trunk] = (),
    *,
    burst_bytes: float = 0.0,
    flow_share: float = 1.0,
) -> SharedLinks:
    """Return a network's links, with trunks above the groups, as the flow simulation takes them.

    A limited link lets `burst_bytes` pass at once; flows get `flow_share` of its rate together.

    Raises:
        ValueError: a group that is not there, or in two trunks.
    """
    trunk_of = [-1] * network.groups
    for number, trunk in enumerate(trunks):
        for group in trunk.groups:
            if not 0 <= group < network.groups or trunk_of[group] >= 0:
                raise ValueError(
                    f"trunk {number} has group {group}, expected groups 0 to {network.groups - 1}, "
                    "each in one trunk"
                )
            trunk_of[group] = number
    sent, received = (
        np.array([getattr(trunk, way) for trunk in trunks])
        for way in ("send_bytes_s", "receive_bytes_s")
    )
    rates = np.concatenate([network.rates_bytes_s, sent, received])
    return SharedLinks(
        (rates * flow_share).tolist(),
        [burst_bytes if rate < np.inf else 0.0 for rate in rates.tolist()],
        network.group_of.tolist(),
        trunk_of,
    )


@dataclass(frozen=True)
class CoreTurns:
    """Time slices in which busy-waiting ranks share the cores of their host.

    Where ranks take turns, a message begins when its sender has its turn, whether the receiver is
    there or not: libraries are told not to ask first.

    Args:
        cycle_s: from one turn of a rank to its next; 0 where ranks have cores of their own.
        slice_s: how long a turn is.
        begins_s: (R,) of each rank's first turn.
    """

    cycle_s: float = 0.0
    slice_s: float = 0.0
    begins_s: Sequence[float] = ()


ALWAYS = CoreTurns()


def draw_turns(ranks: int, cores: int, slice_s: float, seed: int) -> CoreTurns:
    """Return time slices of ranks in random order; `ALWAYS` if each has a core or does not spin.

    Ranks that give way as soon as they wait have a `slice_s` of 0.
    """
    if not 0 < cores < ranks or slice_s <= 0.0:
        return ALWAYS
    places = random.Random(~seed).sample(range(ranks), ranks)
    begins_s = [slice_s * (place // cores) for place in places]
    return CoreTurns(slice_s * ranks / cores, slice_s, begins_s)


def with_sockets(
    messages: Messages, links: SharedLinks, turns: CoreTurns, kept_s: float
) -> tuple[Messages, SharedLinks]:
    """Add a link for each sender's socket buffer to its messages' paths; return messages and links.

    A full buffer feeds the sender's own link, the first of a path, for `kept_s` seconds.
    """
    share = (kept_s + turns.slice_s) / turns.cycle_s
    if share >= 1.0:
        return messages, links
    rates, bursts = list(links.rate_bytes_s), list(links.burst_bytes)
    socket_of: dict[int, int] = {}
    paths: list[tuple[int, ...]] = []
    for path, sender in zip(messages.paths, messages.senders, strict=True):
        if path and sender not in socket_of:
            socket_of[sender] = len(rates)
            own = links.rate_bytes_s[path[0]]
            rates.append(own * share)
            bursts.append(own * kept_s)
        paths.append((*path, socket_of[sender]) if path else path)
    fed = replace(links, rate_bytes_s=rates, burst_bytes=bursts)
    return replace(messages, paths=paths), fed


@dataclass(frozen=True)
class SoftwareCosts:
    """Software costs of a communication library, and cores of its ranks, in the flow simulation.

    Args:
        overhead_s: before a message begins, beside the network's latency: alpha, less that.
        rendezvous_s: the same, of messages above `EAGER_BYTES`, for asking first.
        reduction_s_byte: to add a byte that arrived: gamma.
        serialised: the share of exchanges above `EAGER_BYTES` in which one message waits for the
            other, 0 to 1.
        slice_s: how long a rank that spins keeps a core that it shares; 0 where it gives way.
        cores: that all ranks share; 0 where each has its own.
        kept_s: for how long a sender's socket goes on sending while the sender waits for its turn.
    """

    overhead_s: float = 0.0
    rendezvous_s: float = 0.0
    reduction_s_byte: float = 0.0
    serialised: float = 0.0
    slice_s: float = 0.0
    cores: int = 0
    kept_s: float = KEPT_S


@dataclass(frozen=True)
class Messages:
    """Messages of a collective in all rounds, as parallel lists for the flow simulation.

    Args:
        ranks: how many there are.
        rounds: ascending numbers.
        senders, receivers: ranks.
        sizes_bytes: sizes of each, in bytes.
        delays_s: from when both ranks are there until it begins.
        after: the message that must have arrived before this one begins; -1 for none.
        paths: the links that each crosses; none between ranks of one host.
    """

    ranks: int
    rounds: Sequence[int]
    senders: Sequence[int]
    receivers: Sequence[int]
    sizes_bytes: Sequence[float]
    delays_s: Sequence[float]
    after: Sequence[int]
    paths: Sequence[tuple[int, ...]]


class FlowClock:
    """Simulator of one collective in one rank order; ranks of one host exchange for free.

    Args:
        table: not pipelined.
        order: (R,) rank r is on host `order[r]`.
        latency_s: (N, N) one way, between hosts.
        links: that flows between hosts cross.
    """

    def __init__(
        self,
        table: PeerTable,
        order: Sequence[int],
        latency_s: npt.NDArray[np.float64],
        links: SharedLinks,
    ) -> None:
        self._links = links
        distinct = distinct_rounds(table)
        followed, self._times = list(table.rounds), 1.0
        is_ring = len(distinct.counts) == 1 and distinct.goes_round[0]
        if is_ring and distinct.counts[0] > _MOST_OF_A_RING:
            followed = followed[:_MOST_OF_A_RING]
            self._times = float(distinct.counts[0]) / _MOST_OF_A_RING
        flows = [
            (number, source, destination, size)
            for number, step in enumerate(followed)
            for source, destination, size in zip(
                step.sources.tolist(),
                step.destinations.tolist(),
                step.sizes_bytes.tolist(),
                strict=True,
            )
            if source != destination
        ]
        hosts = [(order[source], order[destination]) for _, source, destination, _ in flows]
        self._messages = Messages(
            table.ranks,
            rounds=[flow[0] for flow in flows],
            senders=[flow[1] for flow in flows],
            receivers=[flow[2] for flow in flows],
            sizes_bytes=[flow[3] for flow in flows],
            delays_s=[latency_s[ends].item() for ends in hosts],
            after=[-1] * len(flows),
            paths=[links.path(one, other) for one, other in hosts],
        )
        self._exchanges = self._find_exchanges()
        # A fit asks for the same draws again and again.
        self._drawn: dict[int, list[tuple[float, int, int]]] = {}

    @property
    def ranks(self) -> int:
        """Number of ranks of the collective."""
        return self._messages.ranks

    @property
    def has_exchanges(self) -> bool:
        """Whether ranks on two hosts exchange large messages in one round, perhaps one by one."""
        return bool(self._exchanges)

    def _find_exchanges(self) -> list[tuple[int, int]]:
        """Return index pairs of large opposite messages between two ranks in one round."""
        found: list[tuple[int, int]] = []
        place_of: dict[tuple[int, int, int], int] = {}
        all_messages = self._messages
        sizes_bytes = all_messages.sizes_bytes
        ends = zip(all_messages.rounds, all_messages.senders, all_messages.receivers, strict=True)
        for place, (number, source, destination) in enumerate(ends):
            place_of[number, source, destination] = place
            back = place_of.pop((number, destination, source), None)
            if back is None or not all_messages.paths[place]:
                continue
            if min(sizes_bytes[place], sizes_bytes[back]) > EAGER_BYTES:
                found.append((back, place))
        return found

    def messages(self, costs: SoftwareCosts, seed: int) -> Messages:
        """Return the messages with the library's delays and randomly drawn serialised exchanges."""
        after = list(self._messages.after)
        for draw, first, second in self._draw_serialised(seed) if costs.serialised > 0.0 else ():
            if draw < costs.serialised:
                after[second] = first
        delays_s = [
            latency_s + costs.overhead_s + (costs.rendezvous_s if size > EAGER_BYTES else 0.0)
            for latency_s, size in zip(
                self._messages.delays_s, self._messages.sizes_bytes, strict=True
            )
        ]
        return replace(self._messages, delays_s=delays_s, after=after)

    def _draw_serialised(self, seed: int) -> list[tuple[float, int, int]]:
        """Draw, for each exchange, a threshold of 0 to 1 for serialising it and who sends first.

        Both are drawn in any case, so that times change little with the share.
        """
        drawn = self._drawn.get(seed)
        if drawn is None:
            chance = random.Random(seed)
            drawn = [
                (chance.random(), *((one, other) if chance.random() < 0.5 else (other, one)))
                for one, other in self._exchanges
            ]
            if len(self._drawn) >= _MOST_DRAWN:
                self._drawn.clear()
            self._drawn[seed] = drawn
        return drawn

    def time_s(
        self, costs: SoftwareCosts, seed: int = 0, links: SharedLinks | None = None
    ) -> float:
        """Return the seconds until every rank has the collective's result.

        Args:
            costs: what the software costs, and the cores that ranks share.
            seed: seed of what is by chance.
            links: the same ones with other rates and bursts; None for those given first.
        """
        messages = self.messages(costs, seed)
        if not messages.senders:
            return 0.0
        used = links or self._links
        turns = draw_turns(self.ranks, costs.cores, costs.slice_s, seed)
        if turns.cycle_s > 0.0:
            messages, used = with_sockets(messages, used, turns, costs.kept_s)
        seconds = _native.flow_time_s(
            ranks=messages.ranks,
            rounds=messages.rounds,
            senders=messages.senders,
            receivers=messages.receivers,
            sizes_bytes=messages.sizes_bytes,
            delays_s=messages.delays_s,
            after=messages.after,
            path_starts=[0, *itertools.accumulate(map(len, messages.paths))],
            path_links=list(itertools.chain.from_iterable(messages.paths)),
            rates=used.rate_bytes_s,
            bursts=used.burst_bytes,
            peak_bytes_s=PEAK_BYTES_S,
            empty_share=EMPTY,
            reduction_s_byte=costs.reduction_s_byte,
            cycle_s=turns.cycle_s,
            slice_s=turns.slice_s,
            begins_s=turns.begins_s,
        )
        return self._times * seconds
