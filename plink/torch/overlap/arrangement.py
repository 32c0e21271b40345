"""Arrangement of gradients: their order in the pools, and the cuts between groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch.distributed as dist
from torch.distributed import ProcessGroup

from plink.training.overlap.profile import Profile
from plink.training.overlap.schedule import Schedule

# The schedule of a profile: gradients, their sizes, and when they are ready.
Scheduling = Callable[[Profile], Schedule]


@dataclass(frozen=True)
class Arrangement:
    """Arrangement of gradients that every backward pass sends.

    Args:
        names: of all gradients, in the order in which they are expected.
        cuts: behind which of them: each group between two cuts is sent together.
        in_flight: collectives at most; the next waits for one to end. None: as the engine does.
    """

    names: tuple[str, ...]
    cuts: tuple[int, ...]
    in_flight: int | None = None


class Arranger(Protocol):
    """Strategy that decides how gradients are arranged, and observes each pass.

    On all ranks it says the same, since groups are collectives. `pass_ended` is called on all ranks
    after the same collective, when nothing of the pass is in flight: it may run collectives of its
    own to agree. A pass is a backward pass that reduces; under `no_sync` nothing is called.
    """

    def first(self, profile: Profile) -> Arrangement:
        """Return the arrangement to begin with.

        Args:
            profile: of all gradients in the reverse order of their registration, all ready at 0.
        """

    def gradient_ready(self, name: str) -> None:
        """Record a ready gradient; called once for each in a pass, in this rank's order."""

    def group_posted(self, group: int, works: Sequence[Any]) -> None:
        """Record that a group, by its place between cuts, is posted: a work for each type in it."""

    def pass_ended(self) -> Arrangement | None:
        """Record the end of a pass; return an arrangement for later passes, or None to keep it."""


class Fixed:
    """Arranger with a fixed schedule, in the reverse order of registration.

    Args:
        scheduling: of the profile.
        in_flight: collectives at most; None: as the engine does.
    """

    def __init__(self, scheduling: Scheduling, in_flight: int | None = None) -> None:
        self._scheduling = scheduling
        self._in_flight = in_flight

    def first(self, profile: Profile) -> Arrangement:
        """Return the only arrangement."""
        return Arrangement(profile.names, self._scheduling(profile).cuts, self._in_flight)

    def gradient_ready(self, name: str) -> None:
        """Ignore the gradient: the schedule is fixed."""

    def group_posted(self, group: int, works: Sequence[Any]) -> None:
        """Ignore the group: the schedule is fixed."""

    def pass_ended(self) -> Arrangement | None:
        """Return None: the schedule is fixed."""
        return None


class InOrder(Fixed):
    """Arranger that changes once, after the first pass, to the order of rank 0's gradients.

    Args:
        scheduling: of the profile, whose times are all 0.
        group: of the ranks.
    """

    def __init__(self, scheduling: Scheduling, group: ProcessGroup) -> None:
        super().__init__(scheduling)
        self._group = group
        self._came: list[str] | None = []
        self._sizes: dict[str, int] = {}

    def first(self, profile: Profile) -> Arrangement:
        """Return the arrangement in the reverse order of registration."""
        self._sizes = dict(zip(profile.names, profile.sizes_bytes, strict=True))
        return super().first(profile)

    def gradient_ready(self, name: str) -> None:
        """Record the gradient's place in the first pass; ignore later passes."""
        if self._came is not None:
            self._came.append(name)

    def pass_ended(self) -> Arrangement | None:
        """Return an arrangement in rank 0's order after the first pass, and None later."""
        if self._came is None:
            return None
        said = [[*self._came, *(name for name in self._sizes if name not in set(self._came))]]
        self._came = None
        dist.broadcast_object_list(said, group=self._group, group_src=0)
        names = tuple(said[0])
        profile = Profile(names, tuple(self._sizes[name] for name in names), (0.0,) * len(names))
        return Arrangement(names, self._scheduling(profile).cuts)
