"""`plink report` behind the command line: read, draw, write."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.console import Console

from plink.autotune.log.history import History
from plink.base.text import counted, printable
from plink.files import document
from plink.show.page.inputs import read_inputs
from plink.show.page.library import plotly_js
from plink.show.page.page import page
from plink.show.page.parts import Section
from plink.show.page.sections import sections_of
from plink.show.page.subject import Subject
from plink.show.page.tuned import tuned_sections


def run(files: Sequence[str], output: str) -> None:
    """Do it.

    Raises:
        WrongUseError: files that are no cluster, order or log, or do not belong together.
        PlinkError: plotly is not installed, or the page cannot be written.
    """
    library = plotly_js()
    document.check_writable(output)
    for path in files:
        document.refuse_same_file(path, output)
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    with console.status("reading"):
        subject = read_inputs(files)
    with console.status("drawing"):
        title, sections = _drawn(subject, [document.label(path) for path in files])
        content = page(title, sections, library).encode()
    document.write_bytes(output, content)
    if output != document.STANDARD_STREAM:
        click.echo(f"{printable(output)}: {len(content) / 1e6:.1f} MB", err=True)


def _drawn(subject: Subject | History, sources: Sequence[str]) -> tuple[str, list[Section]]:
    """Title and sections."""
    if isinstance(subject, History):
        hosts = counted(len(subject.hosts), "host")
        title = f"plink autotune: {', '.join(sources)}, {hosts}"
        return title, tuned_sections(subject, sources)
    source = subject.source or ", ".join(named.source for named in subject.orders)
    return f"plink: {source}, {counted(len(subject.names), 'host')}", sections_of(subject)
