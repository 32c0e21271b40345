"""Schedules: the places where the pool of gradients is cut."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from plink.training.overlap.profile import Profile


@dataclass(frozen=True)
class Group:
    """Gradients that one collective reduces.

    Args:
        first: of them, in the order of the profile.
        end: behind the last.
        size_bytes: of all of them.
        ready_s: when the last is ready.
    """

    first: int
    end: int
    size_bytes: int
    ready_s: float


@dataclass(frozen=True)
class Schedule:
    """A pool of gradients, cut into collectives that begin in order.

    Args:
        cuts: behind which gradients; rising, and the last is how many there are.
        in_flight: collectives at most; the next waits for one to end. None: nobody has said, so
            that the engine decides.

    Raises:
        ValueError: cuts do not rise from 1 on, or nothing may be in flight.
    """

    cuts: tuple[int, ...]
    in_flight: int | None = None

    def __post_init__(self) -> None:
        if any(later <= sooner for sooner, later in pairwise((0, *self.cuts))) or not self.cuts:
            raise ValueError("cuts rise from 1 on")
        if self.in_flight is not None and self.in_flight < 1:
            raise ValueError("a collective at least is in flight")

    def groups(self, profile: Profile) -> list[Group]:
        """Return the group of gradients that each collective reduces.

        Raises:
            ValueError: the last cut is not behind the profile's last gradient.
        """
        if self.cuts[-1] != len(profile):
            raise ValueError("a schedule is of as many gradients as its profile has")
        return [
            Group(first, end, sum(profile.sizes_bytes[first:end]), profile.ready_s[end - 1])
            for first, end in pairwise((0, *self.cuts))
        ]
