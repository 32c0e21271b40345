"""What an order by bandwidth is worth, in words."""

from __future__ import annotations

from rich.table import Table

from plink.base.text import bandwidth_text, rtt_text, share_text
from plink.files.order import OrderBandwidth

WHAT = "cost: the least bandwidth that is used, then the sum of what a Gbit takes"

# Bandwidths this near to each other are equal.
_EQUAL = 1e-6


def bandwidth_table(bandwidth: OrderBandwidth) -> Table:
    """The bottleneck of the given order, of random ones, of plink's and of the best that could be.

    Beside it stands the time that a Gbit takes, summed as the algorithm's latencies are.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="cyan")
    for title in ("", "bottleneck", "of random", "1 Gbit in all"):
        table.add_column(title, justify="right" if title else "left", no_wrap=True)
    rows = (
        ("given order", bandwidth.bottleneck_given_gbit_s, bandwidth.sum_given_s_per_gbit, ""),
        (
            "random (median)",
            bandwidth.bottleneck_random_gbit_s,
            bandwidth.sum_random_s_per_gbit,
            "",
        ),
        ("plink's order", bandwidth.bottleneck_gbit_s, bandwidth.sum_s_per_gbit, "bold"),
        ("bound", bandwidth.bottleneck_bound_gbit_s, bandwidth.sum_bound_s_per_gbit, "dim"),
    )
    for label, gbit_s, s_per_gbit, style in rows:
        table.add_row(
            label,
            "none known" if gbit_s is None else bandwidth_text(gbit_s),
            "" if gbit_s is None else share_text(gbit_s / bandwidth.bottleneck_random_gbit_s),
            "" if s_per_gbit is None else rtt_text(s_per_gbit * 1e6),
            style=style,
        )
    return table


def bandwidth_gap(bandwidth: OrderBandwidth) -> str:
    """By how much the bottleneck of another order could be wider at most."""
    bound = bandwidth.bottleneck_bound_gbit_s
    if bound is None:
        return "not known"
    if bound <= bandwidth.bottleneck_gbit_s * (1.0 + _EQUAL):
        return "none: no order has a wider bottleneck"
    more = bound / bandwidth.bottleneck_gbit_s - 1.0
    return f"the bottleneck could be at most {share_text(more)} wider"
