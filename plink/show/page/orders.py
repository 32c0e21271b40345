"""Report sections on orders: costs beside other orders', and figures of rings with their hops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.base.text import format_count, rtt_text, share_text
from plink.formats.order import Order
from plink.optimize.orders.quality import doubt
from plink.show.orders import (
    OURS,
    RANDOM,
    cost_legend,
    costs_us,
    has_bound,
    hosts_text,
    order_facts,
    purpose_text,
)
from plink.show.page import charts
from plink.show.page.groups import group_markers
from plink.show.page.parts import Bar, Bars, Figure, Paragraph, Part, Section, facts_table
from plink.show.page.subject import Subject
from plink.show.tables import capitalise

_LEAST_HOSTS = 3
# More bars are too narrow for a pattern, and more lines are thin and through each other.
_MANY = 64
_MAX_NAMES = 32
_MAX_LEGEND = 16
# Empty places on the circle between two groups.
_GAP = 1.5
# Width of a letter, of a mark with its distance to the name, and of half a narrow circle's picture.
_LETTER_PX, _MARK_PX, _HALF_PX = 6.5, 14.0, 200.0
# Opacity of hops that were not measured, and of hosts without a rank.
_PALE = 0.35
_LEFT_OUT = 0.3


def costs_section(subject: Subject) -> Section | None:
    """Return the report's section on orders' costs; None without an order of several hosts."""
    parts: list[Part] = []
    for named in subject.orders:
        order = named.order
        if len(order.hosts) > 1:
            title = f"{named.source}: {purpose_text(order)} on {hosts_text(order)}"
            parts.append(Paragraph(f"{title}; {cost_legend(order)}."))
            if (doubtful := doubt(order)) is not None:
                parts.append(Paragraph(capitalise(doubtful), is_note=True))
            facts = order_facts(order, with_hosts=False)
            parts += [facts_table(f"What is known of {named.source}", facts), cost_bars(order)]
    return Section("orders", "Orders", parts) if parts else None


def cost_bars(order: Order) -> Bars:
    """Return a bar chart of one order's cost beside the given one's, random ones' and the bound."""
    colours = (charts.NO_GROUP_COLOUR, charts.NO_GROUP_COLOUR, charts.WITHIN, charts.MUTED)
    rows = [
        ("random order (median)" if label == RANDOM else label, cost_us, colour)
        for (label, cost_us), colour in zip(costs_us(order), colours, strict=True)
        if cost_us is not None
    ]
    most_us = max(*(cost_us for _, cost_us, _ in rows), order.most_us or 0.0) or 1.0
    reach = None
    caption = "Shorter is better. How cheap an order could be is not known."
    if has_bound(order):
        caption = (
            "Shorter is better. No order is cheaper than the lower bound (dotted): what lies "
            "between it and plink's order is all that could still be saved."
        )
    limits_us = order.cost.range_us
    if limits_us is not None:
        high = 1.0 if limits_us.high_us is None else limits_us.high_us / most_us
        reach = (limits_us.low_us / most_us, high)
        caption += (
            " The line across plink's bar is the range of its value: pairs that were not measured "
            "are at nothing on the left, and as far as the shortest way over others on the right."
        )
    bars = []
    for label, cost_us, colour in rows:
        text = rtt_text(cost_us)
        if order.cost.random_us:
            text += f" ({share_text(cost_us / order.cost.random_us)})"
        bars.append(
            (label, [Bar(text, cost_us / most_us, colour, reach if label == OURS else None)])
        )
    bound_us = order.cost.lower_bound_us if has_bound(order) else 0.0
    return Bars(caption, ("order", "predicted"), bars, bound_us / most_us if bound_us else None)


def ring_section(subject: Subject) -> Section | None:
    """Return the report's section with orders drawn as rings of hosts; None for too few hosts."""
    if len(subject.names) < _LEAST_HOSTS:
        return None
    parts: list[Part] = []
    if not subject.orders:
        given = list(range(len(subject.names)))
        sentence = f"No order was given to this report. {_count_crossings(subject, given)}"
        parts += [Paragraph(sentence), draw_ring(subject, "given order", given, "ring")]
    for number, named in enumerate(subject.orders):
        ranks = [subject.index_by_host[name] for name in named.order.names]
        # Where hosts are left out, the given order is that of the first.
        given = list(range(len(ranks)))
        parts += [
            Paragraph(f"{named.source}: {_count_crossings(subject, ranks, given)}"),
            draw_ring(subject, "given order", given, f"ring-{number}-given", is_half=True),
            draw_ring(subject, "plink's order", ranks, f"ring-{number}", is_half=True),
            hop_bars(subject, named.order, ranks, f"hops-{number}"),
        ]
    return Section("ring", "The ring over the groups", parts)


def _count_crossings(
    subject: Subject, ranks: Sequence[int], given: Sequence[int] | None = None
) -> str:
    """Return a sentence on how many hops of an order leave a group, beside the given order's."""
    if not subject.groups:
        return "No groups are known, so hops within and between groups cannot be told apart."
    crossing = int(find_crossings(subject, ranks).sum())
    if given is None:
        return f"As listed, {crossing} of {len(ranks)} hops lead from one group to another."
    before = int(find_crossings(subject, given).sum())
    of_hosts = subject.group_by_host[list(ranks)]
    alone = int((of_hosts == charts.NO_GROUP).sum())
    groups = len(set(of_hosts.tolist()) - {charts.NO_GROUP})
    least = groups + alone if groups + alone > 1 else 0
    lone = f" and {format_count(alone, 'host')} in no group" if alone else ""
    return (
        f"{crossing} of {len(ranks)} hops lead from one group to another; in the given order "
        f"{before} do. A ring over {format_count(groups, 'group')}{lone} has at least {least}."
    )


def find_crossings(subject: Subject, ranks: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Return a mask, (N,), of the hops of an order that lead into another group.

    A hop from or to a host without a group does.
    """
    groups = subject.group_by_host[list(ranks)]
    if not subject.groups:
        return np.zeros(len(ranks), dtype=bool)
    crosses: npt.NDArray[np.bool_] = (groups != np.roll(groups, -1)) | (groups == charts.NO_GROUP)
    return crosses


def _list_hops(
    subject: Subject, ranks: Sequence[int]
) -> list[tuple[str, str, npt.NDArray[np.intp]]]:
    """Return legend title, colour and ranks of an order's hops within groups, and between them."""
    crosses = find_crossings(subject, ranks)
    title, colour = (
        ("stays in the group", charts.WITHIN) if subject.groups else ("hop", charts.MUTED)
    )
    kinds = [
        (title, colour, np.flatnonzero(~crosses)),
        ("leaves the group", charts.BETWEEN, np.flatnonzero(crosses)),
    ]
    return [kind for kind in kinds if kind[2].size]


def hop_bars(subject: Subject, order: Order, ranks: Sequence[int], name: str) -> Figure:
    """Return the bar chart of the distance from each rank's host (`ranks`) to the next."""
    labels = [subject.labels[host] for host in ranks]
    filled = set(order.filled_hops)
    hops = [
        charts.plotly_text(f"{source} → {target}{' (not measured)' if rank in filled else ''}")
        for rank, (source, target) in enumerate(zip(labels, [*labels[1:], labels[0]], strict=True))
    ]
    traces: list[charts.Json] = [
        {
            "type": "bar",
            "name": title,
            "x": rows.tolist(),
            "y": charts.round_numbers(order.cost.hops_us[rank] for rank in rows),
            "text": [hops[rank] for rank in rows],
            "textposition": "none",
            "marker": {
                "color": colour,
                "opacity": [_PALE if rank in filled else 1.0 for rank in rows] if filled else 1.0,
                "pattern": {
                    "shape": "/" if colour == charts.BETWEEN and len(ranks) <= _MANY else "",
                    "size": 5,
                },
            },
            "hovertemplate": "rank %{x}: %{text}<br>%{y} µs<extra></extra>",
        }
        for title, colour, rows in _list_hops(subject, ranks)
    ]
    caption = "The distance of every hop of plink's order."
    if filled:
        verb = "was" if len(filled) == 1 else "were"
        hops_text = format_count(len(filled), "hop")
        caption += f" {hops_text} {verb} not measured, but filled in from other pairs (pale)."
    caption += " In a ring by latency these sum up to its score."
    if order.bandwidth is not None:
        caption = (
            "The time that a Gbit takes over every hop of plink's order, by its bandwidth. In a "
            "ring the longest is its cost."
        )
    return Figure(
        name,
        traces,
        charts.layout(
            charts.axis("place in the order", showgrid=False),
            charts.axis("to the next host", unit="µs"),
            bargap=0.1,
        ),
        300,
        caption,
        f"hops of {len(ranks)} ranks",
        narrow={"legend": {"orientation": "h", "y": -0.3, "yanchor": "top"}},
    )


def draw_ring(
    subject: Subject, title: str, ranks: Sequence[int], name: str, *, is_half: bool = False
) -> Figure:
    """Return a figure with hosts on a circle by group, and lines between successive ranks.

    `ranks` are the indices of the hosts in rank order.
    """
    sequence = np.array(subject.sequence)
    groups = subject.group_by_host[sequence]
    is_new = groups != np.roll(groups, 1)
    total = len(sequence) + _GAP * max(1, int(is_new.sum()))
    # Clockwise from the top.
    offset = np.arange(len(sequence)) + _GAP * np.cumsum(is_new)
    angle = np.pi / 2.0 - 2.0 * np.pi * offset / total
    points = np.empty((len(sequence), 2))
    points[sequence] = np.column_stack([np.cos(angle), np.sin(angle)])
    has_names = len(points) <= _MAX_NAMES
    letters = max(map(len, subject.labels)) if has_names else 0
    # Half the width of a picture of a unit circle, with room for names.
    half = 1.0 / (1.0 - (_LETTER_PX * letters + _MARK_PX) / _HALF_PX)
    hidden = {"visible": False, "range": [-half, half], "constrain": "domain"}
    return Figure(
        name,
        [*_hop_traces(subject, ranks, points), *_host_traces(subject, ranks, points)],
        charts.layout(hidden, {**hidden, "scaleanchor": "x"}, "below"),
        520,
        f"{title.capitalize()}: hosts stand on a circle, groups side by side, and every rank is "
        "joined to the next. Orange hops leave a group (dashed where they are few), blue ones "
        "stay: a good ring runs around the circle, one that ignores the network crosses it again "
        "and again.",
        f"ring of {len(ranks)} hosts, {title}",
        is_half=is_half,
    )


def _hop_traces(subject: Subject, ranks: Sequence[int], points: charts.Floats) -> list[charts.Json]:
    traces = []
    for title, colour, rows in _list_hops(subject, ranks):
        segments = charts.Segments()
        for rank in rows:
            ends = points[[ranks[rank], ranks[(rank + 1) % len(ranks)]]]
            segments.add(ends[:, 0], ends[:, 1])
        is_many = len(rows) > _MANY
        dash = "dash" if colour == charts.BETWEEN and not is_many else "solid"
        line = {"color": colour, "dash": dash, "width": 1 if is_many else 2}
        traces.append(segments.trace(title, line, opacity=0.5 if is_many else 1.0))
    return traces


def _host_traces(
    subject: Subject, ranks: Sequence[int], points: charts.Floats
) -> list[charts.Json]:
    place_of = {host: f"place {rank}" for rank, host in enumerate(ranks)}
    has_names = len(points) <= _MAX_NAMES
    sides = [
        f"{'top' if y > 0.5 else 'bottom' if y < -0.5 else 'middle'} "
        f"{'right' if x > 0.3 else 'left' if x < -0.3 else 'center'}"
        for x, y in points
    ]
    traces = []
    for group in subject.shown_groups:
        hosts = np.flatnonzero(subject.group_by_host == group).tolist()
        markers = group_markers(
            subject,
            group,
            hosts,
            points,
            has_names=has_names,
            marker={
                "opacity": [1.0 if host in place_of else _LEFT_OUT for host in hosts],
                "size": 10 if has_names else max(4, min(8, 1600 // len(points))),
            },
            hover="%{text}, %{customdata}|name",
            customdata=[place_of.get(host, "left out") for host in hosts],
            textposition=[sides[host] for host in hosts],
            textfont={"size": 10},
            cliponaxis=False,
            showlegend=1 < len(subject.shown_groups) <= _MAX_LEGEND,
        )
        traces.append(markers)
    return traces
