"""`plink show` behind the command line: recognise a file and print its page or its statistics."""

from __future__ import annotations

import click

from plink.errors import WrongUseError
from plink.files import cluster, document
from plink.view.page import print_cluster
from plink.view.paper import paper
from plink.view.summary import summarise, to_json


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
    data = document.parse(document.read_bytes(path), source)
    found = data.get("format")
    if found == cluster.FORMAT:
        _show_cluster(cluster.from_json(data, source), source, percentile, width, as_json)
    else:
        raise WrongUseError(
            f"{source}: {document.brief(found)} is no format that show knows",
            "it shows cluster and order files; `plink import` reads CSV",
        )


def _show_cluster(
    found: cluster.Cluster, source: str, percentile: float | None, width: int | None, as_json: bool
) -> None:
    summary = None
    if found.rtt is not None:
        chosen, _ = cluster.readings_at(found.rtt, percentile, source)
        summary = summarise(found.names, found.rtt, chosen)
    if as_json:
        click.echo(document.dump(to_json(found, summary)), nl=False)
    else:
        print_cluster(paper(width), source, found, summary)
