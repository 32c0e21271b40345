"""Types of options."""

from __future__ import annotations

import math
from typing import Any

import click

from plink.base.errors import WrongUseError
from plink.base.size import parse_size
from plink.measure.probing.limits import ALL_ROUNDS, FOLLOWED_ROUNDS

_FEWEST_ROUNDS = 2


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


class SizeType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A size such as `20MB`, in bytes."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ARG002
        """The bytes, or an error that names the option and says how sizes are written."""
        try:
            return parse_size(str(value))
        except WrongUseError as error:
            option = "" if param is None else f"{param.opts[0]} "
            raise WrongUseError(f"{option}{error}", error.hint) from None


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
