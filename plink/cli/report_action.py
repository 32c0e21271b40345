"""`plink report` behind the command line: read, draw, write."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.console import Console

from plink.files import document
from plink.report.inputs import read_subject
from plink.report.library import plotly_js
from plink.report.page import page
from plink.report.sections import sections_of
from plink.view.text import counted, printable


def run(files: Sequence[str], output: str) -> None:
    """Do it.

    Raises:
        WrongUseError: files that are no cluster or order, or not of one cluster.
        PlinkError: plotly is not installed, or the page cannot be written.
    """
    library = plotly_js()
    document.check_writable(output)
    for path in files:
        document.refuse_same_file(path, output)
    subject = read_subject(files)
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    with console.status("drawing"):
        source = subject.source or ", ".join(named.source for named in subject.orders)
        title = f"plink: {source}, {counted(len(subject.names), 'host')}"
        content = page(title, sections_of(subject), library).encode()
    document.write_bytes(output, content)
    if output != document.STANDARD_STREAM:
        click.echo(f"{printable(output)}: {len(content) / 1e6:.1f} MB", err=True)
