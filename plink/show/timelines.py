"""Facts about ranks' timelines, for `plink timeline`, `plink show` and `plink report`."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from plink.base.text import bytes_text, format_count, printable, rtt_text, share_text
from plink.show.tables import UNKNOWN, Column, Fact
from plink.training.control.ranks import Ranks
from plink.training.timeline.lines import FORMAT
from plink.training.timeline.merging import Pending, Timeline
from plink.training.timeline.summary import NameSummary, RankSummary, Summary

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
    """Return facts on ranks, clocks, agreement and what was never agreed on."""
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
    """Return a sentence on the rank that others waited for longest."""
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


def timeline_to_json(timeline: Timeline, summary: Summary) -> dict[str, Any]:
    """Return the timeline as `plink timeline --json` and `plink show --json` print it."""
    return {
        "of": FORMAT,
        "ranks_of_group": timeline.of_ranks,
        "clock_error_us": [_number(error) for error in timeline.clocks.error_us.tolist()],
        "clocks_drifted_us": _number(timeline.clocks.drifted_us),
        "collectives": len(timeline.names),
        "missed_events": timeline.missed,
        "agreeing_us": {
            "p50": _number(summary.agreeing_us),
            "p99": _number(summary.agreeing_p99_us),
        },
        "buffers": {name: _number(value) for name, value in asdict(summary.buffers).items()},
        "ranks": [
            {name: _number(value) for name, value in asdict(rank).items()} for rank in summary.ranks
        ],
        "names": [
            {
                "name": name.name,
                "times": name.times,
                "size_bytes": name.size_bytes,
                "waited_us": _number(name.waited_us),
                "held_up_us": _number(name.held_up_us),
                "mostly_last": None
                if name.last is None
                else {"rank": name.last[0], "times": name.last[1]},
            }
            for name in summary.names
        ],
        "pending": [
            {
                "name": pending.name,
                "announced_by": list(pending.announced_by),
                "at_us": _number(pending.since_us),
                "failed": pending.has_failed,
            }
            for pending in timeline.pending
        ],
    }


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
