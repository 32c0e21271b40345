"""The algorithms that `plink order` and `plink predict` know, as a table."""

from __future__ import annotations

from rich.table import Table

from plink.show.terminal.paper import paper
from solvers.collectives.registry import ALGORITHMS


def print_algorithms() -> None:
    """Print a line an algorithm: its name, and what it is."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column("name", no_wrap=True, style="bold")
    table.add_column("about")
    for name, algorithm in ALGORITHMS.items():
        table.add_row(name, algorithm.about)
    paper(None).console.print(table)
