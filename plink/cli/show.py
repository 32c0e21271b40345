"""`plink show`: display a cluster, an order, a plan, a comparison, a log or a timeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.text import brief
from plink.cli.json_output import print_json
from plink.cli.options import FiniteRange
from plink.cli.stderr import note

with lazy_imports():
    from plink.autotune.log import history, records
    from plink.bench import table
    from plink.formats import cluster, comparison, document, measurements, plan, structs
    from plink.formats import order as order_file
    from plink.optimize.orders import quality
    from plink.show import summary as show_summary
    from plink.show import timelines, tuned
    from plink.show.terminal import cluster as cluster_page
    from plink.show.terminal import order, paper, runs
    from plink.show.terminal import plan as plan_page
    from plink.training.timeline import merging, reading
    from plink.training.timeline import summary as timeline_summary


@click.command(epilog="Example: plink show cluster.json --percentile 50")
@click.argument("file", metavar="FILE")
@click.option("--percentile", type=FiniteRange(0, 100), help="Percentile to show.")
@click.option(
    "--width", type=click.IntRange(40, 500), help="Columns to use (default: the terminal's)."
)
@click.option("--json", "as_json", is_flag=True, help="Print summary statistics as JSON.")
def command(file: str, percentile: float | None, width: int | None, as_json: bool) -> None:
    """Display a cluster, order, plan or comparison file, a log of plink autotune, or a timeline.

    `-` is standard input.

    A cluster's hosts are sorted so that near ones stand together. In its picture a row is a
    source, a column a destination, and bright is near.
    """
    source = document.label(file)
    content = document.read_content(file)
    if isinstance(content, bytes) and reading.is_timeline(content):
        if percentile is not None:
            raise WrongUseError(f"{source}: --percentile applies only to cluster files")
        _show_timeline(content, source, width, as_json)
        return
    is_log = isinstance(content, bytes) and records.is_log(content)
    data = {} if is_log else document.load_document(content, source).data
    found = data.get("format")
    if percentile is not None and (
        is_log or found in (order_file.FORMAT, plan.FORMAT, comparison.FORMAT)
    ):
        raise WrongUseError(f"{source}: --percentile applies only to cluster files")
    if isinstance(content, bytes) and is_log:
        _show_tuned(content, source, width, as_json)
    elif found == cluster.FORMAT:
        _show_cluster(data, source, percentile, width, as_json)
    elif found == order_file.FORMAT:
        _show_order(data, source, width, as_json)
    elif found == plan.FORMAT:
        _show_plan(data, source, width, as_json)
    elif found == comparison.FORMAT:
        _show_comparison(data, source, width, as_json)
    else:
        named = f"a {brief(found)} file" if isinstance(found, str) else "not a plink file"
        raise WrongUseError(
            f"{source}: is {named}",
            "plink show reads cluster, order, plan and comparison files, logs and timelines",
        )


def _show_cluster(
    data: Mapping[str, Any], source: str, percentile: float | None, width: int | None, as_json: bool
) -> None:

    found = cluster.decode_cluster(data, source)
    summary = None
    if found.rtt is not None:
        chosen, _ = measurements.readings_at(found.rtt, percentile, source)
        summary = show_summary.summarise(found.names, found.rtt, chosen)
    if as_json:
        print_json(show_summary.cluster_to_json(found, summary))
    else:
        cluster_page.print_cluster(paper.paper(width), source, found, summary)


def _show_order(data: Mapping[str, Any], source: str, width: int | None, as_json: bool) -> None:

    found = order_file.decode_order(data, source)
    if as_json:
        print_json(structs.encode(found))
        return
    page = paper.paper(width)
    order.print_order(page.console, found, with_hosts=False)
    if len(found.hosts) > 1:
        order.print_ranks(page, found)
    if sceptical := quality.doubt(found):
        note(sceptical)


def _show_plan(data: Mapping[str, Any], source: str, width: int | None, as_json: bool) -> None:

    found = plan.decode_plan(data, source, with_servers=True)
    if as_json:
        print_json(plan_page.describe_plan(found))
    else:
        plan_page.print_plan_page(paper.paper(width).console, found)


def _show_comparison(
    data: Mapping[str, Any], source: str, width: int | None, as_json: bool
) -> None:

    found = comparison.decode_comparison(data, source)
    if as_json:
        print_json(structs.encode(found))
    else:
        paper.paper(width).console.print(table.render(found))


def _show_tuned(content: bytes, source: str, width: int | None, as_json: bool) -> None:

    run = history.history_of([records.parse(content, source)], with_replay=False)
    if as_json:
        print_json(tuned.describe_tuned(run))
    else:
        runs.print_tuned(paper.paper(width).console, run, source)


def _show_timeline(content: bytes, source: str, width: int | None, as_json: bool) -> None:

    timeline = merging.merge_ranks(reading.read_ranks([(source, content)]))
    summary = timeline_summary.summary_of(timeline)
    if as_json:
        print_json(timelines.describe_timeline(timeline, summary))
    else:
        runs.print_timeline(paper.paper(width).console, timeline, summary)
