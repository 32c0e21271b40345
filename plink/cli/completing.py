"""Shell completion of the values of options and arguments.

click completes commands, options and choices by itself. What else a value is, its metavar says.
"""

from __future__ import annotations

import re

import click
from click.shell_completion import CompletionItem

from plink.cli.value_names import ALGORITHMS, CLIENTS, FORMATS, LAUNCHERS

_FILES = {"FILE", "CLUSTER", "ORDER", "PLAN", "LOG", "KEY", "PATH", "HOSTS"}
_FOLDERS = {"DIR", "FOLDER"}
_NAMES = {
    ("--algo", "NAME"): ALGORITHMS,
    ("--client", "LIST"): CLIENTS,
    ("--format", "NAME"): FORMATS,
    ("--launcher", "NAME"): LAUNCHERS,
}


def completing(command: click.Command) -> click.Command:
    """Return the command and its subcommands with completion of their values."""
    for verb in command.commands.values() if isinstance(command, click.Group) else ():
        completing(verb)
    for parameter in command.params:
        if parameter.type is click.STRING:
            parameter.type = _Text(parameter)
    return command


def items(named: list[tuple[str, str]], beginning: str) -> list[CompletionItem]:
    """Return completion items, with help, for the names that begin with `beginning`."""
    return [CompletionItem(name, help=text) for name, text in named if name.startswith(beginning)]


class _Text(click.types.StringParamType):
    """Parameter type of a file name, or of one of several names."""

    def __init__(self, parameter: click.Parameter) -> None:
        self._kind = _kind(parameter)
        self._names = _NAMES.get((max(parameter.opts, key=len), parameter.metavar or ""), ())

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem]:
        """Return completion items: files, folders or the names."""
        if self._kind is not None:
            return [CompletionItem(incomplete, type=self._kind)]
        # A list is completed at its end.
        before, comma, last = incomplete.rpartition(",")
        return [
            CompletionItem(f"{before}{comma}{name}")
            for name in self._names
            if name.startswith(last)
        ]


def _kind(parameter: click.Parameter) -> str | None:
    words = set(re.findall(r"[A-Z]+", parameter.metavar or (parameter.name or "").upper()))
    is_argument = isinstance(parameter, click.Argument)
    if words & _FILES or (is_argument and "COMMAND" in words):
        return "file"
    return "dir" if words & _FOLDERS else None
