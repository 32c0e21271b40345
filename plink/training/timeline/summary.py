"""Summary of a timeline: which ranks kept others waiting, and where the time went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.formats.limits import Amount, Positive, Text, Whole
from plink.formats.structs import Output
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


class ShownRank(Output, frozen=True):
    """Statistics of a rank in a timeline: how often it was last, and how long it held others up.

    Attributes:
        rank: number of the rank
        last: number of collectives that it was the last to announce
        held_up_us: time for which all others waited for it alone, in µs
        median_us, most_us: median and longest of these times, in µs
        waited_us: time with something announced and nothing being reduced, in µs
        reduced_us: time with something being reduced, in µs
        span_us: time from its first event to its last, in µs
    """

    rank: Whole
    last: Whole
    held_up_us: Amount
    median_us: Amount | None
    most_us: Amount
    waited_us: Amount
    reduced_us: Amount
    span_us: Amount


class LastRank(Output, frozen=True):
    """Rank that most often was the last to announce a collective, with the count.

    Attributes:
        rank: number of the rank
        times: how often it was last
    """

    rank: Whole
    times: Positive


class ShownCollective(Output, frozen=True):
    """Statistics of all collectives of one name in a timeline.

    Attributes:
        name: name of the collectives
        times: how often it was agreed on
        size_bytes: size of its tensors, in bytes
        waited_us: time from the first announcement to the last, the median, in µs
        held_up_us: time for which all but the last rank waited for that one, in µs
        mostly_last: rank that was last most often
    """

    name: Text
    times: Positive
    size_bytes: Amount
    waited_us: Amount | None
    held_up_us: Amount
    mostly_last: LastRank | None


class ShownBuffers(Output, frozen=True):
    """Statistics of the fusion buffers in which collectives were reduced together.

    Attributes:
        count: number of buffers
        collectives: collectives in all of them
        median_collectives, most_collectives: collectives in a buffer
        median_bytes, most_bytes: bytes of a buffer
    """

    count: Whole
    collectives: Whole
    median_collectives: Amount | None
    most_collectives: Whole
    median_bytes: Amount | None
    most_bytes: Amount


class AgreementTime(Output, frozen=True):
    """Percentiles of the time from a collective's last announcement until a rank knew of it.

    Attributes:
        p50, p99: percentiles, in µs
    """

    p50: float | None
    p99: float | None


@dataclass(frozen=True)
class Summary:
    """Summary of a timeline.

    Args:
        ranks: those that others waited for longest are first.
        names: the same.
        buffers: how collectives shared them.
        agreeing_us: from the last announcement to when a rank knew of it.
    """

    ranks: Sequence[ShownRank]
    names: Sequence[ShownCollective]
    buffers: ShownBuffers
    agreeing_us: AgreementTime


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
        AgreementTime(_percentile(agreeing_us, 50.0), _percentile(agreeing_us, 99.0)),
    )


def _of_rank(timeline: Timeline, late: Lateness, place: int) -> ShownRank:
    is_last = late.last == place
    late_us = late.late_us[is_last]
    came_us = timeline.announced_us[is_last, place]
    waits = np.stack([timeline.announced_us[:, place], timeline.agreed_us[:, place]])
    runs = np.stack([timeline.begun_us[:, place], timeline.ended_us[:, place]])
    reduced_us = _covered_us(runs)
    either_us = _covered_us(np.concatenate([waits, runs], axis=1))
    both = np.concatenate([waits, runs], axis=1)
    known = both[np.isfinite(both)]
    return ShownRank(
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


def _of_names(timeline: Timeline, late: Lateness) -> list[ShownCollective]:
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
            ShownCollective(
                name,
                len(at),
                float(timeline.sizes_bytes[at[-1]]),
                _percentile(spread_us[np.isfinite(spread_us)], 50.0),
                float(late.late_us[at].sum()),
                LastRank(timeline.ranks[most], int(times[most])) if times[most] else None,
            )
        )
    return sorted(found, key=lambda each: (-each.held_up_us, each.name))


def _buffers(timeline: Timeline) -> ShownBuffers:
    collectives, sizes_bytes = timeline.collectives, timeline.buffers_bytes
    return ShownBuffers(
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


def _percentile(values: Floats, percent: float) -> float | None:
    return float(np.percentile(values, percent)) if values.size else None
