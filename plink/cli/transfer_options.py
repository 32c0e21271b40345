"""The options of the probe tools that transfer data."""

from __future__ import annotations

import re
from typing import Any

import click

from plink.cli.options import options_of, with_options
from plink.measure.probing.limits import DIRECTIONS, MAX_DURATION_S, MAX_STREAMS
from plink.measure.probing.transfers import TransferSettings

_option = options_of("iperf3 and uplinks")
_NAME = re.compile(r"[a-z0-9]{1,15}")


class CongestionType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """The kernel's name of a congestion control."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name, or a usage error."""
        if not _NAME.fullmatch(str(value)):
            self.fail(f"{value!r} is no name such as cubic", param, ctx)
        return str(value)


_OPTIONS = (
    _option(
        "--duration",
        "duration_s",
        type=click.IntRange(1, MAX_DURATION_S),
        metavar="SECONDS",
        help="Whole seconds a transfer.  [default: 1 for iperf3, 2 for uplinks]",
    ),
    _option(
        "--streams",
        type=click.IntRange(1, MAX_STREAMS),
        help="TCP connections a transfer.  [default: 1]",
    ),
    _option(
        "--direction",
        type=click.Choice(DIRECTIONS),
        help="Each direction of a pair by itself, or both at once.  [default: each]",
    ),
    _option(
        "--congestion",
        type=CongestionType(),
        help="Congestion control of the senders.  [default: the hosts' own]",
    ),
    _option(
        "--groups",
        metavar="FILE",
        help="Groups of hosts, a line `NAME: HOSTS` each, or a cluster file with groups.",
    ),
)


# `take_transfers` gathers them, but for the groups.
with_transfer_options = with_options(_OPTIONS)


def take_transfers(values: dict[str, Any]) -> TransferSettings:
    """Take the options' values out of a command's, but for the groups."""
    return TransferSettings(
        duration_s=values.pop("duration_s"),
        streams=values.pop("streams"),
        direction=values.pop("direction"),
        congestion=values.pop("congestion"),
    )
