"""`plink report`: draw a cluster and orders, an autotune log, or timelines as one HTML page."""

from __future__ import annotations

import click

from plink.base.lazy import lazy_imports
from plink.base.text import printable
from plink.cli.json_output import check_output, json_option, print_json
from plink.cli.stderr import console

with lazy_imports():
    from plink.formats import document
    from plink.show.page import html, parts, report
    from plink.show.page import subject as page_subject


@click.command(epilog="Example: plink report cluster.json order.json -o report.html")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="HTML file to write; - for standard output.",
)
@json_option("Print the page's content as JSON.")
def command(files: tuple[str, ...], output: str, *, as_json: bool) -> None:
    """Draw a cluster file and orders made from it, a tuned run, or timelines, as a page of HTML.

    The page needs no network. It begins with what was found and what to do; then distances,
    bandwidth and what it limits, groups, what orders cost, rings, and how good the measurement is.
    For the logs of plink autotune (FILE.1 and FILE): throughput, load and decisions over time.
    For the timelines of ranks: who kept whom waiting, and an iteration. `-`: standard input.
    """
    library = html.plotly_js()
    check_output(output, "the page", *files, as_json=as_json)
    stderr = console()
    with stderr.status("reading"):
        subject = page_subject.read_inputs(files)
    with stderr.status("drawing"):
        title, sections = report.report(subject, page_subject.shown_sources(files))
        content = html.page(title, sections, library).encode()
    document.write_bytes(output, content)
    if as_json:
        print_json(parts.outline(output, len(content), title, sections))
    if output != document.STANDARD_STREAM:
        click.echo(f"{printable(output)}: {len(content) / 1e6:.1f} MB", err=True)
