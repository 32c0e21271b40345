"""Profiles and networks drawn by chance, and what can be said of all schedules of few gradients."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations

from hypothesis import strategies as st

from plink.training.overlap.network import Network
from plink.training.overlap.profile import Profile
from plink.training.overlap.schedule import Schedule
from plink.training.overlap.timeline import Sharing, communicated_s

_TIMES_S = st.floats(0.0, 1.0, allow_subnormal=False)


@st.composite
def profiles(draw: st.DrawFn, most: int = 8) -> Profile:
    """Up to so many gradients; several may be ready at the same time, some have no bytes."""
    ready_s = sorted(draw(st.lists(_TIMES_S, min_size=1, max_size=most)))
    sizes = st.one_of(st.just(0), st.integers(1, 100), st.integers(1, 10_000))
    sizes_bytes = [draw(sizes) for _ in ready_s]
    names = tuple(f"g{place}" for place in range(len(ready_s)))
    return Profile(names, tuple(sizes_bytes), tuple(ready_s))


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """With lines as fast as one collective, or faster."""
    s_per_byte = draw(st.sampled_from([1e-5, 1e-4, 1e-3]))
    return Network(
        draw(st.sampled_from([0.0, 0.01, 0.1, 0.5])),
        draw(st.sampled_from([0.0, 0.01, 0.1])),
        s_per_byte,
        s_per_byte * draw(st.sampled_from([1.0, 0.8, 0.5, 0.1])),
    )


def schedules(gradients: int, in_flight: int) -> Iterator[Schedule]:
    """All of them."""
    inner = range(1, gradients)
    cuts = chain.from_iterable(combinations(inner, count) for count in range(gradients))
    return (Schedule((*each, gradients), in_flight) for each in cuts)


def least_s(profile: Profile, network: Network, in_flight: int, sharing: Sharing) -> float:
    """When the last gradient is reduced, by the best of all schedules."""
    return min(
        communicated_s(profile, schedule, network, sharing)
        for schedule in schedules(len(profile), in_flight)
    )
