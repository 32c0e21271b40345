"""Text output of outlying hosts."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from plink.base.text import printable
from plink.show.terminal import facts


def print_outliers(console: Console, lines: Sequence[str]) -> None:
    """Print a sentence about each outlying host."""
    if lines:
        console.print()
        console.print(facts.table([("outliers", [printable(line) for line in lines])]))
