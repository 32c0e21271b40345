"""Option `--format`: writes a launcher's file, lists the formats, shows help on one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from plink.base.errors import WrongUseError

Function = TypeVar("Function", bound=Callable[..., Any])

_LIST = "LIST"
_CHOSEN = "plink.format"


class CommandWithFormats(click.Command):
    """Command whose help, after `--format NAME`, describes that format."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help of the command, or of the format before `--help`."""
        name = ctx.meta.get(_CHOSEN)
        if name is None:
            super().format_help(ctx, formatter)
            return
        from plink.deploy import launchers  # noqa: PLC0415  as below

        about = launchers.describe_formats().get(name)
        if about is None:
            raise WrongUseError(
                f"there is no format {name!r}", "plink order --format LIST lists the formats"
            )
        formatter.write_usage(ctx.command_path, f"CLUSTER --format {name} -o FILE")
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(f"{about}.")
        with formatter.section("To use the file"):
            # Not wrapped: it is to be copied.
            formatter.write(f"  {launchers.usage_of(name, 'FILE', None)}\n")
        caveat = launchers.find_caveat(name)
        if caveat is not None:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(f"{caveat}.")


def with_format_option(function: Function) -> Function:
    """Add `--format`, which the command receives as `format_name`."""
    return click.option(
        "--format",
        "format_name",
        metavar="NAME",
        is_eager=True,
        callback=_on_format,
        help="Write a launcher's file: openmpi, slurm, torchrun, ...; LIST prints them all, and "
        "--format NAME --help says how to use one.",
    )(function)


def _on_format(context: click.Context, _: click.Parameter, name: str | None) -> str | None:
    if name is None or context.resilient_parsing:
        return name
    if name.upper() == _LIST:
        _print_formats()
        context.exit()
    context.meta[_CHOSEN] = name
    return name


def _print_formats() -> None:
    """Print one line for each format: its name and description."""
    from plink.deploy import launchers  # noqa: PLC0415  numpy would slow `--help`

    described = launchers.describe_formats()
    width = max(map(len, described))
    for name, about in described.items():
        click.echo(f"{name:<{width}}  {about}")
