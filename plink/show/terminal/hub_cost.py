"""Output of `plink hub cost`: costs of workers with fast links and with hubs."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from plink.hub.cost import Costs

_TITLES = ("uplinks", "workers", "network", "hub", "in all", "work per dollar")


def print_costs(console: Console, costs: Costs) -> None:
    """Print the table of costs, and where it differs from the paper's."""
    contradiction = costs.contradiction
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="cyan")
    table.add_column("a worker", no_wrap=True)
    for title in _TITLES:
        table.add_column(title, justify="right", no_wrap=True)
    for row in costs.rows:
        table.add_row(
            row.name,
            f"{row.oversubscription:g}:1",
            "-" if row.workers is None else str(row.workers),
            _dollars(row.network),
            _dollars(row.hub) if row.workers is not None else "-",
            _dollars(row.total),
            f"{row.per_dollar:.3f} x",
        )
    console.print(table)
    console.print()
    console.print(
        Text(
            "capital only; the model is Luo 2020, §6.1.10. Its Table 6.3 is not reproduced: at "
            f"1:1 it implies that a baseline worker costs {contradiction.implied:.3f} times one "
            f"with a hub, and {contradiction.readings} readings of its formulas and prices give "
            f"{contradiction.least:.2f} to {contradiction.most:.2f}"
        )
    )


def _dollars(amount: float) -> str:
    return f"${amount:,.0f}"
