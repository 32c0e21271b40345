"""Chart of the hops from rank to rank: their lengths, and which leave a group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.base.text import format_count
from plink.files.order import Order
from plink.show.page.parts import BETWEEN, LINE, MUTED, NO_GROUP, WITHIN, Figure, round_to_digits
from plink.show.page.subject import NamedOrder, Subject

# More bars are too narrow for a pattern.
_MANY = 64

# The opacity of bars for hops that were not measured.
_PALE = 0.35


def staying_title(subject: Subject) -> str:
    """Return the legend of hops that stay within a group."""
    return "stays in the group" if subject.groups else "hop"


def leaving(subject: Subject, ranks: Sequence[int]) -> int:
    """Return how many hops of the ring cross groups or involve a host without one."""
    return int(leaves_group(subject, ranks).sum())


def leaves_group(subject: Subject, ranks: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Return whether the hop from each rank to the next crosses groups, (N,)."""
    groups = subject.group_of[list(ranks)]
    if not subject.groups:
        return np.zeros(len(ranks), dtype=bool)
    following = np.roll(groups, -1)
    found: npt.NDArray[np.bool_] = (groups != following) | (groups == NO_GROUP)
    return found


def hop_bars(subject: Subject, named: NamedOrder, ranks: Sequence[int], name: str) -> Figure:
    """Return the bar chart of the distance from each rank's host to the next.

    Args:
        subject: whose hosts they are.
        named: the order.
        ranks: its hosts in rank order.
        name: name of the figure.
    """
    following = np.roll(ranks, -1)
    leaves = leaves_group(subject, ranks)
    filled = set(named.order.filled_hops)
    kinds = (
        (
            staying_title(subject),
            WITHIN if subject.groups else MUTED,
            "",
            np.flatnonzero(~leaves).tolist(),
        ),
        ("leaves the group", BETWEEN, "/", np.flatnonzero(leaves).tolist()),
    )
    traces = [
        {
            "type": "bar",
            "name": title,
            "x": rows,
            "y": [round_to_digits(named.order.cost.hops_us[rank]) for rank in rows],
            "text": [
                f"{subject.labels[ranks[rank]]} → {subject.labels[following[rank]]}"
                f"{' (not measured)' if rank in filled else ''}"
                for rank in rows
            ],
            "textposition": "none",
            "marker": {
                "color": colour,
                "opacity": [_PALE if rank in filled else 1.0 for rank in rows] if filled else 1.0,
                "pattern": {"shape": shape if len(ranks) <= _MANY else "", "size": 5},
            },
            "hovertemplate": "rank %{x}: %{text}<br>%{y} µs<extra></extra>",
        }
        for title, colour, shape, rows in kinds
        if rows
    ]
    return Figure(
        name,
        traces,
        {
            "xaxis": {"title": {"text": "place in the order"}, "zeroline": False},
            "yaxis": {
                "title": {"text": "to the next host"},
                "ticksuffix": " µs",
                "gridcolor": LINE,
            },
            "bargap": 0.1,
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
            "showlegend": True,
        },
        300,
        _about(named.order, len(filled)),
        f"hops of {len(ranks)} ranks",
        narrow={"legend": {"orientation": "h", "y": -0.3, "yanchor": "top"}},
    )


def _about(order: Order, filled: int) -> str:
    if order.bandwidth is not None:
        return (
            "The time that a Gbit takes over every hop of plink's order, by its bandwidth. In a "
            "ring the longest is its cost."
        )
    return f"{_what(filled)} In a ring by latency these sum up to its score."


def _what(filled: int) -> str:
    """Return the description of the bars."""
    if not filled:
        return "The measured distance of every hop of plink's order."
    verb = "was" if filled == 1 else "were"
    return (
        f"The distance of every hop of plink's order. {format_count(filled, 'hop')} {verb} not "
        "measured, but filled in from other pairs (pale)."
    )
