"""Hosts that are not there: agents that say what echo agents say, at once and without a network.

What they leave out: SSH (connections, encryption, its threads), the packets and the time they take
but for a pause a round, and the waiting for a partner. What a coordinator does is all there.
"""

from __future__ import annotations

import platform
import queue
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, cast

from plink.probes.errors import HostError
from plink.probes.facts import HostFacts
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.reach import Reached, ReachedHost
from plink.probes.remote.session import Completed

# Levels of a data centre: rack, row, other row (De Sensi et al., SIGMETRICS 2022), in µs.
_LEVELS_US = (18.0, 31.0, 58.0)
_RACK, _ROW = 16, 128
_NOISE = 0.05
# The share of the probes that are lost.
_PACKET_LOSS = 0.002
# Said to oneself, so that the wait for something to say ends.
_WAKE = ""


@dataclass(frozen=True)
class Behaviour:
    """What the hosts are like.

    Args:
        round_s: how long a meeting takes.
        pair_loss: share of the directions in which a partner is silent.
        never_start: share of the hosts on which the agent cannot be started.
        die: share of the hosts whose agent ends in the middle of the run.
        one_machine: they share one machine of 64 processors, so that pairs are granted.
    """

    round_s: float = 0.02
    pair_loss: float = 0.001
    never_start: float = 0.005
    die: float = 0.005
    one_machine: bool = False


class SimulatedProcess:
    """What `RemoteProcess` is over SSH."""

    def __init__(self, host: str, chance: Random, behaviour: Behaviour) -> None:
        self.host = host
        self._chance = chance
        self._behaviour = behaviour
        self._index = self._count = self._percentiles = 0
        self._is_granted = self._is_started = False
        self._meetings: dict[int, tuple[int, bool]] = {}
        self._gone: set[int] = set()
        self._dies_after = -1
        # Lines to say; None ends them.
        self._said: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def write(self, text: str) -> None:
        """What the coordinator says."""
        for line in text.splitlines():
            self._hear(*line.split())

    def lines(self) -> Iterator[str]:
        """What the agent says."""
        while True:
            is_free = self._is_started and not self._is_granted and self._meetings
            try:
                line = self._said.get(timeout=self._behaviour.round_s if is_free else None)
            except queue.Empty:
                number = next(iter(self._meetings))
                yield from self._meet(number, *self._meetings.pop(number))
                if len(self._meetings) == self._dies_after:
                    return
                continue
            if line is None:
                return
            if line != _WAKE:
                yield line

    def stderr_tail(self) -> str:
        """Why it ended."""
        return "was killed"

    def wait_for_exit(self, timeout_s: float) -> int | None:  # noqa: ARG002
        """It ends at once."""
        return 0

    def close(self) -> None:
        """End it."""
        self._said.put(None)

    def abandon(self) -> None:
        """End it without a word to it."""
        self.close()

    def _hear(self, verb: str, *words: str) -> None:
        match verb:
            case "run":
                self._index, self._count = int(words[0]), int(words[1])
                self._is_granted = words[3] == "granted"
            case "percentiles":
                self._percentiles = len(words)
            case "bind":
                self._said.put("bound 40000")
            case "pair":
                self._meetings[int(words[0])] = (int(words[1]), words[2] == "probe")
            case "again":
                self._meet_at_once(int(words[0]), int(words[1]), words[2] == "probe")
            case "start":
                self._is_started = True
                if self._chance.random() < self._behaviour.die:
                    self._dies_after = len(self._meetings) // 2
                self._said.put(_WAKE)
            case "go":
                number = int(words[0])
                self._meet_at_once(number, *self._meetings.pop(number))
            case "gone":
                self._gone.add(int(words[0]))
            case "alive" | "stop":
                self._said.put(verb if verb == "alive" else None)

    def _meet_at_once(self, number: int, partner: int, probes: bool) -> None:
        for line in self._meet(number, partner, probes):
            self._said.put(line)
        if len(self._meetings) == self._dies_after:
            self._said.put(None)

    def _meet(self, number: int, partner: int, probes: bool) -> Iterator[str]:
        if probes:
            if partner in self._gone:
                yield f"lost {number} {partner} gone"
            elif self._chance.random() < self._behaviour.pair_loss:
                yield f"lost {number} {partner} silent"
            else:
                lost = sum(self._chance.random() < _PACKET_LOSS for _ in range(8))
                times = " ".join(self._times(partner))
                counts = f"{self._count} {self._count - lost}"
                yield f"rtt {number} {partner} {counts} {times}"
        elapsed_us = round(1e6 * self._behaviour.round_s)
        yield f"over {number} {partner} {elapsed_us} {elapsed_us // 10} 0"

    def _times(self, partner: int) -> Iterator[str]:
        same_row = self._index // _ROW == partner // _ROW
        same_rack = self._index // _RACK == partner // _RACK
        level_ns = 1000 * _LEVELS_US[0 if same_rack else 1 if same_row else 2]
        time_ns = level_ns * (1.0 + _NOISE * self._chance.random())
        for place in range(self._percentiles):
            yield str(int(time_ns * (1.0 + _NOISE * place)))


@dataclass
class SimulatedSession:
    """What `Session` is over SSH."""

    host: str
    chance: Random
    behaviour: Behaviour
    address: str = "127.0.0.1"
    hostname: str | None = None
    started: list[SimulatedProcess] = field(default_factory=list)

    def run(self, command: str, stdin: bytes = b"", timeout_s: float = 30.0) -> Completed:  # noqa: ARG002
        """The agent is there already."""
        return Completed(0, b"plink-program:/simulated\n", "")

    def start(self, command: str) -> SimulatedProcess:  # noqa: ARG002
        """Start the agent, on most hosts."""
        if self.chance.random() < self.behaviour.never_start:
            raise HostError(self.host, "cannot run a command: simulated failure")
        self.started.append(SimulatedProcess(self.host, self.chance, self.behaviour))
        return self.started[-1]

    def close(self) -> None:
        """There is nothing to close."""


class _NoOpener:
    def close(self) -> None:
        """There is nothing to close."""


def simulated_reach(listed: Sequence[ListedHost], behaviour: Behaviour, seed: int) -> Reached:
    """What `plink.probes.reach.reach` returns, of hosts that are all there."""
    reached = Reached(cast("Any", _NoOpener()))
    for index, host in enumerate(listed):
        machine, cores = ("here", 64) if behaviour.one_machine else (f"machine-{index}", 64)
        session = SimulatedSession(host.name, Random(f"{seed}/{index}"), behaviour)
        reached.hosts.append(
            ReachedHost(
                listed=host,
                session=cast("Any", session),
                facts=HostFacts(platform.machine(), machine, cores, ()),
                address=f"10.{index >> 16}.{index >> 8 & 255}.{index & 255}",
            )
        )
    return reached
