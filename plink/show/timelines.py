"""Facts about timelines that training ranks recorded: when they announced and ran collectives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from msgspec.structs import asdict, replace

from plink.base.text import bytes_text, format_count, printable, rtt_text, share_text
from plink.formats.limits import Amount, Positive, Whole
from plink.formats.structs import Output
from plink.show.tables import UNKNOWN, Column, Fact
from plink.training.control.ranks import Ranks
from plink.training.timeline.lines import FORMAT
from plink.training.timeline.merging import PendingCollective, Timeline
from plink.training.timeline.summary import (
    AgreementTime,
    ShownBuffers,
    ShownCollective,
    ShownRank,
    Summary,
)

_SHOWN_PENDING = 4

_Shown = TypeVar("_Shown", bound=Output)

NAME_COLUMNS: tuple[Column[ShownCollective], ...] = (
    Column("collective", lambda name: name.name, is_text=True),
    Column("times", lambda name: f"{name.times:,}"),
    Column("size", lambda name: bytes_text(name.size_bytes)),
    Column("first to last", lambda name: _time_text(name.waited_us)),
    Column("held up others", lambda name: _time_text(name.held_up_us)),
    Column(
        "mostly last",
        lambda name: (
            ""
            if name.mostly_last is None
            else f"rank {name.mostly_last.rank} ({name.mostly_last.times:,})"
        ),
        is_text=True,
    ),
)


def rank_columns(timeline: Timeline) -> list[Column[ShownRank]]:
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
    """Return table rows (name, lines) on a timeline: ranks, clocks, collectives, latest rank."""
    ranks = f"all {timeline.of_ranks:,}" if timeline.of_ranks > 1 else "1"
    if missing := set(range(timeline.of_ranks)) - set(timeline.ranks):
        ranks = f"{len(timeline.ranks):,} of {timeline.of_ranks:,}: there is no file of "
        ranks += str(Ranks.of(missing))
    facts: list[Fact] = [("ranks", [ranks]), ("clocks", [_clocks_text(timeline)])]
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


def pending_text(timeline: Timeline, pending: PendingCollective) -> str:
    """Return a sentence on which ranks announced a collective that never ran, and which did not."""
    there = Ranks.of(pending.announced_by)
    others = Ranks.of(set(timeline.ranks) - set(pending.announced_by))
    missing = f", not by {others}" if others else ""
    end = "failed" if pending.failed else "never agreed on"
    return (
        f"'{printable(pending.name)}' was announced by {there}{missing}, at "
        f"{pending.at_us / 1e6:.3f} s, and {end}"
    )


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
        clock_error_us=[
            None if math.isnan(error) else round(error, 1)
            for error in timeline.clocks.error_us.tolist()
        ],
        clocks_drifted_us=round(timeline.clocks.drifted_us, 1),
        collectives=len(timeline.names),
        missed_events=timeline.missed,
        agreeing_us=_round_members(summary.agreeing_us),
        buffers=_round_members(summary.buffers),
        ranks=list(map(_round_members, summary.ranks)),
        names=list(map(_round_members, summary.names)),
        pending=list(map(_round_members, timeline.pending)),
    )


def _round_members(summary: _Shown) -> _Shown:
    """Return statistics with numbers rounded to a tenth."""
    members = asdict(summary).items()
    return replace(
        summary, **{name: round(value, 1) for name, value in members if isinstance(value, float)}
    )


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
    median_us, most_us = summary.agreeing_us.p50, summary.agreeing_us.p99
    if median_us is None or most_us is None:
        return text
    return (
        f"{text}, {rtt_text(max(0.0, median_us))} after the last rank announced them "
        f"(median; 99 of 100 within {rtt_text(max(0.0, most_us))})"
    )


def _buffers_text(summary: Summary) -> str:
    buffers = summary.buffers
    if buffers.median_collectives is None or buffers.median_bytes is None:
        return "none"
    collectives = format_count(round(buffers.median_collectives), "collective")
    return (
        f"{buffers.count:,}, of {collectives} and "
        f"{bytes_text(buffers.median_bytes)} (medians), at most {buffers.most_collectives:,} and "
        f"{bytes_text(buffers.most_bytes)}"
    )


def _time_text(us: float | None) -> str:
    return rtt_text(us) if us else UNKNOWN


def _share(part_us: float, whole_us: float) -> float:
    return part_us / whole_us if whole_us > 0.0 else 0.0
