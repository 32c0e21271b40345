"""Page of a cluster file: hosts, measurement, heat map and facts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from plink.base.replacing import replace
from plink.base.text import format_count, printable, rtt_text
from plink.files.cluster import Cluster
from plink.files.matrices import Matrix
from plink.files.measurements import percentile_name
from plink.model.distance import distances
from plink.model.network import capacity
from plink.model.outliers import outliers, sentences
from plink.show.terminal import facts, heatmap
from plink.show.terminal.bandwidth import bandwidth_facts, uplink_facts, uplink_lines
from plink.show.terminal.groups import group_lines, grouping_lines
from plink.show.terminal.modes import Vector, histogram_line
from plink.show.terminal.next_steps import next_steps
from plink.show.terminal.outliers import print_outliers
from plink.show.terminal.paper import Paper
from plink.show.terminal.routes import route_facts
from plink.show.terminal.scale import scale_for
from plink.show.terminal.summary import Summary
from plink.solvers.linkages import seriate

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
    """Print the page of a cluster.

    Args:
        paper: where.
        source: what messages call its file.
        cluster: what is shown.
        summary: summary of its round-trip times; None where it holds none.
        with_next: say which command to run next on that file.
    """
    console, rtt = paper.console, cluster.rtt
    console.print(_title(source, cluster, summary))
    print_outliers(console, sentences(outliers(cluster)))
    if rtt is None or summary is None:
        console.print("no round-trip times in this file")
        _print_doubts(console, cluster, source if with_next else None)
        _print_groups(console, cluster)
        _print_bandwidth(console, cluster)
        _print_routes(console, cluster)
        return
    by = f"{percentile_name(summary.percentile)} {facts.how(rtt)}"
    console.print(Text(by, style="dim"))
    console.print()
    if summary.measured:
        shown = replace(rtt, reading=summary.percentile)
        _print_picture(paper, replace(cluster, rtt=shown), shown.readings_us, facts.facts(summary))
    else:
        console.print("no pair of hosts was measured")
    _print_doubts(console, cluster, source if with_next else None)
    _print_groups(console, cluster)
    _print_bandwidth(console, cluster)
    _print_routes(console, cluster)


def _print_picture(
    paper: Paper, cluster: Cluster, readings_us: Matrix, rows: Sequence[facts.Fact]
) -> None:
    console, names = paper.console, cluster.names
    values = readings_us[np.isfinite(readings_us)]
    scale = scale_for(values)
    order = seriate(distances(cluster).matrix_us)
    picture = heatmap.draw(
        readings_us, names, order, scale, width=console.width, shades=paper.shades
    )
    room = console.width - picture.width - _GUTTER
    is_beside = room >= _MIN_FACTS_WIDTH
    facts_width = min(room, _MAX_FACTS_WIDTH) if is_beside else console.width
    histogram = _histogram(values, min(facts_width, _MAX_FACTS_WIDTH) - facts.LABEL_WIDTH - 1)
    table = facts.table([("distances", [histogram]), *rows], "\n" if is_beside else " · ")
    lines = Group(*picture.lines)
    console.print(_side_by_side(lines, picture.width, table, facts_width) if is_beside else lines)
    has_gaps = values.size < len(names) * (len(names) - 1)
    console.print(heatmap.legend(scale, has_gaps=has_gaps, shades=paper.shades))
    if picture.hosts_per_cell > 1:
        size = picture.hosts_per_cell
        text = f"a cell is the median of {size} x {size} hosts, named by the first of its row"
        console.print(Text(text, style="dim"))
    if not is_beside:
        console.print()
        console.print(table)


def _histogram(values_us: Vector, width: int) -> str:
    """Return a histogram between its end labels, in at most `width` columns."""
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


def _print_groups(console: Console, cluster: Cluster) -> None:
    """Print the groups, or why there are none."""
    if cluster.grouping is None:
        return
    known = capacity(cluster, cluster.groups)
    lines = group_lines(cluster, known, console.width)
    if lines := lines or grouping_lines(cluster, cluster.grouping):
        console.print()
        for line in lines:
            console.print(Text(line))


def _print_bandwidth(console: Console, cluster: Cluster) -> None:
    if rows := bandwidth_facts(cluster):
        console.print()
        console.print(facts.table(rows))
    if lines := uplink_lines(cluster):
        console.print()
        for line in lines:
            console.print(Text(line))
    if rows := uplink_facts(cluster):
        console.print(facts.table(rows))


def _print_routes(console: Console, cluster: Cluster) -> None:
    if rows := route_facts(cluster):
        console.print()
        console.print(facts.table(rows))


def _print_doubts(console: Console, cluster: Cluster, source: str | None) -> None:
    """Print failures, reasons for caution and the next steps."""
    rows = facts.failures("no answer", cluster.unreachable)
    if cluster.rtt is not None:
        rows += facts.failures("failed", cluster.rtt.failures)
        rows += facts.notes(cluster.rtt)
    for step in () if source is None else next_steps(cluster, source)[:1]:
        rows.append(("next", [printable(f"{step.why}: {step.command}")]))
    if rows:
        console.print()
        console.print(facts.table(rows))
