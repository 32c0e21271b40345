"""Text output of a timeline, for `plink timeline` and `plink report`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from plink.base.text import bytes_text, format_count, printable, rtt_text, share_text
from plink.show.terminal import facts
from plink.training.control.ranks import Ranks
from plink.training.timeline.lines import FORMAT
from plink.training.timeline.merging import Pending, Timeline
from plink.training.timeline.summary import NameSummary, RankSummary, Summary

RANK_COLUMNS = ("rank", "last", "held up others", "median", "longest", "waiting", "reducing")
NAME_COLUMNS = ("collective", "times", "size", "first to last", "held up others", "mostly last")

# More rows are for the page and for programs.
_SHOWN_RANKS = 16
_SHOWN_NAMES = 10
_SHOWN_PENDING = 4


def print_timeline(console: Console, timeline: Timeline, summary: Summary) -> None:
    """Print a timeline's facts and two tables."""
    rows = timeline_facts(timeline, summary)
    console.print(facts.table([(label, [text]) for label, text in rows]))
    _print_table(console, RANK_COLUMNS, rank_rows(summary.ranks, timeline), _SHOWN_RANKS)
    _print_table(console, NAME_COLUMNS, name_rows(summary.names), _SHOWN_NAMES)


def timeline_facts(timeline: Timeline, summary: Summary) -> list[tuple[str, str]]:
    """Return a label and a sentence for each known fact."""
    rows = [("ranks", _ranks(timeline)), ("clocks", _clocks(timeline))]
    if not timeline.names and not timeline.pending:
        return [*rows, ("events", "none")]
    rows += [("agreed", _agreement_sentence(timeline, summary)), ("buffers", _buffers(summary))]
    rows.append(("latest", latest_text(timeline, summary)))
    rows += [
        ("pending", pending_text(timeline, each)) for each in timeline.pending[:_SHOWN_PENDING]
    ]
    if len(timeline.pending) > _SHOWN_PENDING:
        rows.append(("", f"and {len(timeline.pending) - _SHOWN_PENDING} more"))
    if timeline.missed:
        rows.append(("missing", f"{timeline.missed:,} events came faster than they were written"))
    return rows


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
    return (
        f"'{printable(pending.name)}' was announced by {there}{missing}, at "
        f"{_at(pending.since_us)}, and {'failed' if pending.has_failed else 'never agreed on'}"
    )


def rank_rows(ranks: Sequence[RankSummary], timeline: Timeline) -> list[tuple[str, ...]]:
    """Return a row of `RANK_COLUMNS` for each rank."""
    total = len(timeline.names)
    return [
        (
            f"{rank.rank}",
            f"{rank.last:,} of {total:,}",
            _time(rank.held_up_us),
            _time(rank.median_us),
            _time(rank.most_us),
            share_text(_share(rank.waited_us, rank.span_us)),
            share_text(_share(rank.reduced_us, rank.span_us)),
        )
        for rank in ranks
    ]


def name_rows(names: Sequence[NameSummary]) -> list[tuple[str, ...]]:
    """Return a row of `NAME_COLUMNS` for each collective."""
    return [
        (
            printable(name.name),
            f"{name.times:,}",
            bytes_text(name.size_bytes),
            _time(name.waited_us),
            _time(name.held_up_us),
            "" if name.last is None else f"rank {name.last[0]} ({name.last[1]:,})",
        )
        for name in names
    ]


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


def _print_table(
    console: Console, columns: Sequence[str], rows: Sequence[Sequence[str]], most: int
) -> None:
    if not rows:
        return
    console.print()
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for number, column in enumerate(columns):
        is_text = number == 0 or column == "mostly last"
        table.add_column(column, justify="left" if is_text else "right", overflow="fold")
    for row in rows[:most]:
        table.add_row(*map(Text, row))
    console.print(table)
    if len(rows) > most:
        more = f"and {len(rows) - most:,} more: plink report draws them, --json prints them"
        console.print(Text(more, style="dim"))


def _ranks(timeline: Timeline) -> str:
    there = len(timeline.ranks)
    if there == timeline.of_ranks:
        return f"all {there:,}" if there > 1 else "1"
    missing = Ranks.of(set(range(timeline.of_ranks)) - set(timeline.ranks))
    return f"{there:,} of {timeline.of_ranks:,}: there is no file of {missing}"


def _clocks(timeline: Timeline) -> str:
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
    said = f"{count}, put beside each other to within {rtt_text(float(clocks.error_us.max()))}"
    if clocks.drifted_us > 0.0:
        said += f"; they run at different speeds, by {rtt_text(clocks.drifted_us)} at least"
    return said


def _agreement_sentence(timeline: Timeline, summary: Summary) -> str:
    said = (
        f"{format_count(len(timeline.names), 'collective')} of "
        f"{format_count(len(summary.names), 'name')}"
    )
    if math.isnan(summary.agreeing_us):
        return said
    return (
        f"{said}, {rtt_text(max(0.0, summary.agreeing_us))} after the last rank announced them "
        f"(median; 99 of 100 within {rtt_text(max(0.0, summary.agreeing_p99_us))})"
    )


def _buffers(summary: Summary) -> str:
    buffers = summary.buffers
    if not buffers.count:
        return "none"
    return (
        f"{buffers.count:,}, of {format_count(round(buffers.median_collectives), 'collective')} "
        "and "
        f"{bytes_text(buffers.median_bytes)} (medians), at most {buffers.most_collectives:,} and "
        f"{bytes_text(buffers.most_bytes)}"
    )


def _at(us: float) -> str:
    return f"{us / 1e6:.3f} s"


def _time(us: float) -> str:
    return rtt_text(us) if math.isfinite(us) and us > 0.0 else "-"


def _share(part_us: float, whole_us: float) -> float:
    return part_us / whole_us if whole_us > 0.0 else 0.0


def _number(value: float) -> float | None:
    return round(value, 1) if math.isfinite(value) else None
