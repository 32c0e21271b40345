"""Report section on an order's predicted cost beside the listed order, random ones and a bound."""

from __future__ import annotations

from plink.base.size import format_size
from plink.base.text import format_count, range_text, rtt_text, share_text
from plink.files.order import Order
from plink.optimize.orders.quality import confirmation, doubt
from plink.show.orders import OURS, RANDOM, costs_us, gap_text, has_bound, hosts_text, purpose_text
from plink.show.page.parts import (
    MUTED,
    NO_GROUP_COLOUR,
    WITHIN,
    Bar,
    Bars,
    Paragraph,
    Part,
    Section,
)
from plink.show.page.subject import NamedOrder, Subject
from plink.show.tables import capitalise


def costs_section(subject: Subject) -> Section | None:
    """Return a chart for each order; None without any order of several hosts."""
    parts: list[Part] = []
    orders = [named for named in subject.orders if len(named.order.hosts) > 1]
    for named in orders:
        parts.append(Paragraph(_cost_sentence(named)))
        doubtful = doubt(named.order)
        if doubtful is not None:
            parts.append(Paragraph(capitalise(doubtful), is_note=True))
        parts.append(cost_bars(named))
    return Section("orders", "Orders", parts) if parts else None


def cost_bars(named: NamedOrder) -> Bars:
    """Return a bar chart of the costs of one order."""
    order = named.order
    colours = (NO_GROUP_COLOUR, NO_GROUP_COLOUR, WITHIN, MUTED)
    rows = [
        ("random order (median)" if label == RANDOM else label, cost_us, colour)
        for (label, cost_us), colour in zip(costs_us(order), colours, strict=True)
        if cost_us is not None
    ]
    most_us = max(*(cost_us for _, cost_us, _ in rows), order.most_us or 0.0) or 1.0
    bars = [
        (
            label,
            [
                Bar(
                    _share(cost_us, order),
                    cost_us / most_us,
                    colour,
                    _reach(order, most_us) if label == OURS else None,
                )
            ],
        )
        for label, cost_us, colour in rows
    ]
    line = (
        order.cost.lower_bound_us / most_us
        if has_bound(order) and order.cost.lower_bound_us
        else None
    )
    return Bars(f"Shorter is better. {_about_bound(order)}", ("order", "predicted"), bars, line)


def _cost_sentence(named: NamedOrder) -> str:
    order = named.order
    cost = (
        f"the time for {format_size(order.cost.size_bytes)} where flows share links"
        if order.cost.size_bytes is not None
        else "what a Gbit takes over the least bandwidth that is used"
        if order.bandwidth is not None
        else "a sum of latencies, not a time"
    )
    of_cost = "" if order.cost.range_us else f" of its {order.cost_name}"
    gap = gap_text(order, of_cost)
    share = f"the same {order.cost_name} as any"
    if order.cost.random_us:
        of_random = share_text(order.cost.cost_us / order.cost.random_us)
        share = f"{of_random} of a random order's {order.cost_name}"
    return (
        f"{named.source}: {purpose_text(order)} on {hosts_text(order)}; "
        f"the {order.cost_name} is {cost}. "
        f"plink's order has {share}{_between(order)}; {gap}. Gain found again on other "
        f"readings: {confirmation(order)}."
    )


def _between(order: Order) -> str:
    """Return the range of the cost as text; empty if it is one number."""
    if order.cost.range_us is None:
        return ""
    return (
        f" with {format_count(order.filled_pairs, 'pair')} filled in from others, and is "
        f"{range_text(order.cost.range_us.low_us, order.cost.range_us.high_us)}"
    )


def _reach(order: Order, most_us: float) -> tuple[float, float] | None:
    """Return the ends of the cost's range on the chart, as shares; None if it is one number."""
    if order.cost.range_us is None:
        return None
    low_us, high_us = order.cost.range_us.low_us, order.cost.range_us.high_us
    return low_us / most_us, 1.0 if high_us is None else high_us / most_us


def _about_bound(order: Order) -> str:
    if not has_bound(order):
        return "How cheap an order could be is not known." + _about_range(order)
    return (
        "No order is cheaper than the lower bound (dotted): what lies between it and plink's "
        "order is all that could still be saved."
    ) + _about_range(order)


def _about_range(order: Order) -> str:
    if order.cost.range_us is None:
        return ""
    return (
        " The line across plink's bar is the range of its value: pairs that were not measured are "
        "at nothing on the left, and as far as the shortest way over others on the right."
    )


def _share(cost_us: float, order: Order) -> str:
    if not order.cost.random_us:
        return rtt_text(cost_us)
    return f"{rtt_text(cost_us)} ({share_text(cost_us / order.cost.random_us)})"
