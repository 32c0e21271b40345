"""A network whose links change while a job trains on it, and what its ranks would report.

All flows of an iteration are under way together and share links fairly (max-min): the rates are
filled up until a link is full, its flows stay at that, the others go on; when a flow ends its part
goes to the rest. An iteration takes the computing and then the last flow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from plink.plans.forest import Forest
from plink.plans.measures import bytes_between
from plink.tuning.window import Window

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class State:
    """What links carry for now.

    Args:
        hosts_bytes_s: (H,) each host's link, either direction.
        group_of: (H,) the group of each host.
        uplinks_bytes_s: (G,) each group's link, either direction.
        flows_bytes_s: what single flows carry at most, by (sender, receiver).
        adding_bytes_s: what a host adds up at most, by host: a busy processor.
    """

    hosts_bytes_s: Floats
    group_of: npt.NDArray[np.intp]
    uplinks_bytes_s: Floats
    flows_bytes_s: Mapping[tuple[int, int], float] = field(default_factory=dict)
    adding_bytes_s: Mapping[int, float] = field(default_factory=dict)

    def with_host(self, host: int, factor: float) -> State:
        """With one host at so much of its rate."""
        rates = self.hosts_bytes_s.copy()
        rates[host] *= factor
        return replace(self, hosts_bytes_s=rates)

    def with_all(self, factor: float) -> State:
        """With all hosts at so much of their rates."""
        return replace(self, hosts_bytes_s=self.hosts_bytes_s * factor)

    def with_uplink(self, group: int, factor: float) -> State:
        """With one uplink at so much of its rate."""
        rates = self.uplinks_bytes_s.copy()
        rates[group] *= factor
        return replace(self, uplinks_bytes_s=rates)


def even(hosts: int, *, groups: int = 1, host_gbit_s: float = 5.0, uplink: float = np.inf) -> State:
    """Equal hosts, in equal groups with uplinks of so many hosts' rates."""
    rate = host_gbit_s * 1e9 / 8
    group_of = np.arange(hosts) * groups // hosts
    return State(np.full(hosts, rate), group_of, np.full(groups, uplink * rate))


def flow_times_s(sent_bytes: Floats, state: State) -> Floats:
    """(H, H) when each flow ends."""
    sender, receiver = np.nonzero(sent_bytes)
    left = sent_bytes[sender, receiver].astype(np.float64)
    crossed, room = _links(sender, receiver, state)
    ends = np.zeros(len(left))
    now_s, is_open = 0.0, np.ones(len(left), dtype=bool)
    while is_open.any():
        rates = _fair_rates(crossed[:, is_open], room)
        step_s = float((left[is_open] / rates).min())
        now_s += step_s
        left[is_open] -= rates * step_s
        done = is_open & (left <= 1e-9 * sent_bytes[sender, receiver])
        ends[done] = now_s
        is_open &= ~done
    times = np.zeros(sent_bytes.shape)
    times[sender, receiver] = ends
    return times


def _links(
    sender: npt.NDArray[np.intp], receiver: npt.NDArray[np.intp], state: State
) -> tuple[npt.NDArray[np.bool_], Floats]:
    """(L, F) which flow crosses which link, and (L,) what the links carry."""
    rows, room = [], []
    for host, rate in enumerate(state.hosts_bytes_s):
        rows += [sender == host, receiver == host]
        room += [rate, min(rate, state.adding_bytes_s.get(host, np.inf))]
    source, target = state.group_of[sender], state.group_of[receiver]
    for group, rate in enumerate(state.uplinks_bytes_s):
        rows += [(source == group) & (target != group), (target == group) & (source != group)]
        room += [rate, rate]
    for (one, other), rate in state.flows_bytes_s.items():
        rows.append((sender == one) & (receiver == other))
        room.append(rate)
    return np.array(rows), np.array(room, dtype=np.float64)


def _fair_rates(crossed: npt.NDArray[np.bool_], room: Floats) -> Floats:
    """(F,) max-min fair."""
    rates = np.zeros(crossed.shape[1])
    is_rising = np.ones(crossed.shape[1], dtype=bool)
    left = room.copy()
    while is_rising.any():
        rising = crossed[:, is_rising].sum(axis=1)
        rise = np.divide(left, rising, out=np.full(len(left), np.inf), where=rising > 0)
        step = float(rise.min())
        rates[is_rising] += step
        left -= step * rising
        full = (rise <= step * (1 + 1e-12)) & (rising > 0)
        is_rising &= ~crossed[full].any(axis=0)
    return rates


@dataclass(frozen=True)
class Noise:
    """How readings differ from the truth: lognormal, and now and then far out.

    Args:
        iteration, busy: standard deviations of the logarithm.
        outliers: how many iterations, and how many flows of a window, are out of line; by a factor
            of a Pareto distribution without variance.
    """

    iteration: float = 0.05
    busy: float = 0.15
    outliers: float = 0.02


QUIET = Noise(0.0, 0.0, 0.0)


class Job:
    """A job on such a network.

    Args:
        size_bytes: of the gradients.
        compute_s: of an iteration, before anything is sent.
        iterations: in a window.
        noise: of its readings.
        seed: of the noise.
    """

    def __init__(
        self,
        size_bytes: float = 102e6,
        compute_s: float = 0.1,
        iterations: int = 10,
        noise: Noise = QUIET,
        seed: int = 0,
    ) -> None:
        self.size_bytes = size_bytes
        self.compute_s = compute_s
        self.iterations = iterations
        self.noise = noise
        self._random = np.random.default_rng(seed)
        self._known: tuple[Forest, State, Floats, Floats] | None = None

    def iteration_s(self, forest: Forest, state: State) -> float:
        """What an iteration takes without noise."""
        return self.compute_s + float(self._flows(forest, state)[1].max())

    def window(self, plan: int, forest: Forest, state: State) -> Window:
        """What the ranks report of the next iterations, a rank on each host."""
        sent, times_s = self._flows(forest, state)
        noise, random, shape = self.noise, self._random, sent.shape
        took = self.compute_s + float(times_s.max())
        lost = np.zeros(shape)
        for sender, receiver in state.flows_bytes_s:
            lost[sender, receiver] = 100.0
        return Window(
            plan,
            took * self._factors(noise.iteration, (self.iterations,)),
            sent,
            times_s * self._factors(noise.busy, shape),
            lost,
            random.uniform(1e-4, 1.5e-4, len(sent)),
        )

    def _factors(self, deviation: float, shape: tuple[int, ...]) -> Floats:
        factors = self._random.lognormal(0.0, deviation, shape)
        is_out = self._random.random(shape) < self.noise.outliers
        return np.where(is_out, factors * (1.0 + self._random.pareto(1.5, shape)), factors)

    def _flows(self, forest: Forest, state: State) -> tuple[Floats, Floats]:
        known = self._known
        if known is not None and known[0] is forest and known[1] is state:
            return known[2], known[3]
        sent = bytes_between(forest, self.size_bytes)
        times_s = flow_times_s(sent, state)
        self._known = (forest, state, sent, times_s)
        return sent, times_s
