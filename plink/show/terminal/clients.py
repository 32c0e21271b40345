"""Table of a client's software costs."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from plink.base.size import format_size
from plink.base.text import format_count, printable
from plink.files.clients import ClientFit, Estimate


def print_fit(console: Console, fit: ClientFit) -> None:
    """Print the table of costs with their ranges."""
    versions = ", ".join(f"{name} {text}" for name, text in (fit.versions or {}).items())
    console.print(Text(printable(f"{fit.client}: {versions or 'described'}"), style="bold"))
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="cyan")
    table.add_column("")
    table.add_column("found", justify="right")
    table.add_column("90 %", justify="right")
    for what, estimate, unit in (
        ("before a message begins", fit.overhead_us, "µs"),
        ("before one above 64 KiB, beside that", fit.rendezvous_us, "µs"),
        ("adding 1 GB", fit.reduction_s_per_gb, "s"),
        ("of a link's rate, flows get", fit.flow_share, ""),
        ("exchanges one way after the other", fit.serialised, ""),
        ("links let pass at once", fit.burst_bytes, "bytes"),
        ("a rank keeps a core that it shares", fit.turn_us, "µs"),
        ("processor of a rank for 1 GB", fit.processor_s_per_gb, "s"),
    ):
        if estimate is not None:
            table.add_row(what, *_cells(estimate, unit))
    console.print(table)
    spreads = (
        f"{100.0 * each.spread:.0f} % at {format_size(each.size_bytes)}" for each in fit.spreads
    )
    console.print(Text(f"times are off by {', '.join(spreads)} (standard deviation)", style="dim"))
    if fit.shared_cores is not None:
        cores = format_count(fit.shared_cores, "core")
        console.print(Text(f"all hosts are one machine of {cores}", style="dim"))


def _cells(estimate: Estimate, unit: str) -> tuple[str, str]:
    after = f" {unit}" if unit else ""
    return f"{estimate.value:.3g}{after}", f"{estimate.low:.3g} to {estimate.high:.3g}{after}"
