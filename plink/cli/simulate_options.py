"""Options that describe a simulated data centre."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from plink.cli.options import FiniteRange

# Any one of them describes a whole data centre.
SHAPES = ("racks", "fat_tree", "dragonfly")
# What says more of racks alone, and of any.
OF_RACKS = ("hosts", "oversubscription", "rows", "row_oversubscription")
OF_LINKS = ("rate_gbit_s", "hop_us")

_OPTIONS = (
    click.option("--racks", type=click.IntRange(1, 65_536), help="Number of racks to simulate."),
    click.option(
        "--hosts",
        type=click.IntRange(1, 65_536),
        default=16,
        show_default=True,
        help="With --racks: number of hosts per rack.",
    ),
    click.option(
        "--oversubscription",
        type=FiniteRange(0.01, 1e6),
        default=1.0,
        show_default=True,
        metavar="X",
        help="With --racks: summed rate of a rack's hosts over the rate of its uplink.",
    ),
    click.option(
        "--rows",
        type=click.IntRange(1, 65_536),
        default=1,
        show_default=True,
        help="With --racks: number of rows of racks, each with its own uplink.",
    ),
    click.option(
        "--row-oversubscription",
        type=FiniteRange(0.01, 1e6),
        default=1.0,
        show_default=True,
        metavar="X",
        help="With --rows: summed rate of a row's rack uplinks over the rate of the row's uplink.",
    ),
    click.option(
        "--fat-tree",
        metavar="DOWN:UP[:LINKS]",
        help="Simulate a fat tree: for each level from the lowest, elements below a switch, "
        "switches above an element, links to each. 16,8:1,4 is 8 switches of 16 hosts, with a "
        "link to each of 4 others.",
    ),
    click.option(
        "--dragonfly",
        metavar="G,C,R,N[:L,L,L]",
        help="Simulate a dragonfly: groups, chassis per group, routers per chassis, hosts per "
        "router; links between groups, chassis and routers (default: 1).",
    ),
    click.option(
        "--rate",
        "rate_gbit_s",
        type=FiniteRange(1e-6, 1e6),
        default=10.0,
        show_default=True,
        metavar="GBIT/S",
        help="Rate of every host's link in a described data centre.",
    ),
    click.option(
        "--hop",
        "hop_us",
        type=FiniteRange(0, 1e6),
        default=1.0,
        show_default=True,
        metavar="US",
        help="One-way latency of every link in a described data centre.",
    ),
)


def with_shapes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that describe a data centre."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function
