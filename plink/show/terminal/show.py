"""`plink show` behind the command line: recognise a file and print its page or its statistics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from plink.autotune.log import autotune_log
from plink.autotune.log.history import history_of
from plink.base.errors import WrongUseError
from plink.bench.comparison.table import render as render_comparison
from plink.files import cluster, document, order_file
from plink.files import comparison as comparison_file
from plink.files import plan as plan_file
from plink.files.order import Order
from plink.files.rtt import readings_at
from plink.optimize.orders.quality import doubt
from plink.show.terminal.bandwidth import bandwidth_to_json
from plink.show.terminal.order import print_order
from plink.show.terminal.page import print_cluster
from plink.show.terminal.paper import paper
from plink.show.terminal.plan_page import plan_to_json, print_plan_page
from plink.show.terminal.ranks import print_ranks
from plink.show.terminal.routes import routes_to_json
from plink.show.terminal.summary import summarise, to_json
from plink.show.terminal.tuned import print_tuned_page, tuned_to_json


def show(path: str, *, percentile: float | None, width: int | None, as_json: bool) -> None:
    """Print what the file at `path` holds.

    Args:
        path: a file of plink's, or `-`.
        percentile: which one to show of a cluster, or None for the one that stands for a pair.
        width: of the page, in columns, or None for the terminal's.
        as_json: print statistics as JSON instead.

    Raises:
        WrongUseError: the file is wrong or of a format without a page, or lacks the percentile.
    """
    source = document.label(path)
    content = document.read_bytes(path)
    if autotune_log.is_log(content):
        if percentile is not None:
            raise WrongUseError(f"{source}: --percentile is for cluster files")
        _show_tuned(content, source, width, as_json)
        return
    data = document.parse(content, source)
    found = data.get("format")
    if found == cluster.FORMAT:
        _show_cluster(cluster.from_json(data, source), source, percentile, width, as_json)
    elif found == order_file.FORMAT:
        if percentile is not None:
            raise WrongUseError(f"{source}: --percentile is for cluster files")
        _show_order(order_file.from_json(data, source), width, as_json)
    elif found == plan_file.FORMAT:
        if percentile is not None:
            raise WrongUseError(f"{source}: --percentile is for cluster files")
        _show_plan(plan_file.from_json(data, source), width, as_json)
    elif found == comparison_file.FORMAT:
        if percentile is not None:
            raise WrongUseError(f"{source}: --percentile is for cluster files")
        _show_comparison(comparison_file.from_json(data, source), width, as_json)
    else:
        named = f"a {document.brief(found)} file" if isinstance(found, str) else "no plink file"
        raise WrongUseError(
            f"{source}: is {named}",
            "plink show takes cluster, order, plan and comparison files, and autotune's logs",
        )


def _show_cluster(
    found: cluster.Cluster, source: str, percentile: float | None, width: int | None, as_json: bool
) -> None:
    summary = None
    if found.rtt is not None:
        chosen, _ = readings_at(found.rtt, percentile, source)
        summary = summarise(found.names, found.rtt, chosen)
    if as_json:
        _print_json(to_json(found, summary) | bandwidth_to_json(found) | routes_to_json(found))
    else:
        print_cluster(paper(width), source, found, summary)


def _show_order(found: Order, width: int | None, as_json: bool) -> None:
    if as_json:
        _print_json(order_file.to_json(found))
        return
    page = paper(width)
    print_order(page.console, found, with_hosts=False)
    if len(found.hosts) > 1:
        print_ranks(page, found)
    sceptical = doubt(found)
    if sceptical:
        click.echo(f"note: {sceptical}", err=True)


def _show_plan(found: plan_file.Plan, width: int | None, as_json: bool) -> None:
    if as_json:
        _print_json(plan_to_json(found))
    else:
        print_plan_page(paper(width).console, found)


def _show_comparison(found: comparison_file.Comparison, width: int | None, as_json: bool) -> None:
    if as_json:
        _print_json(comparison_file.to_json(found))
    else:
        paper(width).console.print(render_comparison(found))


def _show_tuned(content: bytes, source: str, width: int | None, as_json: bool) -> None:
    run = history_of([autotune_log.parse(content, source)], with_replay=False)
    if as_json:
        _print_json(tuned_to_json(run))
    else:
        print_tuned_page(paper(width).console, run, source)


def _print_json(data: Mapping[str, Any]) -> None:
    document.write_bytes(document.STANDARD_STREAM, document.dump(data))
