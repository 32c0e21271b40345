"""Facts about a cluster file: labels with lines of text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from plink.base.text import format_count, options_text, printable, rtt_text, share_text, time_text

if TYPE_CHECKING:
    from plink.files.measurements import Failure, Measurement
    from plink.show.terminal.summary import Pair, Summary

LABEL_WIDTH = 9
_SHOWN = 3
_SHOWN_NOTES = 3

Fact = tuple[str, Sequence[str]]


def facts(summary: Summary) -> list[Fact]:
    """Return facts on modes, extremes, asymmetry, losses and gaps, short where all is well."""
    return [
        (
            "modes",
            [f"{rtt_text(mode.rtt_us)} ({share_text(mode.share)})" for mode in summary.modes],
        ),
        ("nearest", _pairs(summary.nearest)),
        ("farthest", _pairs(summary.farthest)),
        ("asymmetry", _asymmetry(summary)),
        ("losses", _losses(summary)),
        ("missing", _missing(summary)),
    ]


def failures(title: str, items: Sequence[Failure]) -> list[Fact]:
    """Return failures by reason, the most frequent first, with examples."""
    if not items:
        return []
    by_reason: dict[str, list[str]] = {}
    for item in items:
        by_reason.setdefault(item.reason, []).append(_ends(item))
    most_first = sorted(by_reason.items(), key=lambda entry: -len(entry[1]))
    lines = [
        printable(f"{', '.join(ends[:_SHOWN])}{_more(len(ends) - _SHOWN)}: {reason}")
        for reason, ends in most_first[:_SHOWN]
    ]
    if len(most_first) > _SHOWN:
        lines.append(format_count(len(most_first) - _SHOWN, "other reason"))
    return [(title, lines)]


def how(measurement: Measurement) -> str:
    """Return the tool, options, time and duration of a measurement in words."""
    # The percentile that is shown stands elsewhere, and may be another than that of the run.
    options = {
        name: value
        for name, value in measurement.options.items()
        if value is not None and name != "percentile"
    }
    parts = [
        f"by {printable(measurement.tool)}" + (f" ({options_text(options)})" if options else "")
    ]
    if measurement.started is not None:
        parts.append(time_text(measurement.started))
    if measurement.seconds:
        parts.append(f"{measurement.seconds:.1f} s")
    return " · ".join(parts)


def notes(measurement: Measurement) -> list[Fact]:
    """Return a measurement's reasons for caution; empty if there are none."""
    lines = [printable(note) for note in measurement.notes[:_SHOWN_NOTES]]
    return [("notes", lines)] if lines else []


def table(rows: Sequence[Fact], separator: str = "\n") -> Table:
    """Return facts in two columns; `separator` joins the lines of one fact."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=LABEL_WIDTH, style="cyan", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, lines in rows:
        # Text, not markup: brackets in a host's name or a reason are just brackets.
        grid.add_row(Text(label), Text(separator.join(lines)))
    return grid


def align_columns(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Return rows as lines with aligned columns.

    Those numbered in `left` are flush left, the others flush right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if number in left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _pairs(pairs: Sequence[Pair]) -> list[str]:
    return [
        f"{rtt_text(pair.rtt_us)} {pair.source} – {pair.destination}" for pair in pairs[:_SHOWN]
    ]


def _asymmetry(summary: Summary) -> list[str]:
    found = summary.asymmetry
    if found is None:
        return ["no pair measured both ways"]
    if not found.worst:
        return ["none"]
    worst = f"worst {share_text(found.worst)} {found.source} → {found.destination}"
    return [f"median {share_text(found.median)}", worst]


def _losses(summary: Summary) -> list[str]:
    if not summary.lost:
        return ["none"]
    share = share_text(summary.lost / summary.sent)
    directions = format_count(summary.lossy_pairs, "direction")
    lines = [f"{summary.lost:,} of {summary.sent:,} ({share}), {directions}"]
    for loss in summary.losses[:_SHOWN]:
        lines.append(f"{loss.lost:,} of {loss.sent:,} {loss.source} → {loss.destination}")
    return lines


def _missing(summary: Summary) -> list[str]:
    missing = summary.pairs - summary.measured
    if not missing:
        return ["none"]
    lines = [f"{missing:,} of {format_count(summary.pairs, 'direction')}"]
    if summary.sample is not None:
        lines.append(f"sampled: {summary.sample}")
    return lines + [f"{gap.pairs:,} with {gap.host}" for gap in summary.gaps[:_SHOWN]]


def _ends(failure: Failure) -> str:
    if failure.destination is None:
        return failure.source
    return f"{failure.source} → {failure.destination}"


def _more(count: int) -> str:
    return f" and {count:,} more" if count > 0 else ""
