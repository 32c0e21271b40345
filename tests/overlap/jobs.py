"""Jobs made up: networks, profiles and chance are known, and so is what a fit should find."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np

from plink.training.overlap.decisions import Window
from plink.training.overlap.experience import in_order_of
from plink.training.overlap.fit import NetworkFit
from plink.training.overlap.measured import profile_of, usual_ready_s
from plink.training.overlap.network import Network
from plink.training.overlap.probes import IN_ROUND, REPEATS, SIZES_BYTES, Budget
from plink.training.overlap.profile import Profile
from plink.training.overlap.schedule import Schedule
from plink.training.overlap.timings import Timings


@dataclass(frozen=True)
class Noise:
    """Args: `share` by which collectives take longer, and of these some 1.5 to 5 times so long."""

    share: float = 0.03
    outliers: float = 0.01
    is_heavy: bool = False

    def factor(self, rng: np.random.Generator) -> float:
        one = rng.standard_t(2) if self.is_heavy else rng.standard_normal()
        factor = 1.0 + abs(self.share * float(one))
        return factor * float(rng.uniform(1.5, 5.0)) if rng.random() < self.outliers else factor


def step(
    profile: Profile, schedule: Schedule, network: Network, noise: Noise, rng: np.random.Generator
) -> tuple[list[float], list[float]]:
    """When each collective begins and ends in one step, in which chance has its part."""
    begun_s: list[float] = []
    ended_s: list[float] = []
    line_free_s = 0.0
    ends: list[float] = []
    for group in schedule.groups(profile):
        free_s = heappop(ends) if len(ends) == schedule.in_flight else 0.0
        begin_s = max(group.ready_s, free_s)
        factor = noise.factor(rng)
        at_line_s = max(line_free_s, begin_s + factor * network.latency_s)
        line_free_s = at_line_s + factor * network.line_s(group.size_bytes)
        end_s = max(line_free_s, begin_s + factor * network.alone_s(group.size_bytes))
        heappush(ends, end_s)
        begun_s.append(begin_s)
        ended_s.append(end_s)
    return begun_s, ended_s


def timed(
    profile: Profile,
    schedule: Schedule,
    network: Network,
    noise: Noise,
    rng: np.random.Generator,
    *,
    steps: int = 10,
) -> Timings:
    """Of so many steps."""
    found = [step(profile, schedule, network, noise, rng) for _ in range(steps)]
    sizes = [float(group.size_bytes) for group in schedule.groups(profile)]
    begun_s, ended_s = (np.array([one[which] for one in found]) for which in (0, 1))
    return Timings(np.array(sizes), begun_s, ended_s)


def probed(network: Network, noise: Noise, rng: np.random.Generator) -> Timings:
    """Collectives of all sizes, of each size one alone, then two at once."""
    rounds = []
    for size_bytes in SIZES_BYTES:
        for count in (1, IN_ROUND - 1):
            names = tuple(map(str, range(count)))
            profile = Profile(names, (size_bytes,) * count, (0.0,) * count)
            schedule = Schedule(tuple(range(1, count + 1)), 2)
            rounds.append(timed(profile, schedule, network, noise, rng, steps=REPEATS))
    starts_s = np.cumsum([0.0, *(float(one.ended_s.max()) + 1.0 for one in rounds[:-1])])
    return Timings(
        np.concatenate([one.sizes_bytes for one in rounds]),
        np.hstack([one.begun_s + at_s for one, at_s in zip(rounds, starts_s, strict=True)]),
        np.hstack([one.ended_s + at_s for one, at_s in zip(rounds, starts_s, strict=True)]),
    )


def network_drawn(rng: np.random.Generator) -> Network:
    startup_s, s_per_byte = 10.0 ** rng.uniform(-4.3, -2.3), 10.0 ** rng.uniform(-9.5, -7.5)
    exclusive_s = startup_s * rng.uniform(0.0, 0.4)
    share = rng.uniform(0.4, 1.0)
    return Network(startup_s - exclusive_s, exclusive_s, s_per_byte, share * s_per_byte)


def far_from(network: Network, rng: np.random.Generator) -> Network:
    """A prediction that is wrong by up to three times, either way."""
    s_per_byte = network.s_per_byte * rng.uniform(0.4, 2.0)
    return Network(
        network.latency_s * rng.uniform(0.3, 3.0),
        network.exclusive_s * rng.uniform(0.3, 3.0),
        s_per_byte,
        s_per_byte * rng.uniform(0.3, 1.0),
    )


def profile_drawn(rng: np.random.Generator, network: Network, gradients: int) -> Profile:
    """Sizes from 1 kB to 20 MB; computing takes from a third to three times what the line does."""
    sizes = np.exp(rng.uniform(np.log(1e3), np.log(2e7), gradients)).astype(int)
    busy_s = sum(network.line_s(float(size)) for size in sizes)
    ready_s = np.sort(rng.uniform(0.0, 1.0, gradients)) * busy_s * rng.uniform(0.3, 3.0)
    names = tuple(f"g{place}" for place in range(gradients))
    return Profile(
        names, tuple(int(size) for size in sizes), tuple(float(at_s) for at_s in ready_s)
    )


@dataclass
class Job:
    """What one iteration after the other does, and what ranks would agree on of each window."""

    profile: Profile
    network: Network
    schedule: Schedule
    rng: np.random.Generator
    noise: Noise = field(default_factory=Noise)
    jitter: float = 0.02
    steps: int = 10
    names: tuple[str, ...] = ()
    plan: int = 0
    # What each costs the processor, of which collectives' own times tell nothing.
    per_collective_s: float = 0.0

    def __post_init__(self) -> None:
        self.names = self.names or self.profile.names
        prediction = far_from(self.network, self.rng)
        self.fit = NetworkFit(prediction)
        self.budget = Budget()

    def window(self, *, throttled_from: int | None = None, by: float = 1.0) -> Window:
        """The next; from a step of it on the network may be slower by a factor."""
        begun, ended, ready, took_s = [], [], [], []
        for place in range(self.steps):
            if place == throttled_from:
                old = self.network
                self.network = Network(
                    old.latency_s, old.exclusive_s, by * old.s_per_byte, by * old.line_s_per_byte
                )
            factor = 1.0 + self.jitter * abs(float(self.rng.standard_normal()))
            if self.rng.random() < self.noise.outliers:
                factor *= float(self.rng.uniform(1.5, 3.0))
            ready_s = np.array(self.profile.ready_s) * factor
            now = Profile(self.profile.names, self.profile.sizes_bytes, tuple(ready_s.tolist()))
            in_turn = in_order_of(now, self.names)
            begun_s, ended_s = step(in_turn, self.schedule, self.network, self.noise, self.rng)
            begun.append(begun_s)
            ended.append(ended_s)
            ready.append(ready_s)
            took_s.append(max(ended_s) + self.per_collective_s * len(ended_s))
        groups = self.schedule.groups(in_order_of(self.profile, self.names))
        sizes = np.array([float(group.size_bytes) for group in groups])
        fitted = self.fit.add(Timings(sizes, np.array(begun), np.array(ended)))
        if self.budget.grants(not (fitted.has_startup and fitted.has_line), self.plan):
            self.fit.add_probes(probed(self.network, self.noise, self.rng))
        profile = profile_of(self.profile.names, self.profile.sizes_bytes, usual_ready_s(ready))
        spread = 1.4826 * float(np.median(np.abs(np.array(took_s) - np.median(took_s))))
        return Window(
            float(np.median(took_s)),
            profile,
            fitted.network,
            fitted.is_new,
            fitted.has_startup,
            self.plan,
            deviation=1.25 * spread / float(np.median(took_s)) / self.steps**0.5,
        )
