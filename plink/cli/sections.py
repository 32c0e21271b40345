"""Options under headings, for commands that have many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import click
from click.core import ParameterSource

Function = TypeVar("Function", bound=Callable[..., Any])

_GENERAL = "Options"
_WIDEST_NAME = 26


class SectionedOption(click.Option):
    """An option that stands under a heading."""

    def __init__(self, *arguments: Any, section: str, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.section = section


class SectionedCommand(click.Command):
    """A command whose help shows every option under its heading, headings as they first come."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if isinstance(parameter, click.Option) and record is not None:
                heading = getattr(parameter, "section", _GENERAL)
                sections.setdefault(heading, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records, col_max=_WIDEST_NAME)


def options_of(section: str) -> Callable[..., Callable[[Function], Function]]:
    """What makes options of that section, in place of `click.option`."""
    return partial(click.option, cls=SectionedOption, section=section)


def with_options(
    options: Sequence[Callable[[Function], Function]],
) -> Callable[[Function], Function]:
    """A decorator that adds all of them, in the order in which help shows them."""

    def add(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return add


def given_options(context: click.Context) -> dict[str, str]:
    """What the command line gives: the name of each parameter, and how a user writes it."""
    return {
        parameter.name: _written(parameter)
        for parameter in context.command.params
        if parameter.name is not None
        and context.get_parameter_source(parameter.name) is not ParameterSource.DEFAULT
    }


def _written(parameter: click.Parameter) -> str:
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    return f"the argument {parameter.human_readable_name}"
