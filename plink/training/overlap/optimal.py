"""The schedule that ends soonest, by dynamic programming over where the pool is cut.

With one collective in flight the best end of the first i gradients is the least over where its last
collective begins: O(L^2). With more, what counts of the past is when those in flight end and when
the line is free; of two pasts of the same gradients one that is later in nothing is never worse, so
that a Pareto front of them is kept.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from plink.training.overlap.asc import asc
from plink.training.overlap.bound import least_ends_s
from plink.training.overlap.heuristics import mg_wfbp, single, wfbp
from plink.training.overlap.network import Network
from plink.training.overlap.profile import Floats, Profile
from plink.training.overlap.schedule import Schedule
from plink.training.overlap.timeline import Sharing, communicated_s

Places = npt.NDArray[np.intp]

# What rounding makes of equal ends.
_ROUNDING = 1e-12
# By which share of what no schedule beats limits are later.
_SLACKS = (1e-3, 1e-2, 1e-1)
# So many pasts of each gradient are followed at first.
_FEW = 4
_MOST_TRIALS = 2000


class _Pasts:
    """Ways to have cut gradients so far; those count that may still lead to an end in time.

    Args:
        in_flight: k.

    Attributes:
        cuts: (n,) behind which gradient the last cut is.
        states: (k + 1, n) when the k in flight end, rising, and when the line is free.
    """

    def __init__(self, in_flight: int) -> None:
        # Of all that ever were: where cut, and after which one.
        self._all_cuts = [0]
        self._before = [-1]
        self._numbers = np.array([0], dtype=np.intp)
        self.cuts = np.array([0], dtype=np.intp)
        self.states = np.zeros((in_flight + 1, 1))

    def add(self, cut: int, before: Places, states: Floats) -> None:
        """Add further pasts, all cut there, to those that count."""
        first = len(self._all_cuts)
        self._all_cuts += [cut] * before.size
        self._before += self._numbers[before].tolist()
        numbers = np.arange(first, first + before.size)
        self._numbers = np.concatenate((self._numbers, numbers))
        self.cuts = np.concatenate((self.cuts, np.full(before.size, cut)))
        self.states = np.concatenate((self.states, states), axis=1)

    def keep(self, are_kept: npt.NDArray[np.bool_]) -> None:
        """Keep only these."""
        self._numbers, self.cuts = self._numbers[are_kept], self.cuts[are_kept]
        self.states = self.states[:, are_kept]

    def cuts_of(self, place: int) -> list[int]:
        """Return all of one that counts."""
        found: list[int] = []
        row = int(self._numbers[place])
        while row > 0:
            found.append(self._all_cuts[row])
            row = self._before[row]
        return found[::-1]


def optimal(
    profile: Profile,
    network: Network,
    in_flight: int = 1,
    sharing: Sharing = "fifo",
    gap: float = 1e-4,
    *,
    width: int | None = None,
) -> Schedule:
    """Return the schedule after which the last gradient is reduced soonest.

    Proven where the line carries one collective after the other and all pasts are followed; where
    they share it fairly the best of those is improved step by step, and nothing is proven.

    Args:
        profile: of the backward pass.
        network: what collectives take.
        in_flight: collectives at most.
        sharing: of the line.
        gap: by which share of the soonest end this may be later: 0 takes long with many gradients.
        width: so many pasts of each gradient are followed at most; None for all, which may take
            seconds with hundreds of gradients where the line carries much more than one collective.
    """
    if sharing == "serial":
        network = replace(network, line_s_per_byte=network.s_per_byte)
    known = min(
        (
            replace(schedule, in_flight=in_flight)
            for schedule in (
                *(mg_wfbp(profile, network), asc(profile, network)),
                *(single(profile), wfbp(profile)),
            )
        ),
        key=lambda schedule: communicated_s(profile, schedule, network),
    )
    best = _Search(profile, network, in_flight).best(known, gap, width)
    return _improve(profile, network, best) if sharing == "fair" else best


class _Search:
    """Search where the line carries collectives first come, first served."""

    def __init__(self, profile: Profile, network: Network, in_flight: int) -> None:
        self._profile = profile
        self._network = network
        self._in_flight = in_flight
        self._before_bytes = profile.before_bytes
        self._least_s = least_ends_s(profile, network)

    def best(self, known: Schedule, gap: float, width: int | None) -> Schedule:
        """Return the best, or one that ends later by that share at most.

        First few pasts are followed, which often meets what no schedule beats. Then all that may
        end before a limit, which leaves most out if it is near that: the best of these is the best
        of all.
        """
        known_s = self._ends_s(known)
        few = self._best_within(known_s, width or _FEW)
        best, best_s = (few, self._ends_s(few)) if few else (known, known_s)
        if width is not None:
            return best
        enough_s = best_s * (1.0 - gap)
        limits_s = [self._least_s[0] * (1.0 + slack) for slack in _SLACKS]
        for limit_s in (*(limit_s for limit_s in limits_s if limit_s < enough_s), enough_s):
            found = None if limit_s < self._least_s[0] else self._best_within(limit_s, None)
            if found is not None:
                return found
        return best

    def _ends_s(self, schedule: Schedule) -> float:
        return communicated_s(self._profile, schedule, self._network)

    def _best_within(self, limit_s: float, width: int | None) -> Schedule | None:
        """Return the best schedule that ends before, following `width` pasts of each gradient."""
        profile = self._profile
        pasts = _Pasts(self._in_flight)
        for cut, ready_s in enumerate(profile.ready_s, 1):
            sizes_bytes = self._before_bytes[cut] - self._before_bytes[pasts.cuts]
            states = _after(pasts.states, ready_s, sizes_bytes, self._network)
            if cut == len(profile):
                ends_s = states[-2]
                may_last = np.zeros(ends_s.size, dtype=np.bool_)
            else:
                ends_s = self._carry_on(states, cut)
                # What ends too late ends no sooner with more gradients.
                left_s = self._network.line_s_per_byte * self._left_bytes(cut)
                may_last = np.maximum(states[-2], states[-1] + left_s) < limit_s
            rows = np.flatnonzero(ends_s < limit_s)
            rows = rows[_front(states[:, rows], width)]
            after = states[:, rows]
            may_last = np.concatenate((may_last, np.ones(rows.size, dtype=np.bool_)))
            pasts.add(cut, rows, after)
            if not may_last.all():
                pasts.keep(may_last)
        if not pasts.cuts.size:
            return None
        return Schedule(tuple(pasts.cuts_of(int(np.argmin(pasts.states[-2])))), self._in_flight)

    def _left_bytes(self, cut: int) -> float:
        return float(self._before_bytes[-1] - self._before_bytes[cut])

    def _carry_on(self, states: Floats, cut: int) -> Floats:
        """Forget what is over before the next can begin. Returns when all ends at the soonest."""
        next_s = self._profile.ready_s[cut]
        np.maximum(states[:-1], next_s, out=states[:-1])
        np.maximum(states[-1], next_s + self._network.latency_s, out=states[-1])
        left_s = self._network.line_s(self._left_bytes(cut))
        ends_s = np.maximum(states[-2], states[-1] + left_s)
        return np.asarray(np.maximum(ends_s, self._least_s[cut]))


def _after(states: Floats, ready_s: float, sizes_bytes: Floats, network: Network) -> Floats:
    """Extend each past by one collective more, as `timeline.end_of`."""
    begins_s = np.maximum(ready_s, states[0])
    at_line_s = np.maximum(states[-1], begins_s + network.latency_s)
    line_s = at_line_s + (network.exclusive_s + network.line_s_per_byte * sizes_bytes)
    ends_s = np.maximum(line_s, begins_s + (network.startup_s + network.s_per_byte * sizes_bytes))
    after = np.empty_like(states)
    # In the place of the first to end, and behind those that end sooner.
    for place in range(1, len(states) - 1):
        np.minimum(ends_s, states[place], out=after[place - 1])
        ends_s = np.maximum(ends_s, states[place])
    after[-2] = ends_s
    # With one in flight it begins when nothing else is on the line.
    after[-1] = line_s if len(states) > 2 else 0.0
    return after


def _front(states: Floats, width: int | None) -> Places:
    """Return the places that no other is ahead of in everything: so many, the soonest ones."""
    left = np.argsort(states.sum(axis=0))
    kept: list[int] = []
    while left.size and len(kept) != width:
        best = int(left[0])
        kept.append(best)
        least = states[:, best] * (1.0 - _ROUNDING)
        ahead = states[0, left] < least[0]
        for place in range(1, len(states)):
            ahead |= states[place, left] < least[place]
        left = left[ahead]
    return np.array(kept, dtype=np.intp)


def _improve(profile: Profile, network: Network, schedule: Schedule) -> Schedule:
    """Improve a schedule by moving, removing and adding cuts, where the line is shared."""
    best, best_s = schedule, communicated_s(profile, schedule, network, "fair")
    trials, has_improved = 0, True
    while has_improved and trials < _MOST_TRIALS:
        has_improved = False
        for cuts in _neighbours(best.cuts):
            trials += 1
            trial = Schedule(cuts, best.in_flight)
            trial_s = communicated_s(profile, trial, network, "fair")
            if trial_s < best_s * (1.0 - _ROUNDING):
                best, best_s, has_improved = trial, trial_s, True
                break
            if trials >= _MOST_TRIALS:
                break
    return best


def _neighbours(cuts: tuple[int, ...]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    for place, (first, end) in enumerate(pairwise((0, *cuts))):
        if place + 1 < len(cuts):
            found.append((*cuts[:place], *cuts[place + 1 :]))
            moved = {end - 1, end + 1, (first + end) // 2, (end + cuts[place + 1]) // 2} - {end}
            found += [
                (*cuts[:place], new, *cuts[place + 1 :])
                for new in sorted(moved)
                if first < new < cuts[place + 1]
            ]
        if end - first > 1:
            found.append((*cuts[:place], (first + end) // 2, *cuts[place:]))
    return found
