"""What an order is predicted to cost, beside the given order, random ones and the bound."""

from __future__ import annotations

from typing import Any

from plink.base.size import format_size
from plink.base.text import counted, range_text, rtt_text, share_text
from plink.files.order import Order
from plink.optimize.orders.quality import confirmation, doubt
from plink.show.page.parts import (
    BETWEEN,
    INK,
    LINE,
    NO_GROUP_COLOUR,
    WITHIN,
    Figure,
    Paragraph,
    Part,
    Section,
    plotly_text,
    rounded,
)
from plink.show.page.subject import NamedOrder, Subject
from plink.show.terminal.order import (
    has_bound,
    hosts_text,
    no_cheaper,
    savings_text,
    unproven,
    what_for,
)

# For the texts behind the bars.
_ROOM = 1.35

_OURS = "plink's order"


def costs_section(subject: Subject) -> Section | None:
    """A picture for each order; None without any order of several hosts."""
    parts: list[Part] = []
    orders = [named for named in subject.orders if len(named.order.hosts) > 1]
    for number, named in enumerate(orders):
        parts.append(Paragraph(_said(named)))
        doubtful = doubt(named.order)
        if doubtful is not None:
            parts.append(Paragraph(f"{doubtful[:1].upper()}{doubtful[1:]}.", is_note=True))
        parts.append(cost_bars(named, f"costs-{number}"))
    return Section("orders", "Orders", parts) if parts else None


def cost_bars(named: NamedOrder, name: str) -> Figure:
    """The figure of one order's costs.

    Args:
        named: the order.
        name: of the figure.
    """
    order = named.order
    rows = [
        ("given order", order.cost_given_us, NO_GROUP_COLOUR),
        ("random order (median)", order.cost_random_us, NO_GROUP_COLOUR),
        (_OURS, order.cost_us, WITHIN),
    ]
    if has_bound(order):
        rows.append(("lower bound", order.lower_bound_us, "rgba(0, 0, 0, 0)"))
    labels = [label for label, _, _ in rows]
    scale, unit = _unit(max(cost for _, cost, _ in rows))
    trace: dict[str, Any] = {
        "type": "bar",
        "orientation": "h",
        "y": labels,
        "x": [rounded(cost / scale) for _, cost, _ in rows],
        "text": [plotly_text(_share(cost, order)) for _, cost, _ in rows],
        "textposition": "outside",
        "cliponaxis": False,
        "marker": {
            "color": [colour for _, _, colour in rows],
            "line": {"color": INK, "width": [0, 0, 0, 1.5][: len(rows)]},
        },
        "hovertemplate": "%{y}: %{text}<extra></extra>",
    }
    if order.cost_range_us is not None:
        trace["error_x"] = _whisker(order, labels.index(_OURS), len(labels), scale)
    most = max(*trace["x"], rounded((order.most_us or 0.0) / scale))
    bound = rounded(order.lower_bound_us / scale)
    line = {
        "type": "line",
        "x0": bound,
        "x1": bound,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": BETWEEN, "width": 1.5, "dash": "dot"},
    }
    return Figure(
        name,
        [trace],
        {
            "xaxis": {
                "title": {"text": f"predicted {unit}"},
                "gridcolor": LINE,
                "range": [0.0, rounded(_ROOM * most or 1.0)],
                "zeroline": False,
            },
            "yaxis": {"autorange": "reversed", "fixedrange": True},
            "shapes": [line] if bound else [],
            "showlegend": False,
            "bargap": 0.35,
        },
        260,
        "Shorter is better; shares are of a random order's cost. " + _about_bound(order),
        "predicted costs: " + ", ".join(f"{label} {rtt_text(cost)}" for label, cost, _ in rows),
    )


def _said(named: NamedOrder) -> str:
    order = named.order
    cost = (
        f"the time for {format_size(order.size_bytes)} where flows share links"
        if order.size_bytes is not None
        else "what a Gbit takes over the least bandwidth that is used"
        if order.bandwidth is not None
        else "the sum of latencies"
    )
    of_cost = "" if order.cost_range_us else " of its cost"
    saved = f"{savings_text(order)}{of_cost} could still be saved"
    gap = saved if order.gap else no_cheaper(order)
    gap = unproven(order) or (gap if has_bound(order) else "no lower bound is known")
    against = f"{share_text(order.cost_us / order.cost_random_us)} of a random order's cost"
    share = against if order.cost_random_us else "as much as any"
    return (
        f"{named.source}: {what_for(order)} on {hosts_text(order)}; cost is {cost}. "
        f"plink's order costs {share}{_between(order)}; {gap}. Gain found again on other "
        f"readings: {confirmation(order)}."
    )


def _between(order: Order) -> str:
    """The range of the cost; empty where it is one number."""
    if order.cost_range_us is None:
        return ""
    return (
        f" with {counted(order.filled_pairs, 'pair')} filled in from others, and is "
        f"{range_text(*order.cost_range_us)}"
    )


def _whisker(order: Order, place: int, bars: int, scale: float) -> dict[str, Any]:
    """The range of the bar at a place; to the right only where it has an end."""
    low_us, high_us = order.cost_range_us or (order.cost_us, order.cost_us)
    ends = {
        "array": (order.cost_us if high_us is None else high_us) - order.cost_us,
        "arrayminus": order.cost_us - low_us,
    }
    return {
        "type": "data",
        "symmetric": False,
        "color": INK,
        "thickness": 1.5,
        **{
            side: [rounded(max(0.0, end) / scale) if bar == place else 0.0 for bar in range(bars)]
            for side, end in ends.items()
        },
    }


def _about_bound(order: Order) -> str:
    if not has_bound(order):
        return "How cheap an order could be is not known." + _about_range(order)
    return (
        "No order is cheaper than the lower bound (dotted): what lies between it and plink's "
        "order is all that could still be saved."
    ) + _about_range(order)


def _about_range(order: Order) -> str:
    if order.cost_range_us is None:
        return ""
    return (
        " The line across plink's bar is the range of its cost: pairs that were not measured are "
        "at nothing on the left, and as far as the shortest way over others on the right."
    )


def _share(cost_us: float, order: Order) -> str:
    if not order.cost_random_us:
        return rtt_text(cost_us)
    return f"{rtt_text(cost_us)} ({share_text(cost_us / order.cost_random_us)})"


def _unit(most_us: float) -> tuple[float, str]:
    """How many µs a unit has, and its name."""
    for scale, unit in ((1e6, "s"), (1e3, "ms")):
        if most_us >= scale:
            return scale, unit
    return 1.0, "µs"
