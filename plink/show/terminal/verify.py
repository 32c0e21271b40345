"""An order beside what a launcher made of it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from plink.base.text import printable
from plink.deploy.verify import PlacedRank

_MAX_ROWS = 40


def comparison(launcher: str, ranks: Sequence[PlacedRank], cause: str | None) -> RenderableType:
    """One line where the order was kept, else the ranks that are elsewhere, and why."""
    moved = [rank for rank in ranks if not rank.is_kept]
    hosts = len({rank.expected for rank in ranks})
    if not moved:
        return Text(f"{launcher} keeps the order: {len(ranks)} ranks on {hosts} hosts")
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("rank", justify="right")
    table.add_column("order")
    table.add_column("launcher")
    for rank in moved[:_MAX_ROWS]:
        table.add_row(str(rank.rank), printable(rank.expected), printable(rank.found))
    parts: list[RenderableType] = [
        Text(f"{launcher} does not keep the order: {len(moved)} of {len(ranks)} ranks moved"),
        table,
    ]
    if len(moved) > _MAX_ROWS:
        parts.append(Text(f"and {len(moved) - _MAX_ROWS} more; --json prints all"))
    parts.append(Text(printable(f"why: {cause or 'no known reason'}")))
    return Group(*parts)
