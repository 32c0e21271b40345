"""Fluid simulation of a collective whose ranks proceed independently, flow by flow.

`plink.solvers.contention.time` lets all ranks begin a round together. Here a rank begins its next
round once its own messages of the last one have arrived, so that flows of several rounds meet on
links. Rates are max-min fair (`plink.solvers.contention.fair`). What the software does is a
`Manner`: what it takes to begin a message, to add what arrived, whether two ranks that exchange do
so at the same time or, as some libraries do with one connection for both, one after the other, and
whether ranks that share cores spin on them (`plink.solvers.contention.turns`).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass

from plink.solvers import _native
from plink.solvers.collectives.table import PeerTable
from plink.solvers.contention.rounds import distinct_rounds
from plink.solvers.contention.shared_links import EMPTY, PEAK_BYTES_S, SharedLinks
from plink.solvers.contention.turns import KEPT_S, CoreTurns, Paths, draw_turns, socket_paths

# Of many rounds of one ring, so many are followed; the rest take as long each.
_MOST_OF_A_RING = 24

# Seeds whose draws are kept.
_MOST_DRAWN = 16

# What libraries send at once, without asking whether the receiver is there.
EAGER_BYTES = 65536


@dataclass(frozen=True)
class Manner:
    """Software costs and behaviour of the ranks.

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
    """Messages of a collective by round, as parallel lists.

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
    """Simulator of one peer table in one order; ranks of one host exchange for free.

    Args:
        table: not pipelined.
        order: (R,) rank r is on host `order[r]`.
        latency_s: (N, N) one way, between hosts.
        links: that flows between hosts cross.

    Raises:
        ValueError: not a host for each rank, or a pipelined table.
    """

    def __init__(
        self,
        table: PeerTable,
        order: Sequence[int],
        latency_s: Sequence[Sequence[float]],
        links: SharedLinks,
    ) -> None:
        if len(order) != table.ranks:
            raise ValueError(f"{len(order)} hosts for {table.ranks} ranks")
        if table.is_pipelined:
            raise ValueError("the rounds of a pipelined table do not follow one another")
        self._links = links
        distinct = distinct_rounds(table)
        followed, self._times = list(table.rounds), 1.0
        if len(distinct) == 1 and distinct[0].goes_round and distinct[0].count > _MOST_OF_A_RING:
            followed = followed[:_MOST_OF_A_RING]
            self._times = distinct[0].count / _MOST_OF_A_RING
        self._rounds: list[int] = []
        self._senders: list[int] = []
        self._receivers: list[int] = []
        self._sizes_bytes: list[float] = []
        for number, step in enumerate(followed):
            ends = step.sources.tolist(), step.destinations.tolist(), step.sizes_bytes.tolist()
            for source, destination, size in zip(*ends, strict=True):
                if source != destination:
                    self._rounds.append(number)
                    self._senders.append(source)
                    self._receivers.append(destination)
                    self._sizes_bytes.append(size)
        hosts = [
            (order[one], order[other])
            for one, other in zip(self._senders, self._receivers, strict=True)
        ]
        self._latencies_s = [latency_s[one][other] for one, other in hosts]
        self._paths = [links.path(one, other) for one, other in hosts]
        self._path_starts, self._path_links = _flat(self._paths)
        self._exchanges = self._found_exchanges()
        # A fit asks for the same draws again and again.
        self._drawn: dict[int, list[tuple[float, int, int]]] = {}
        self._ranks = table.ranks

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self._ranks

    @property
    def has_exchanges(self) -> bool:
        """Whether any two messages could be serialised."""
        return bool(self._exchanges)

    def _found_exchanges(self) -> list[tuple[int, int]]:
        """Return pairs of large opposite messages between two hosts in one round."""
        found: list[tuple[int, int]] = []
        place_of: dict[tuple[int, int, int], int] = {}
        for place, (number, source, destination) in enumerate(
            zip(self._rounds, self._senders, self._receivers, strict=True)
        ):
            place_of[number, source, destination] = place
            back = place_of.pop((number, destination, source), None)
            if back is None or not self._paths[place]:
                continue
            if min(self._sizes_bytes[place], self._sizes_bytes[back]) > EAGER_BYTES:
                found.append((back, place))
        return found

    def messages(self, manner: Manner, seed: int) -> Messages:
        """Return the messages, with random choices of serialised exchanges and their order."""
        after = [-1] * len(self._senders)
        for draw, first, second in self._draw_turns(seed) if manner.serialised > 0.0 else ():
            if draw < manner.serialised:
                after[second] = first
        delays_s = [
            latency_s + manner.overhead_s + (manner.rendezvous_s if size > EAGER_BYTES else 0.0)
            for latency_s, size in zip(self._latencies_s, self._sizes_bytes, strict=True)
        ]
        return Messages(
            self._ranks,
            self._rounds,
            self._senders,
            self._receivers,
            self._sizes_bytes,
            delays_s,
            after,
            self._paths,
        )

    def _draw_turns(self, seed: int) -> list[tuple[float, int, int]]:
        """Return for each exchange the share from which it is serialised, and which goes first.

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

    def turns(self, manner: Manner, seed: int) -> CoreTurns:
        """Return the ranks' turns on shared cores, drawn at random."""
        return draw_turns(self._ranks, manner.cores, manner.slice_s, seed)

    def paths(self, manner: Manner, turns: CoreTurns, links: SharedLinks) -> Paths:
        """Return the links that messages cross where ranks take turns."""
        return socket_paths(self._paths, self._senders, links, turns, manner.kept_s)

    def time_s(self, manner: Manner, seed: int = 0, links: SharedLinks | None = None) -> float:
        """Return seconds until every rank has the result.

        Args:
            manner: manner of the software.
            seed: seed of what is by chance.
            links: the same ones with other rates and bursts; None for those given first.
        """
        if not self._senders:
            return 0.0
        used = links or self._links
        messages = self.messages(manner, seed)
        turns = self.turns(manner, seed)
        rates, bursts = used.rate_bytes_s, used.burst_bytes
        path_starts, path_links = self._path_starts, self._path_links
        if turns.cycle_s > 0.0:
            fed = self.paths(manner, turns, used)
            rates, bursts = fed.rate_bytes_s, fed.burst_bytes
            path_starts, path_links = _flat(fed.paths)
        seconds = _native.flow_time_s(
            ranks=messages.ranks,
            rounds=messages.rounds,
            senders=messages.senders,
            receivers=messages.receivers,
            sizes_bytes=messages.sizes_bytes,
            delays_s=messages.delays_s,
            after=messages.after,
            path_starts=path_starts,
            path_links=path_links,
            rates=rates,
            bursts=bursts,
            peak_bytes_s=PEAK_BYTES_S,
            empty_share=EMPTY,
            reduction_s_byte=manner.reduction_s_byte,
            cycle_s=turns.cycle_s,
            slice_s=turns.slice_s,
            begins_s=turns.begins_s,
        )
        return self._times * seconds


def _flat(paths: Sequence[tuple[int, ...]]) -> tuple[list[int], list[int]]:
    """Return the start of each path and all links of all paths in sequence."""
    return [0, *itertools.accumulate(map(len, paths))], list(itertools.chain.from_iterable(paths))
