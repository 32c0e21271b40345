"""`plink show`: display a cluster, an order, a plan, a comparison, a log or a timeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import click

from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.text import brief
from plink.cli.json_output import json_option, print_json
from plink.cli.options import FiniteRange
from plink.cli.stderr import note

with lazy_imports():
    from plink.autotune.log import history, records
    from plink.formats import cluster, comparison, document, measurements, structs, unpacking
    from plink.formats import order as order_file
    from plink.formats import plan as plan_file
    from plink.optimize.orders import quality
    from plink.show import summary as show_summary
    from plink.show import timelines, tuned
    from plink.show.terminal import cluster as cluster_page
    from plink.show.terminal import comparison as comparison_page
    from plink.show.terminal import order as order_page
    from plink.show.terminal import paper, runs
    from plink.show.terminal import plan as plan_page
    from plink.training.timeline import merging, reading
    from plink.training.timeline import summary as timeline_summary


@click.command(epilog="Example: plink show cluster.json --percentile 50")
@click.argument("file", metavar="FILE")
@click.option("--percentile", type=FiniteRange(0, 100), help="Percentile to show.")
@click.option(
    "--width", type=click.IntRange(40, 500), help="Columns to use (default: the terminal's)."
)
@json_option("Print summary statistics as JSON.")
def command(file: str, percentile: float | None, width: int | None, as_json: bool) -> None:
    """Display a cluster, order, plan or comparison file, a log of plink autotune, or a timeline.

    `-` is standard input.

    A cluster's hosts are sorted so that near ones stand together. In its picture a row is a
    source, a column a destination, and bright is near.
    """
    view = _choose_view(document.read_content(file), document.label(file), percentile)
    if as_json:
        print_json(view.describe())
    else:
        view.print_on(paper.paper(width))


class _View(NamedTuple):
    """Functions that show a file: one returns its JSON, the other prints it."""

    describe: Callable[[], Any]
    print_on: Callable[[paper.Paper], None]


def _choose_view(content: unpacking.Content, source: str, percentile: float | None) -> _View:
    """Return the functions that show a file's content, by its format; raise for an unknown one."""
    is_timeline = isinstance(content, bytes) and reading.is_timeline(content)
    is_log = isinstance(content, bytes) and records.is_log(content)
    data = {} if is_timeline or is_log else document.load_document(content, source).data
    found = data.get("format")
    if percentile is not None and found != cluster.FORMAT:
        raise WrongUseError(f"{source}: --percentile applies only to cluster files")
    if is_timeline:
        return _view_timeline(bytes(content), source)
    if is_log:
        run = history.history_of([records.parse(bytes(content), source)], with_replay=False)
        return _View(
            lambda: tuned.describe_tuned(run),
            lambda page: runs.print_tuned(page.console, run, source),
        )
    if found == cluster.FORMAT:
        return _view_cluster(cluster.decode_cluster(data, source), source, percentile)
    if found == order_file.FORMAT:
        order = order_file.decode_order(data, source)
        return _View(lambda: structs.encode(order), lambda page: _print_order(page, order))
    if found == plan_file.FORMAT:
        plan = plan_file.decode_plan(data, source, with_servers=True)
        return _View(
            lambda: plan_page.describe_plan(plan),
            lambda page: plan_page.print_plan_page(page.console, plan),
        )
    if found == comparison.FORMAT:
        compared = comparison.decode_comparison(data, source)
        return _View(
            lambda: structs.encode(compared),
            lambda page: comparison_page.print_comparison(page.console, compared),
        )
    what_it_is = f"a {brief(found)} file" if isinstance(found, str) else "not a plink file"
    raise WrongUseError(
        f"{source}: is {what_it_is}, and cannot be shown",
        "plink show reads cluster, order, plan and comparison files, logs and timelines",
    )


def _view_cluster(found: cluster.Cluster, source: str, percentile: float | None) -> _View:
    summary = None
    if found.rtt is not None:
        chosen, _ = measurements.readings_at(found.rtt, percentile, source)
        summary = show_summary.summarise(found.names, found.rtt, chosen)
    return _View(
        lambda: show_summary.cluster_to_json(found, summary),
        lambda page: cluster_page.print_cluster(page, source, found, summary),
    )


def _view_timeline(content: bytes, source: str) -> _View:
    timeline = merging.merge_ranks(reading.read_ranks([(source, content)]))
    summary = timeline_summary.summary_of(timeline)
    return _View(
        lambda: timelines.describe_timeline(timeline, summary),
        lambda page: runs.print_timeline(page.console, timeline, summary),
    )


def _print_order(page: paper.Paper, found: order_file.Order) -> None:
    order_page.print_order(page.console, found, with_hosts=False)
    if len(found.hosts) > 1:
        order_page.print_ranks(page, found)
    if sceptical := quality.doubt(found):
        note(sceptical)
