"""Types of options."""

from __future__ import annotations

import ipaddress
import math
import re
from typing import Any

import click

from plink.base.errors import WrongUseError
from plink.base.size import parse_size
from plink.measure.probing.limits import ALL_ROUNDS, FOLLOWED_ROUNDS
from probes.hosts.address import IPNetwork

_FEWEST_ROUNDS = 2
_CONGESTION = re.compile(r"[a-z0-9]{1,15}")


class FiniteRange(click.FloatRange):
    """A number within bounds. Unlike click's own range, it refuses what no bound compares with."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number, or a usage error."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number


class RoundsType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A number of rounds of a tournament, `all`, or `auto`."""

    name = "K|auto|all"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number, or a usage error."""
        text = str(value)
        if text in ("all", str(ALL_ROUNDS)):
            return ALL_ROUNDS
        if text == "auto" or value is FOLLOWED_ROUNDS:
            return FOLLOWED_ROUNDS
        if not (text.isascii() and text.isdigit() and len(text) <= 9):
            self.fail(f"{text!r} is neither a number of rounds, auto nor all", param, ctx)
        if int(text) < _FEWEST_ROUNDS:
            self.fail(f"{text} round does not connect the hosts, at least 2 do", param, ctx)
        return int(text)


def size_option(text: str) -> int:
    """The bytes that `--size` means.

    Raises:
        WrongUseError: it is no size; the message names the option.
    """
    try:
        return parse_size(text)
    except WrongUseError as error:
        raise WrongUseError(f"--size {error}", error.hint) from None


class NetworkType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A network in CIDR form."""

    name = "network"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> IPNetwork:
        """The network, or a usage error."""
        try:
            return ipaddress.ip_network(str(value), strict=False)
        except ValueError:
            self.fail(f"{value!r} is not a network such as 10.0.0.0/16", param, ctx)


class CongestionType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """The kernel's name of a congestion control."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name, or a usage error."""
        if not _CONGESTION.fullmatch(str(value)):
            self.fail(f"{value!r} is not a name such as cubic", param, ctx)
        return str(value)
