"""Printing of a tuned run and of ranks' timelines for `plink show`."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from plink.autotune.log.history import History
from plink.show.tables import Column, Row
from plink.show.terminal.paper import facts_table, print_facts, print_line, print_table
from plink.show.timelines import NAME_COLUMNS, rank_columns, timeline_facts
from plink.show.tuned import decision_columns, numbered_decisions, run_facts
from plink.training.timeline.merging import Timeline
from plink.training.timeline.summary import Summary

# More rows are for the page and for programs.
_SHOWN_DECISIONS = 40
_SHOWN_RANKS = 16
_SHOWN_NAMES = 10


def print_tuned(console: Console, run: History, source: str) -> None:
    """Print a tuned run in a few lines and a table of decisions."""
    print_line(console, f"a tuned run: {source}", "bold")
    print_facts(console, run_facts(run))
    more = "plink report draws all"
    decisions = numbered_decisions(run)
    _print_first(console, decision_columns(run), decisions, _SHOWN_DECISIONS, more)


def print_timeline(console: Console, timeline: Timeline, summary: Summary) -> None:
    """Print the facts of ranks' timelines and tables of ranks and collectives."""
    console.print(facts_table(timeline_facts(timeline, summary)))
    more = "plink report draws them, --json prints them"
    _print_first(console, rank_columns(timeline), summary.ranks, _SHOWN_RANKS, more)
    _print_first(console, NAME_COLUMNS, summary.names, _SHOWN_NAMES, more)


def _print_first(
    console: Console, columns: Sequence[Column[Row]], rows: Sequence[Row], most: int, more: str
) -> None:
    """Print the first rows of a table, and where to find the others."""
    if not rows:
        return
    console.print()
    print_table(console, columns, rows[:most])
    if len(rows) > most:
        print_line(console, f"and {len(rows) - most:,} more: {more}", "dim")
