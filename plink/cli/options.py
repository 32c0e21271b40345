"""Commands, groups and option types that commands share: help sections, verbs, values."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from plink.base.errors import WrongUseError
from plink.base.request import GENERAL
from plink.base.size import parse_rate, parse_size

Function = TypeVar("Function", bound=Callable[..., Any])

_WIDEST_NAME = 26


class SectionedOption(click.Option):
    """Option that appears under a heading in the help."""

    def __init__(self, *arguments: Any, section: str = GENERAL, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.section = section


def list_sections(context: click.Context) -> dict[str, list[tuple[str, str]]]:
    """Return the names and help of a command's options, by the heading that they stand under."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context)
        if isinstance(parameter, click.Option) and record is not None:
            sections.setdefault(getattr(parameter, "section", GENERAL), []).append(record)
    return sections


class SectionedCommand(click.Command):
    """Command whose help groups options by heading, in order of first appearance."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options grouped by heading."""
        for heading, records in list_sections(ctx).items():
            with formatter.section(heading):
                formatter.write_dl(records, col_max=_WIDEST_NAME)


class VerbGroup(click.Group):
    """Command group, such as `plink hub`, that lists its verbs in the order of use."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the verbs in the order of use."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a verb by its name, or raise with a list of the existing ones."""
        if args[0] not in self.commands and not ctx.resilient_parsing:
            raise WrongUseError(
                f"{ctx.command_path} has no verb {args[0]!r}, expected {', '.join(self.commands)}",
                f"{ctx.command_path} --help",
            )
        return super().resolve_command(ctx, args)


def make_section_option(section: str) -> Callable[..., Callable[[Function], Function]]:
    """Return a decorator like `click.option` for options of one section of the help."""
    return partial(click.option, cls=SectionedOption, section=section)


def given_options(context: click.Context) -> dict[str, str]:
    """Return the parameters typed on the command line: name to spelling, such as `--size`."""
    return {
        parameter.name: _parameter_label(parameter)
        for parameter in context.command.params
        if parameter.name is not None
        and context.get_parameter_source(parameter.name) is not ParameterSource.DEFAULT
    }


def _parameter_label(parameter: click.Parameter) -> str:
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    return f"the argument {parameter.human_readable_name}"


class FiniteRange(click.FloatRange):
    """Option type of a number within bounds, which also refuses NaN."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Convert text to a number, or fail with a usage error."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number


class QuantityType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """Option type of a number with a unit, such as a size or a rate.

    Args:
        name: what the help shows in place of a value.
        parse: converts a text, or raises `WrongUseError`.
    """

    def __init__(self, name: str, parse: Callable[[str], float]) -> None:
        self.name = name
        self._parse = parse

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,  # noqa: ARG002
    ) -> float:
        """Return the number in its base unit, or fail with a usage error."""
        if not isinstance(value, str):
            return float(value) if isinstance(value, float) else int(value)
        try:
            return self._parse(value)
        except WrongUseError as error:
            option = "" if param is None else f"{param.opts[0]} "
            raise WrongUseError(f"{option}{error}", error.hint) from None


# In bytes, such as `20MB`, and in bit/s, such as `10gbit`.
SIZE = QuantityType("SIZE", parse_size)
RATE = QuantityType("RATE", parse_rate)
