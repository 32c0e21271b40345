"""Times of iterations with each tried schedule, and costs of collectives besides the line.

A network says what the line carries. What a collective costs the processor, which computes at the
same time, is in no model: it shows in iterations that take longer than predicted, the more
collectives they have the longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from plink.training.overlap.network import Network
from plink.training.overlap.profile import Profile
from plink.training.overlap.schedule import Schedule
from plink.training.overlap.timeline import communicated_s

# Of what an iteration takes: how far measurements are off, and what a collective may well cost.
_NOISE = 0.01
_USUAL_COST = 0.005


@dataclass(frozen=True)
class InForce:
    """Gradients in the order of the pool, how they are cut, and how that was made."""

    names: tuple[str, ...]
    schedule: Schedule
    name: str


@dataclass(frozen=True)
class Tried:
    """Schedule that was tried, and an iteration's time with it."""

    what: InForce
    took_s: float


class Experience:
    """Experience on one network, with one profile.

    Args:
        in_flight: collectives that the engine runs at once.
    """

    def __init__(self, in_flight: int) -> None:
        self._in_flight = in_flight
        self._tried: dict[tuple[int, ...], Tried] = {}

    def add(self, what: InForce, took_s: float) -> None:
        """An iteration took so long with it; what was known of it before counts no more."""
        self._tried[what.schedule.cuts] = Tried(what, took_s)

    def has(self, schedule: Schedule) -> bool:
        """Return whether it was tried."""
        return schedule.cuts in self._tried

    def forget(self) -> None:
        """Network or profile are others."""
        self._tried.clear()

    def per_collective_s(self, profile: Profile, network: Network) -> float:
        """Return each collective's cost to an iteration beyond the network's; not negative.

        Few collectives more or less tell little of it, beside the noise of an iteration.

        Args:
            profile: in ready order.
            network: as it is known now.
        """
        if len(self._tried) < 2:
            return 0.0
        took_s = np.array([one.took_s for one in self._tried.values()])
        predicted_s = np.array(
            [
                predict_duration(one.what, profile, network, self._in_flight)
                for one in self._tried.values()
            ]
        )
        counts = np.array([len(cuts) for cuts in self._tried], dtype=np.float64)
        beyond_s = took_s - predicted_s
        beyond_s -= beyond_s.mean()
        counts -= counts.mean()
        belief = (_NOISE / _USUAL_COST) ** 2
        return max(0.0, float(counts @ beyond_s / (counts @ counts + belief)))


def predict_duration(what: InForce, profile: Profile, network: Network, in_flight: int) -> float:
    """Return the seconds until everything is reduced with it, whatever the profile's order."""
    schedule = replace(what.schedule, in_flight=in_flight)
    return communicated_s(in_order_of(profile, what.names), schedule, network)


def in_order_of(profile: Profile, names: Sequence[str]) -> Profile:
    """The same gradients as they stand in a pool: each is sent when those before it are there.

    Args:
        profile: in ready order.
        names: the same in another.
    """
    sizes = dict(zip(profile.names, profile.sizes_bytes, strict=True))
    ready_s = dict(zip(profile.names, profile.ready_s, strict=True))
    in_turn_s = np.maximum.accumulate(np.array([ready_s[name] for name in names]))
    return Profile(
        tuple(names), tuple(sizes[name] for name in names), tuple(float(s) for s in in_turn_s)
    )
