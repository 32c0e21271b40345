"""The options of the probe tools that transfer data."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from plink.probing.limits import DIRECTIONS, MAX_DURATION_S, MAX_STREAMS
from plink.probing.transfers import TransferSettings

Function = TypeVar("Function", bound=Callable[..., Any])

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
    click.option(
        "--duration",
        "duration_s",
        type=click.IntRange(1, MAX_DURATION_S),
        metavar="SECONDS",
        help="iperf3: whole seconds a transfer.  [default: 1 for iperf3, 2 for uplinks]",
    ),
    click.option(
        "--streams",
        type=click.IntRange(1, MAX_STREAMS),
        help="iperf3: TCP connections a transfer.  [default: 1]",
    ),
    click.option(
        "--direction",
        type=click.Choice(DIRECTIONS),
        help="iperf3: each direction of a pair by itself, or both at once.  [default: each]",
    ),
    click.option(
        "--congestion",
        type=CongestionType(),
        help="iperf3: congestion control of the senders.  [default: the hosts' own]",
    ),
    click.option(
        "--groups",
        metavar="FILE",
        help="uplinks: groups of hosts, a line `NAME: HOSTS` each, or a cluster file with groups.",
    ),
)


# What the command receives them by.
TRANSFER_OPTIONS = ("duration_s", "streams", "direction", "congestion", "groups")


def with_transfer_options(function: Function) -> Function:
    """Add the options. The command receives them by name; `take_transfers` gathers them."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def take_transfers(values: dict[str, Any]) -> TransferSettings:
    """Take the options' values out of a command's, but for the groups."""
    return TransferSettings(
        duration_s=values.pop("duration_s"),
        streams=values.pop("streams"),
        direction=values.pop("direction"),
        congestion=values.pop("congestion"),
    )
