"""What `plink show` prints about a cluster file: measurement, heat map and facts."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from plink.base.lazy import lazy_imports
from plink.base.replacing import replace
from plink.base.text import format_count, printable, rtt_text
from plink.formats.cluster import Cluster
from plink.formats.matrices import Matrix
from plink.model.distance import distances
from plink.model.network import capacity
from plink.model.outliers import outliers, sentences
from plink.show.advice import next_steps
from plink.show.facts import (
    bandwidth_facts,
    describe_measurement,
    failure_facts,
    known_values,
    note_facts,
    route_facts,
    rtt_facts,
    uplink_facts,
    uplink_lines,
)
from plink.show.groups import group_lines
from plink.show.modes import Vector, histogram_line
from plink.show.scale import scale_for
from plink.show.summary import Summary
from plink.show.tables import Fact
from plink.show.terminal import heatmap
from plink.show.terminal.paper import LABEL_WIDTH, Paper, facts_table, print_facts, print_line

with lazy_imports():
    from plink.solvers import seriation

_GUTTER = 2
_MIN_FACTS_WIDTH = 32
_MAX_FACTS_WIDTH = 56


def print_cluster(
    paper: Paper,
    source: str,
    cluster: Cluster,
    summary: Summary | None,
    *,
    with_next: bool = True,
) -> None:
    """Print what `plink show` says about a cluster file.

    Args:
        paper: where to print.
        source: the cluster's file, as messages call it.
        cluster: hosts and what was measured.
        summary: statistics of its round-trip times; None where it holds none.
        with_next: whether to name the command to run next on that file.
    """
    console, rtt = paper.console, cluster.rtt
    console.print(_title(source, cluster, summary))
    if outlying := sentences(outliers(cluster)):
        print_facts(console, [("outliers", outlying)])
    if rtt is None or summary is None:
        console.print("no round-trip times in this file")
    else:
        by = f"{summary.percentile} {describe_measurement(rtt)}"
        print_line(console, by, "dim")
        console.print()
        if summary.measured:
            shown = replace(rtt, reading=summary.reading)
            measured = replace(cluster, rtt=shown)
            _print_picture(paper, measured, shown.readings_us, rtt_facts(summary))
        else:
            console.print("no pair of hosts was measured")
    print_facts(console, _doubts(cluster, source if with_next else None))
    if cluster.grouping is not None:
        known = capacity(cluster, cluster.groups)
        _print_block(paper, group_lines(cluster, known, console.width))
    print_facts(console, bandwidth_facts(cluster))
    _print_block(paper, uplink_lines(cluster))
    if rows := uplink_facts(cluster):
        console.print(facts_table(rows))
    print_facts(console, route_facts(cluster))


def _print_block(paper: Paper, lines: Sequence[str]) -> None:
    """Print lines below an empty line; nothing if there are none."""
    if lines:
        paper.console.print()
    for line in lines:
        paper.console.print(Text(line))


def _doubts(cluster: Cluster, source: str | None) -> list[Fact]:
    """Return lines on failures and reasons for caution, with the next step to take."""
    rows = failure_facts("no answer", cluster.unreachable)
    if cluster.rtt is not None:
        rows += failure_facts("failed", cluster.rtt.failures) + note_facts(cluster.rtt)
    steps = [] if source is None else next_steps(cluster, source)
    return rows + [("next", [step.line]) for step in steps[:1]]


def _print_picture(
    paper: Paper, cluster: Cluster, readings_us: Matrix, rows: Sequence[Fact]
) -> None:
    console, names = paper.console, cluster.names
    values = known_values(readings_us)
    scale = scale_for(values)
    order = seriation.seriate(distances(cluster).matrix_us)
    picture = heatmap.draw(
        readings_us, names, order, scale, width=console.width, shades=paper.shades
    )
    room = console.width - picture.width - _GUTTER
    is_beside = room >= _MIN_FACTS_WIDTH
    facts_width = min(room, _MAX_FACTS_WIDTH) if is_beside else console.width
    histogram = _histogram(values, min(facts_width, _MAX_FACTS_WIDTH) - LABEL_WIDTH - 1)
    table = facts_table([("distances", [histogram]), *rows], "\n" if is_beside else " · ")
    lines = Group(*picture.lines)
    console.print(_side_by_side(lines, picture.width, table, facts_width) if is_beside else lines)
    has_gaps = values.size < len(names) * (len(names) - 1)
    console.print(heatmap.legend(scale, has_gaps=has_gaps, shades=paper.shades))
    if picture.hosts_per_cell > 1:
        size = picture.hosts_per_cell
        text = f"a cell is the median of {size} x {size} hosts, named by the first of its row"
        print_line(console, text, "dim")
    if not is_beside:
        console.print()
        console.print(table)


def _histogram(values_us: Vector, width: int) -> str:
    """Return a one-line histogram of distances between its end labels."""
    least, largest = (rtt_text(float(end)) for end in (values_us.min(), values_us.max()))
    bars = histogram_line(values_us, max(1, width - len(least) - len(largest) - 2))
    return f"{least} {bars} {largest}"


def _side_by_side(left: Group, left_width: int, right: Table, right_width: int) -> Table:
    grid = Table.grid(padding=(0, _GUTTER, 0, 0))
    grid.add_column(width=left_width, no_wrap=True)
    grid.add_column(width=right_width)
    grid.add_row(left, right)
    return grid


def _title(source: str, cluster: Cluster, summary: Summary | None) -> Text:
    text = Text(printable(source), style="bold")
    text.append(f"  {format_count(len(cluster.hosts), 'host')}")
    if cluster.unreachable:
        text.append(f", {len(cluster.unreachable):,} unreachable", "bold red")
    if summary is not None:
        text.append(
            f", {summary.measured:,} of {format_count(summary.pairs, 'direction')} measured"
        )
        if summary.sample is not None:
            text.append(f" (sampled: {summary.sample})")
    return text
