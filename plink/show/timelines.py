"""Facts about ranks' timelines, for `plink timeline`, `plink show` and `plink report`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from plink.base.text import bytes_text, format_count, printable, rtt_text, share_text
from plink.formats.limits import Amount, Positive, Text, Whole
from plink.formats.structs import Output
from plink.show.tables import UNKNOWN, Column, Fact
from plink.training.control.ranks import Ranks
from plink.training.timeline.lines import FORMAT
from plink.training.timeline.merging import Pending, Timeline
from plink.training.timeline.summary import Buffers, NameSummary, RankSummary, Summary

_SHOWN_PENDING = 4

NAME_COLUMNS: tuple[Column[NameSummary], ...] = (
    Column("collective", lambda name: name.name, is_text=True),
    Column("times", lambda name: f"{name.times:,}"),
    Column("size", lambda name: bytes_text(name.size_bytes)),
    Column("first to last", lambda name: _time_text(name.waited_us)),
    Column("held up others", lambda name: _time_text(name.held_up_us)),
    Column(
        "mostly last",
        lambda name: "" if name.last is None else f"rank {name.last[0]} ({name.last[1]:,})",
        is_text=True,
    ),
)


def rank_columns(timeline: Timeline) -> list[Column[RankSummary]]:
    """Return the columns of a table of a timeline's ranks."""
    total = len(timeline.names)
    return [
        Column("rank", lambda rank: str(rank.rank), is_text=True),
        Column("last", lambda rank: f"{rank.last:,} of {total:,}"),
        Column("held up others", lambda rank: _time_text(rank.held_up_us)),
        Column("median", lambda rank: _time_text(rank.median_us)),
        Column("longest", lambda rank: _time_text(rank.most_us)),
        Column("waiting", lambda rank: share_text(_share(rank.waited_us, rank.span_us))),
        Column("reducing", lambda rank: share_text(_share(rank.reduced_us, rank.span_us))),
    ]


def timeline_facts(timeline: Timeline, summary: Summary) -> list[Fact]:
    """Return facts on a timeline: ranks, clocks, and collectives that never ran."""
    facts: list[Fact] = [("ranks", [_ranks_text(timeline)]), ("clocks", [_clocks_text(timeline)])]
    if not timeline.names and not timeline.pending:
        return [*facts, ("events", ["none"])]
    facts += [
        ("agreed", [_agreement_text(timeline, summary)]),
        ("buffers", [_buffers_text(summary)]),
        ("latest", [latest_text(timeline, summary)]),
    ]
    shown = timeline.pending[:_SHOWN_PENDING]
    facts += [("pending", [pending_text(timeline, pending)]) for pending in shown]
    if len(timeline.pending) > _SHOWN_PENDING:
        facts.append(("", [f"and {len(timeline.pending) - _SHOWN_PENDING} more"]))
    if timeline.missed:
        missed = f"{timeline.missed:,} events came faster than they were written"
        facts.append(("missing", [missed]))
    return facts


def latest_text(timeline: Timeline, summary: Summary) -> str:
    """Return a sentence on the rank for which others waited longest."""
    compared = int((np.isfinite(timeline.announced_us).sum(axis=1) > 1).sum())
    if not compared or summary.ranks[0].last == 0:
        return "no rank is known to have kept others waiting"
    rank = summary.ranks[0]
    among = ""
    if len(timeline.ranks) < timeline.of_ranks:
        among = f"among {Ranks.of(timeline.ranks)}, "
    return (
        f"{among}rank {rank.rank} was the last to announce {rank.last:,} of {compared:,} "
        f"collectives; the others waited for it alone for {rtt_text(rank.held_up_us)} "
        f"({share_text(_share(rank.held_up_us, rank.span_us))} of the time)"
    )


def pending_text(timeline: Timeline, pending: Pending) -> str:
    """Return which ranks announced a collective that was never agreed on, and which did not."""
    there = Ranks.of(pending.announced_by)
    others = Ranks.of(set(timeline.ranks) - set(pending.announced_by))
    missing = f", not by {others}" if others else ""
    end = "failed" if pending.has_failed else "never agreed on"
    return (
        f"'{printable(pending.name)}' was announced by {there}{missing}, at "
        f"{pending.since_us / 1e6:.3f} s, and {end}"
    )


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


class PendingCollective(Output, frozen=True):
    """Collective that some ranks announced but that never ran.

    Attributes:
        name: name of the collective
        announced_by: ranks that announced it
        at_us: when the last of these did, from the beginning on, in µs
        failed: whether a rank was told that it had failed
    """

    name: Text
    announced_by: Sequence[Whole]
    at_us: Amount
    failed: bool


class AgreementTime(Output, frozen=True):
    """Percentiles of the time from a collective's last announcement until a rank knew of it.

    Attributes:
        p50, p99: percentiles, in µs
    """

    p50: float | None
    p99: float | None


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


class ShownTimeline(Output, frozen=True, kw_only=True, tag_field="of", tag=FORMAT):
    """Statistics of ranks' timelines: which ranks and collectives others waited for.

    Attributes:
        ranks_of_group: number of ranks of the group
        clock_error_us: largest error of each rank's times beside the first's, in µs; null if
            unknown
        clocks_drifted_us: time by which clocks contradict themselves, in µs
        collectives: collectives that were agreed on
        missed_events: events that came faster than they were written
        agreeing_us: time from the last announcement until a rank knew of it, in µs
        buffers: how collectives shared buffers
        ranks: ranks, those that others waited for longest first
        names: collectives by name, in the same order
        pending: collectives that were never agreed on, the earliest first
    """

    ranks_of_group: Positive
    clock_error_us: Sequence[Amount | None]
    clocks_drifted_us: Amount
    collectives: Whole
    missed_events: Whole
    agreeing_us: AgreementTime
    buffers: ShownBuffers
    ranks: Sequence[ShownRank]
    names: Sequence[ShownCollective]
    pending: Sequence[PendingCollective]


def describe_timeline(timeline: Timeline, summary: Summary) -> ShownTimeline:
    """Return the timeline as `plink timeline --json` and `plink show --json` print it."""
    return ShownTimeline(
        ranks_of_group=timeline.of_ranks,
        clock_error_us=[_number(error) for error in timeline.clocks.error_us.tolist()],
        clocks_drifted_us=round(timeline.clocks.drifted_us, 1),
        collectives=len(timeline.names),
        missed_events=timeline.missed,
        agreeing_us=AgreementTime(_number(summary.agreeing_us), _number(summary.agreeing_p99_us)),
        buffers=ShownBuffers(**_numbers(summary.buffers)),
        ranks=[ShownRank(**_numbers(rank)) for rank in summary.ranks],
        names=[
            ShownCollective(
                name.name,
                name.times,
                name.size_bytes,
                _number(name.waited_us),
                round(name.held_up_us, 1),
                None if name.last is None else LastRank(*name.last),
            )
            for name in summary.names
        ],
        pending=[
            PendingCollective(
                each.name, each.announced_by, round(each.since_us, 1), each.has_failed
            )
            for each in timeline.pending
        ],
    )


def _numbers(summary: RankSummary | Buffers) -> dict[str, Any]:
    """Return the members of a summary, rounded; None for unknown ones."""
    return {name: _number(value) for name, value in asdict(summary).items()}


def _ranks_text(timeline: Timeline) -> str:
    there = len(timeline.ranks)
    if there == timeline.of_ranks:
        return f"all {there:,}" if there > 1 else "1"
    missing = Ranks.of(set(range(timeline.of_ranks)) - set(timeline.ranks))
    return f"{there:,} of {timeline.of_ranks:,}: there is no file of {missing}"


def _clocks_text(timeline: Timeline) -> str:
    clocks = timeline.clocks
    count = int(clocks.clock_of.max()) + 1
    if count == 1:
        return "one, that all ranks share"
    unknown = int(np.isnan(clocks.error_us).sum())
    if unknown:
        return (
            f"{count}; those of {format_count(unknown, 'rank')} were never compared, and are as "
            "the machines set them"
        )
    text = f"{count}, put beside each other to within {rtt_text(float(clocks.error_us.max()))}"
    if clocks.drifted_us > 0.0:
        text += f"; they run at different speeds, by {rtt_text(clocks.drifted_us)} at least"
    return text


def _agreement_text(timeline: Timeline, summary: Summary) -> str:
    text = (
        f"{format_count(len(timeline.names), 'collective')} of "
        f"{format_count(len(summary.names), 'name')}"
    )
    if math.isnan(summary.agreeing_us):
        return text
    return (
        f"{text}, {rtt_text(max(0.0, summary.agreeing_us))} after the last rank announced them "
        f"(median; 99 of 100 within {rtt_text(max(0.0, summary.agreeing_p99_us))})"
    )


def _buffers_text(summary: Summary) -> str:
    buffers = summary.buffers
    if not buffers.count:
        return "none"
    collectives = format_count(round(buffers.median_collectives), "collective")
    return (
        f"{buffers.count:,}, of {collectives} and "
        f"{bytes_text(buffers.median_bytes)} (medians), at most {buffers.most_collectives:,} and "
        f"{bytes_text(buffers.most_bytes)}"
    )


def _time_text(us: float) -> str:
    return rtt_text(us) if math.isfinite(us) and us > 0.0 else UNKNOWN


def _share(part_us: float, whole_us: float) -> float:
    return part_us / whole_us if whole_us > 0.0 else 0.0


def _number(value: float) -> float | None:
    return round(value, 1) if math.isfinite(value) else None
