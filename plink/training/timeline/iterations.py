"""Which collectives belong to one iteration: the same names come again in each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.training.control.requests import UNNAMED
from plink.training.timeline.clocks import Floats
from plink.training.timeline.merging import Timeline


@dataclass(frozen=True)
class Iteration:
    """Iteration of a timeline.

    Args:
        number: from 0 on.
        of: how many there are.
        collectives: (K,) places in the timeline of these, and of others announced meanwhile.
        begin_us: when the first of them was announced.
        end_us: when the last of those that every iteration has ended.
    """

    number: int
    of: int
    collectives: npt.NDArray[np.intp]
    begin_us: float
    end_us: float


def typical(timeline: Timeline) -> Iteration | None:
    """The iteration of median length, but for the first, in which ranks get to know names; None
    where nothing ran to its end.

    The n-th time of a name belongs to iteration n. Names that come as often as most others count;
    those that the program did not give only where there are no others.
    """
    ends_us = _greatest(timeline.ended_us)[timeline.buffer_of]
    begins_us = -_greatest(-timeline.announced_us)
    usable = np.isfinite(ends_us) & np.isfinite(begins_us)
    places = _places(timeline, np.flatnonzero(usable))
    if not places:
        return None
    times = Counter(map(len, places.values()))
    most = max(times, key=lambda each: (times[each], each))
    # (K, I): of each name, its collectives.
    of_names = np.array([at for at in places.values() if len(at) == most], dtype=np.intp)
    from_us, until_us = begins_us[of_names].min(axis=0), ends_us[of_names].max(axis=0)
    candidates = np.arange(1, most) if most > 1 else np.arange(most)
    in_order = candidates[np.argsort((until_us - from_us)[candidates], kind="stable")]
    number = int(in_order[(len(in_order) - 1) // 2])
    begin_us, end_us = float(from_us[number]), float(until_us[number])
    meanwhile = usable & (begins_us >= begin_us) & (begins_us <= end_us)
    # A rank may have begun the next one.
    meanwhile[of_names] = False
    meanwhile[of_names[:, number]] = True
    return Iteration(number, most, np.flatnonzero(meanwhile), begin_us, end_us)


def _places(timeline: Timeline, usable: npt.NDArray[np.intp]) -> dict[str, list[int]]:
    """Return the places of each name, in order; of the program's own names, if there are any."""
    places: dict[str, list[int]] = {}
    for place in usable.tolist():
        places.setdefault(timeline.names[place], []).append(place)
    named = {name: at for name, at in places.items() if not name.startswith(UNNAMED)}
    return named or places


def _greatest(values: Floats) -> Floats:
    """Return the greatest of each row; minus infinity where nothing is known."""
    greatest: Floats = np.where(np.isnan(values), -np.inf, values).max(axis=1, initial=-np.inf)
    return greatest
