"""Summary of a timeline: which ranks kept others waiting, and where the time went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.training.timeline.clocks import Floats
from plink.training.timeline.merging import Timeline

NOBODY = -1


@dataclass(frozen=True)
class Lateness:
    """Last rank and lateness of the collectives that several ranks announced.

    Args:
        last: (C,) the place of the rank that announced it last; `NOBODY` where that cannot be told,
            or where fewer than two did.
        late_us: (C,) how long all others waited for that rank alone; 0 for nobody.
    """

    last: npt.NDArray[np.intp]
    late_us: Floats


@dataclass(frozen=True)
class RankSummary:
    """Summary of one rank.

    Args:
        rank: its number.
        last: how often it was the last to announce.
        held_up_us: for so long all others waited for it alone with something.
        median_us: of these times, for one collective.
        most_us: the longest.
        waited_us: something had been announced, and nothing was being reduced.
        reduced_us: something was being reduced.
        span_us: from its first event to its last.
    """

    rank: int
    last: int
    held_up_us: float
    median_us: float
    most_us: float
    waited_us: float
    reduced_us: float
    span_us: float


@dataclass(frozen=True)
class NameSummary:
    """Summary of all collectives with one name.

    Args:
        name: of them.
        times: how often it was agreed on.
        waited_us: from its first announcement to its last, the median.
        held_up_us: how long all but the last rank waited for that one alone, in all.
        last: the rank that was last most often, and how often; None where it was nobody.
        size_bytes: of its tensors.
    """

    name: str
    times: int
    waited_us: float
    held_up_us: float
    last: tuple[int, int] | None
    size_bytes: float


@dataclass(frozen=True)
class Buffers:
    """How collectives shared buffers.

    Args:
        count: of buffers.
        collectives: in all of them.
        median_collectives: of a buffer.
        most_collectives: of a buffer.
        median_bytes: of a buffer.
        most_bytes: of a buffer.
    """

    count: int
    collectives: int
    median_collectives: float
    most_collectives: int
    median_bytes: float
    most_bytes: float


@dataclass(frozen=True)
class Summary:
    """Summary of a timeline.

    Args:
        ranks: those that others waited for longest are first.
        names: the same.
        buffers: how collectives shared them.
        agreeing_us: from the last announcement to when a rank knew of it: the median; NaN where
            that is not known.
        agreeing_p99_us: the 99th percentile.
    """

    ranks: Sequence[RankSummary]
    names: Sequence[NameSummary]
    buffers: Buffers
    agreeing_us: float
    agreeing_p99_us: float


def lateness(timeline: Timeline) -> Lateness:
    """Find the last rank to announce each collective; none where clocks are too uncertain."""
    announced_us = timeline.announced_us
    count, ranks = announced_us.shape
    last, late_us = np.full(count, NOBODY, dtype=np.intp), np.zeros(count)
    if ranks < 2 or not count:
        return Lateness(last, late_us)
    known_us = np.where(np.isnan(announced_us), -np.inf, announced_us)
    in_order = np.argsort(known_us, axis=1, kind="stable")
    latest, second = in_order[:, -1], in_order[:, -2]
    rows = np.arange(count)
    with np.errstate(invalid="ignore"):
        gap_us = known_us[rows, latest] - known_us[rows, second]
    error_us = np.nan_to_num(timeline.clocks.error_us, nan=np.inf)
    clock_of = timeline.clocks.clock_of
    is_same_clock = clock_of[latest][:, None] == clock_of[None, :]
    doubt_us = np.where(is_same_clock, 0.0, error_us[latest][:, None] + error_us[None, :])
    others_us = known_us + np.where(np.isneginf(known_us), 0.0, doubt_us)
    others_us[rows, latest] = -np.inf
    is_told = np.isfinite(gap_us) & (known_us[rows, latest] > others_us.max(axis=1))
    last[is_told] = latest[is_told]
    late_us[is_told] = gap_us[is_told]
    return Lateness(last, late_us)


def summary_of(timeline: Timeline) -> Summary:
    """Summarise waits, shared buffers and the time that agreeing took."""
    late = lateness(timeline)
    ranks = [_of_rank(timeline, late, place) for place in range(len(timeline.ranks))]
    ranks.sort(key=lambda rank: (-rank.held_up_us, rank.rank))
    agreeing_us = _agreeing(timeline)
    return Summary(
        ranks,
        _of_names(timeline, late),
        _buffers(timeline),
        _percentile(agreeing_us, 50.0),
        _percentile(agreeing_us, 99.0),
    )


def _of_rank(timeline: Timeline, late: Lateness, place: int) -> RankSummary:
    is_last = late.last == place
    late_us = late.late_us[is_last]
    came_us = timeline.announced_us[is_last, place]
    waits = np.stack([timeline.announced_us[:, place], timeline.agreed_us[:, place]])
    runs = np.stack([timeline.begun_us[:, place], timeline.ended_us[:, place]])
    reduced_us = _covered_us(runs)
    either_us = _covered_us(np.concatenate([waits, runs], axis=1))
    both = np.concatenate([waits, runs], axis=1)
    known = both[np.isfinite(both)]
    return RankSummary(
        rank=timeline.ranks[place],
        last=len(late_us),
        held_up_us=_covered_us(np.stack([came_us - late_us, came_us])),
        median_us=_percentile(late_us, 50.0),
        most_us=float(late_us.max(initial=0.0)),
        waited_us=either_us - reduced_us,
        reduced_us=reduced_us,
        span_us=float(known.max() - known.min()) if known.size else 0.0,
    )


def _covered_us(spans_us: Floats) -> float:
    """Return how much time intervals (2, N) cover together; those without an end are left out."""
    begin_us, end_us = spans_us[:, np.isfinite(spans_us).all(axis=0)]
    if not begin_us.size:
        return 0.0
    order = np.argsort(begin_us, kind="stable")
    begin_us, end_us = begin_us[order], end_us[order]
    until_us = np.maximum.accumulate(end_us)
    from_us = np.maximum(begin_us, np.concatenate([[-np.inf], until_us[:-1]]))
    return float(np.maximum(end_us - from_us, 0.0).sum())


def _of_names(timeline: Timeline, late: Lateness) -> list[NameSummary]:
    places: dict[str, list[int]] = {}
    for place, name in enumerate(timeline.names):
        places.setdefault(name, []).append(place)
    found = []
    for name, at in places.items():
        announced_us = timeline.announced_us[at]
        known = np.isfinite(announced_us)
        spread_us = np.where(known, announced_us, -np.inf).max(axis=1) - np.where(
            known, announced_us, np.inf
        ).min(axis=1)
        last = late.last[at]
        times = np.bincount(last[last != NOBODY], minlength=1)
        most = int(times.argmax())
        found.append(
            NameSummary(
                name,
                len(at),
                _percentile(spread_us[np.isfinite(spread_us)], 50.0),
                float(late.late_us[at].sum()),
                (timeline.ranks[most], int(times[most])) if times[most] else None,
                float(timeline.sizes_bytes[at[-1]]),
            )
        )
    return sorted(found, key=lambda each: (-each.held_up_us, each.name))


def _buffers(timeline: Timeline) -> Buffers:
    collectives, sizes_bytes = timeline.collectives, timeline.buffers_bytes
    return Buffers(
        len(collectives),
        int(collectives.sum()),
        _percentile(collectives.astype(np.float64), 50.0),
        int(collectives.max(initial=0)),
        _percentile(sizes_bytes, 50.0),
        float(sizes_bytes.max(initial=0.0)),
    )


def _agreeing(timeline: Timeline) -> Floats:
    """Return the times from a collective's last announcement to when each rank knew of it.

    Nothing is where files are missing, since one of their ranks may have been the last, or where
    ranks did not ask each other.
    """
    announced_us = timeline.announced_us
    is_known = np.isfinite(announced_us).any(axis=1)
    is_complete = len(timeline.ranks) == timeline.of_ranks and not timeline.is_by_graph
    if not is_known.any() or not is_complete:
        return np.zeros(0)
    last_us: Floats = np.nanmax(announced_us[is_known], axis=1, keepdims=True)
    took_us: Floats = timeline.agreed_us[is_known] - last_us
    return took_us[np.isfinite(took_us)]


def _percentile(values: Floats, percent: float) -> float:
    return float(np.percentile(values, percent)) if values.size else float("nan")
