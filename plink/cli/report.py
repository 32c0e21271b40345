"""`plink report`: pictures of a cluster and its orders as one page of HTML."""

from __future__ import annotations

import click


@click.command(epilog="Example: plink report cluster.json order.json -o report.html")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="The page to write; - for standard output.",
)
def command(files: tuple[str, ...], output: str) -> None:
    """Draw a cluster file and orders made from it, or a log of plink autotune, as a page of HTML.

    The page needs no network: heat map, groups, a map of the hosts, what orders cost, rings, and
    how good the measurement is, with what to do next. Of the logs of a run (FILE.1 and FILE):
    throughput, load and decisions over time. `-`: standard input. Needs the extra `report`
    (plotly).
    """
    from plink.cli.report_action import run  # noqa: PLC0415  numpy would slow `--help`

    run(files, output)
