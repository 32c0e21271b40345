"""`plink timeline`: merge the timelines of ranks into one trace, and show who waits for whom."""

from __future__ import annotations

import click

from plink.base.lazy import lazy_imports
from plink.cli.json_output import check_output, json_option, print_json

with lazy_imports():
    from plink.formats import document
    from plink.show import timelines
    from plink.show.terminal import paper, runs
    from plink.training.timeline import merging, one_trace, reading
    from plink.training.timeline import summary as timeline_summary


@click.command(epilog="Example: plink timeline traces/*.json -o trace.json")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write all events as one Chrome trace by one clock, for Perfetto or chrome://tracing; - "
    "for standard output.",
)
@click.option(
    "--width", type=click.IntRange(40, 500), help="Columns to use (default: the terminal's)."
)
@json_option("Print the summary as JSON.")
def command(files: tuple[str, ...], output: str | None, width: int | None, as_json: bool) -> None:
    """Merge the timelines of ranks, and show which ranks others waited for.

    FILEs are those that the ranks of one group wrote, with PLINK_TIMELINE or
    Control(timeline=...), all or some of them, also of ranks that were killed; or one that was
    merged. A rank is last where it announced a collective after all others.
    """
    check_output(output, "the trace", *files, as_json=as_json)
    contents = [(document.label(path), document.read_bytes(path)) for path in files]
    timeline = merging.merge_ranks(reading.read_ranks(contents))
    summary = timeline_summary.summary_of(timeline)
    if output is not None:
        document.write_bytes(output, b"".join(one_trace.one_trace(contents, timeline)))
    if as_json:
        print_json(timelines.describe_timeline(timeline, summary))
    elif output != document.STANDARD_STREAM:
        runs.print_timeline(paper.paper(width).console, timeline, summary)
