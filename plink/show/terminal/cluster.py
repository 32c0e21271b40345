"""Printing of a cluster file for `plink show`: measurement, heat map and facts."""

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
from plink.show import facts
from plink.show.advice import next_steps
from plink.show.groups import group_lines
from plink.show.modes import histogram_line
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
    paper: Paper, source: str, cluster: Cluster, summary: Summary | None, *, with_next: bool = True
) -> None:
    """Print what `plink show` says about a cluster file, and what to run next if `with_next`."""
    console, rtt = paper.console, cluster.rtt
    console.print(_title(source, cluster, summary))
    if outlying := sentences(outliers(cluster)):
        print_facts(console, [("outliers", outlying)])
    if rtt is None or summary is None:
        console.print("no round-trip times in this file")
    else:
        by = f"{summary.percentile} {facts.describe_measurement(rtt)}"
        print_line(console, by, "dim")
        console.print()
        if summary.measured:
            shown = replace(rtt, reading=summary.reading)
            measured = replace(cluster, rtt=shown)
            _print_picture(paper, measured, shown.readings_us, facts.rtt_facts(summary))
        else:
            console.print("no pair of hosts was measured")
    doubts = facts.failure_facts("no answer", cluster.unreachable)
    if rtt is not None:
        doubts += facts.doubt_facts(rtt)
    steps = next_steps(cluster, source)[:1] if with_next else []
    print_facts(console, doubts + [("next", [step.line]) for step in steps])
    if cluster.grouping is not None:
        known = capacity(cluster, cluster.groups)
        _print_block(paper, group_lines(cluster, known, console.width))
    print_facts(console, facts.bandwidth_facts(cluster))
    _print_block(paper, facts.uplink_lines(cluster))
    if cluster.uplinks is not None and (rows := facts.doubt_facts(cluster.uplinks)):
        console.print(facts_table(rows))
    print_facts(console, facts.route_facts(cluster))


def _print_block(paper: Paper, lines: Sequence[str]) -> None:
    """Print lines below an empty line; nothing if there are none."""
    if lines:
        paper.console.print()
    for line in lines:
        paper.console.print(Text(line))


def _print_picture(
    paper: Paper, cluster: Cluster, readings_us: Matrix, rows: Sequence[Fact]
) -> None:
    """Print the heat map, with the facts beside it where there is room, else below it."""
    console, names = paper.console, cluster.names
    values = facts.known_values(readings_us)
    scale = scale_for(values)
    order = seriation.seriate(distances(cluster).matrix_us)
    picture = heatmap.draw(
        readings_us, names, order, scale, width=console.width, shades=paper.shades
    )
    room = console.width - picture.width - _GUTTER
    is_beside = room >= _MIN_FACTS_WIDTH
    width = min(room if is_beside else console.width, _MAX_FACTS_WIDTH)
    # A histogram between its end labels.
    least, largest = rtt_text(float(values.min())), rtt_text(float(values.max()))
    bars = max(1, width - LABEL_WIDTH - len(least) - len(largest) - 3)
    histogram = f"{least} {histogram_line(values, bars)} {largest}"
    table = facts_table([("distances", [histogram]), *rows], "\n" if is_beside else " · ")
    if is_beside:
        grid = Table.grid(padding=(0, _GUTTER, 0, 0))
        grid.add_column(width=picture.width, no_wrap=True)
        grid.add_column(width=width)
        grid.add_row(Group(*picture.lines), table)
        console.print(grid)
    else:
        console.print(Group(*picture.lines))
    has_gaps = values.size < len(names) * (len(names) - 1)
    console.print(heatmap.legend(scale, has_gaps=has_gaps, shades=paper.shades))
    if picture.hosts_per_cell > 1:
        size = picture.hosts_per_cell
        text = f"a cell is the median of {size} x {size} hosts, named by the first of its row"
        print_line(console, text, "dim")
    if not is_beside:
        console.print()
        console.print(table)


def _title(source: str, cluster: Cluster, summary: Summary | None) -> Text:
    text = Text(printable(source), style="bold")
    text.append(f"  {format_count(len(cluster.hosts), 'host')}")
    if cluster.unreachable:
        text.append(f", {len(cluster.unreachable):,} unreachable", "bold red")
    if summary is not None:
        directions = format_count(summary.pairs, "direction")
        text.append(f", {summary.measured:,} of {directions} measured")
        if summary.sample is not None:
            text.append(f" (sampled: {summary.sample})")
    return text
