"""Which plans failed, which hosts go up and down, which flows were slow.

They are not tried again at once: a plan that avoids a slow flow does not show when it recovers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from plink.autotune.tuner.bandwidth import SlowFlow
from plink.autotune.tuner.interface import Floats, TunerOptions
from plink.autotune.tuner.masters import Layout, Masters, host_loads

# Plans are neighbours where no host's load differs by more than this share of the buffer, and
# networks are the same where no host is believed to have become so much faster or slower.
_NEAR_LOAD = 0.05
_SAME_NETWORK = 0.25

# A plan that fails again and again is left alone for so many times `left_alone_s` at most.
_MOST_TIMES = 32

# So many changes of direction make a host one that goes up and down.
_TURNS = 2


@dataclass(frozen=True)
class Failure:
    """A plan that made iterations slower.

    Args:
        loads: (H,) of its hosts.
        hosts_bytes_s: (H,) what the network was believed to be.
        until_s: it is left alone.
        times: that it failed.
    """

    loads: Floats
    hosts_bytes_s: Floats
    until_s: float
    times: int


@dataclass(frozen=True)
class Turn:
    """A host's load went up (+1) or down (-1) with a plan, for it was believed to be so fast."""

    now_s: float
    host: int
    direction: int
    rate_bytes_s: float


@dataclass
class Memory:
    """Failures, and where loads went.

    Args:
        failures: the latest at the end.
        turns: of all hosts, the latest at the end.
        slow_flows: and when each was last seen to be slow.
    """

    failures: list[Failure] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    slow_flows: dict[SlowFlow, float] = field(default_factory=dict)

    def saw(self, now_s: float, flows: Sequence[SlowFlow], options: TunerOptions) -> None:
        """Remember slow flows; the latest rate of each counts."""
        pairs = {(flow.sender, flow.receiver) for flow in flows}
        self.slow_flows = {
            flow: seen_s
            for flow, seen_s in self.slow_flows.items()
            if (flow.sender, flow.receiver) not in pairs and seen_s > now_s - options.damping_s
        }
        self.slow_flows.update((flow, now_s) for flow in flows)

    def avoided(self, now_s: float, options: TunerOptions) -> list[SlowFlow]:
        """Flows that were slow lately."""
        return [
            flow for flow, seen_s in self.slow_flows.items() if seen_s > now_s - options.damping_s
        ]

    def failed(
        self,
        now_s: float,
        masters: Masters,
        hosts_bytes_s: Floats,
        layout: Layout,
        options: TunerOptions,
    ) -> Failure:
        """Remember that a plan made iterations slower; how it is remembered."""
        loads = host_loads(masters, layout)
        before = [one for one in self.failures if _is_near(one, loads, hosts_bytes_s)]
        times = 1 + max((one.times for one in before), default=0)
        wait_s = options.left_alone_s * min(2.0 ** (times - 1), _MOST_TIMES)
        failure = Failure(loads, hosts_bytes_s, now_s + wait_s, times)
        forgotten_s = options.left_alone_s * _MOST_TIMES
        self.failures = [
            one for one in self.failures if one not in before and one.until_s > now_s - forgotten_s
        ]
        self.failures.append(failure)
        return failure

    def is_left_alone(
        self, now_s: float, masters: Masters, hosts_bytes_s: Floats, layout: Layout
    ) -> bool:
        """Return whether such a plan failed lately on such a network."""
        loads = host_loads(masters, layout)
        return any(
            one.until_s > now_s and _is_near(one, loads, hosts_bytes_s) for one in self.failures
        )

    def changed(
        self,
        now_s: float,
        loads_before: Floats,
        loads: Floats,
        hosts_bytes_s: Floats,
        options: TunerOptions,
    ) -> None:
        """Remember whose load, given as (H,), went up or down with a plan."""
        moved = loads - loads_before
        usual = float(np.median(moved))
        self.turns = [turn for turn in self.turns if turn.now_s > now_s - options.damping_s]
        self.turns += [
            Turn(now_s, int(host), 1 if moved[host] > usual else -1, float(hosts_bytes_s[host]))
            for host in np.flatnonzero(np.abs(moved - usual) > _NEAR_LOAD)
        ]

    def damped(self, now_s: float, options: TunerOptions) -> dict[int, float]:
        """Return hosts whose load changed its direction again and again lately.

        For each the lowest rate that it was believed to have meanwhile.
        """
        latest: dict[int, list[Turn]] = {}
        for turn in self.turns:
            if turn.now_s > now_s - options.damping_s:
                latest.setdefault(turn.host, []).append(turn)
        return {
            host: min(turn.rate_bytes_s for turn in turns)
            for host, turns in sorted(latest.items())
            if _reversals([turn.direction for turn in turns]) >= _TURNS
        }


def _is_near(failure: Failure, loads: Floats, hosts_bytes_s: Floats) -> bool:
    is_neighbour = np.abs(failure.loads - loads).max() <= _NEAR_LOAD
    ratio = hosts_bytes_s / failure.hosts_bytes_s
    return bool(is_neighbour and np.abs(np.log(ratio)).max() <= np.log1p(_SAME_NETWORK))


def _reversals(directions: Sequence[int]) -> int:
    return sum(a != b for a, b in pairwise(directions))
