"""`plink show`: display a cluster, an order, a plan, a comparison, a log or a timeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from plink.base.errors import WrongUseError
from plink.base.text import brief
from plink.cli.json_output import print_json
from plink.cli.options import FiniteRange
from plink.cli.stderr import note


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
    # What prints one kind of file is imported for that kind alone; numpy would slow `--help`.
    from plink.autotune.log import records  # noqa: PLC0415
    from plink.files import cluster, comparison, document, plan  # noqa: PLC0415
    from plink.files import order as order_file  # noqa: PLC0415
    from plink.training.timeline.reading import is_timeline  # noqa: PLC0415

    source = document.label(file)
    content = document.read_content(file)
    if isinstance(content, bytes) and is_timeline(content):
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
    from plink.files import cluster  # noqa: PLC0415
    from plink.files.measurements import readings_at  # noqa: PLC0415
    from plink.show.summary import cluster_to_json, summarise  # noqa: PLC0415
    from plink.show.terminal.cluster import print_cluster  # noqa: PLC0415
    from plink.show.terminal.paper import paper  # noqa: PLC0415

    found = cluster.decode_cluster(data, source)
    summary = None
    if found.rtt is not None:
        chosen, _ = readings_at(found.rtt, percentile, source)
        summary = summarise(found.names, found.rtt, chosen)
    if as_json:
        _print_json(cluster_to_json(found, summary))
    else:
        print_cluster(paper(width), source, found, summary)


def _show_order(data: Mapping[str, Any], source: str, width: int | None, as_json: bool) -> None:
    from plink.files import order as order_file  # noqa: PLC0415
    from plink.optimize.orders.quality import doubt  # noqa: PLC0415
    from plink.show.terminal.order import print_order, print_ranks  # noqa: PLC0415
    from plink.show.terminal.paper import paper  # noqa: PLC0415

    found = order_file.decode_order(data, source)
    if as_json:
        _print_json(order_file.encode_order(found))
        return
    page = paper(width)
    print_order(page.console, found, with_hosts=False)
    if len(found.hosts) > 1:
        print_ranks(page, found)
    if sceptical := doubt(found):
        note(sceptical)


def _show_plan(data: Mapping[str, Any], source: str, width: int | None, as_json: bool) -> None:
    from plink.files import plan  # noqa: PLC0415
    from plink.show.terminal.paper import paper  # noqa: PLC0415
    from plink.show.terminal.plan import describe_plan, print_plan_page  # noqa: PLC0415

    found = plan.decode_plan(data, source, with_servers=True)
    if as_json:
        print_json(describe_plan(found))
    else:
        print_plan_page(paper(width).console, found)


def _show_comparison(
    data: Mapping[str, Any], source: str, width: int | None, as_json: bool
) -> None:
    from plink.bench.table import render  # noqa: PLC0415
    from plink.files import comparison  # noqa: PLC0415
    from plink.show.terminal.paper import paper  # noqa: PLC0415

    found = comparison.decode_comparison(data, source)
    if as_json:
        _print_json(comparison.encode_comparison(found))
    else:
        paper(width).console.print(render(found))


def _show_tuned(content: bytes, source: str, width: int | None, as_json: bool) -> None:
    from plink.autotune.log import records  # noqa: PLC0415
    from plink.autotune.log.history import history_of  # noqa: PLC0415
    from plink.show.terminal.paper import paper  # noqa: PLC0415
    from plink.show.terminal.runs import print_tuned  # noqa: PLC0415
    from plink.show.tuned import tuned_to_json  # noqa: PLC0415

    run = history_of([records.parse(content, source)], with_replay=False)
    if as_json:
        _print_json(tuned_to_json(run))
    else:
        print_tuned(paper(width).console, run, source)


def _show_timeline(content: bytes, source: str, width: int | None, as_json: bool) -> None:
    from plink.show.terminal.paper import paper  # noqa: PLC0415
    from plink.show.terminal.runs import print_timeline  # noqa: PLC0415
    from plink.show.timelines import timeline_to_json  # noqa: PLC0415
    from plink.training.timeline.merging import merge_ranks  # noqa: PLC0415
    from plink.training.timeline.reading import read_ranks  # noqa: PLC0415
    from plink.training.timeline.summary import summary_of  # noqa: PLC0415

    timeline = merge_ranks(read_ranks([(source, content)]))
    summary = summary_of(timeline)
    if as_json:
        _print_json(timeline_to_json(timeline, summary))
    else:
        print_timeline(paper(width).console, timeline, summary)


def _print_json(data: Mapping[str, Any]) -> None:
    from plink.files import document  # noqa: PLC0415

    document.write_bytes(document.STANDARD_STREAM, document.dump(data))
