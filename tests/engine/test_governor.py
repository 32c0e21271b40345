"""What bounds the rate of bbr over a long way, against a path with a queue that overflows."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.engine._native import Governor

TRIP_US = 100_000
SEGMENT_BYTES = 1448
STEP_US = 50_000


@dataclass
class Path:
    """A path that loses what is more than it carries, beside what it loses by chance.

    Args:
        carried: bytes a second.
        believed: that bbr takes it to carry.
        by_chance: the share lost whatever is sent.
        queue_us: what a round trip has more where the path is full.
    """

    carried: float
    believed: float
    by_chance: float = 0.0
    queue_us: int = TRIP_US
    bound: float = 0.0
    busy_us: int = 0
    segments: int = 0
    again: float = 0.0

    def send(self, governor: Governor, seconds: float) -> list[float]:
        """Send for so long; the bounds that were set."""
        bounds: list[float] = []
        for _ in range(round(seconds * 1e6 / STEP_US)):
            rate = min(self.believed, self.bound or self.believed)
            segments = round(rate * STEP_US / 1e6 / SEGMENT_BYTES)
            is_full = rate > self.carried
            lost = max(0.0, 1.0 - self.carried / rate) + self.by_chance
            self.busy_us += STEP_US
            self.segments += segments
            self.again += lost * segments
            bound = governor.follow(
                busy_us=self.busy_us,
                segments=self.segments % 2**32,
                again=int(self.again) % 2**32,
                trip_us=TRIP_US + self.queue_us * is_full,
                least_trip_us=TRIP_US,
                rate=round(rate),
            )
            if bound is not None:
                self.bound = bound
                bounds.append(bound)
        return bounds


@given(st.floats(5e5, 5e7), st.floats(1.1, 2.5), st.integers(0, 2**32 - 1))
def test_it_finds_what_the_path_carries_and_stays_there(
    carried: float, more: float, sent_before: int
) -> None:
    path = Path(carried, more * carried, segments=sent_before, again=float(sent_before))
    governor = Governor()
    path.send(governor, 10.0)
    # Less than 2 % over it is let through; it tries 7 % more now and then.
    assert all(0.9 * carried <= bound <= 1.2 * carried for bound in path.send(governor, 60.0))
    assert 0.9 * carried <= path.bound <= 1.2 * carried


@pytest.mark.parametrize("by_chance", [0.0, 0.01, 0.2])
def test_losses_without_a_queue_bound_nothing(by_chance: float) -> None:
    assert Path(1e7, 0.95e7, by_chance).send(Governor(), 20.0) == []


def test_a_long_queue_that_loses_nothing_bounds_nothing() -> None:
    path = Path(1e7, 1.01e7)
    assert path.send(Governor(), 20.0) == []


def test_it_follows_a_path_that_carries_more() -> None:
    path = Path(5e6, 8e6)
    governor = Governor()
    path.send(governor, 10.0)
    assert path.bound < 6e6
    path.carried = path.believed = 2e7
    path.send(governor, 20.0)
    assert path.bound > 1.8e7


def test_a_bound_that_bbr_stays_below_is_not_raised() -> None:
    path = Path(5e6, 8e6)
    governor = Governor()
    path.send(governor, 10.0)
    bound = path.bound
    path.believed = bound / 2
    path.send(governor, 30.0)
    assert path.bound == bound


def test_a_bound_is_never_next_to_nothing() -> None:
    path = Path(2e3, 1e6)
    path.send(Governor(), 60.0)
    assert path.bound >= 64 << 10
