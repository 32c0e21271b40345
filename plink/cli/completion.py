"""`plink completion`: print a shell's completion script, and complete the values of options."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

import click

from plink.base.lazy import lazy_imports
from plink.cli.json_output import json_option, print_json_line

with lazy_imports():
    from click import shell_completion as click_completes

    from plink.bench import request as bench_request
    from plink.deploy import launchers, verify
    from plink.formats import outputs
    from plink.solvers.collectives import registry


_FILES = {"FILE", "CLUSTER", "ORDER", "PLAN", "LOG", "KEY", "PATH", "HOSTS"}
_FOLDERS = {"DIR", "FOLDER"}
# Names that an option takes, by its flag and metavar; loaded when a value is completed.
_NAMES: Mapping[tuple[str, str], Callable[[], Iterable[str]]] = {
    ("--algo", "NAME"): lambda: [*registry.ALGORITHMS, *registry.OTHERS],
    ("--client", "LIST"): lambda: bench_request.CLIENTS,
    ("--format", "NAME"): lambda: launchers.ALL,
    ("--launcher", "NAME"): lambda: verify.RANK_VARIABLES,
}


def add_completion(command: click.Command) -> click.Command:
    """Make the values of a command's options and arguments completable; return the command."""
    for verb in command.commands.values() if isinstance(command, click.Group) else ():
        add_completion(verb)
    for parameter in command.params:
        if parameter.type is click.STRING:
            parameter.type = _CompletableText(parameter)
    return command


def items(named: list[tuple[str, str]], beginning: str) -> list[click_completes.CompletionItem]:
    """Return click's completion items of those names that begin with what was typed."""
    return [
        click_completes.CompletionItem(name, help=text)
        for name, text in named
        if name.startswith(beginning)
    ]


class _CompletableText(click.types.StringParamType):
    """Click type of a text parameter, whose values complete to files, folders or known names."""

    def __init__(self, parameter: click.Parameter) -> None:
        self._kind = _kind(parameter)
        self._names = _NAMES.get((max(parameter.opts, key=len), parameter.metavar or ""), tuple)

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[click_completes.CompletionItem]:
        """Return completion items for a value: files, folders or known names."""
        if self._kind is not None:
            return [click_completes.CompletionItem(incomplete, type=self._kind)]
        # A list is completed at its end.
        before, comma, last = incomplete.rpartition(",")
        return [
            click_completes.CompletionItem(f"{before}{comma}{name}")
            for name in self._names()
            if name.startswith(last)
        ]


def _kind(parameter: click.Parameter) -> str | None:
    words = set(re.findall(r"[A-Z]+", parameter.metavar or (parameter.name or "").upper()))
    is_argument = isinstance(parameter, click.Argument)
    if words & _FILES or (is_argument and "COMMAND" in words):
        return "file"
    return "dir" if words & _FOLDERS else None


SHELLS = ("bash", "zsh", "fish")
# The name that click gives it, for a program that is called plink.
VARIABLE = "_PLINK_COMPLETE"


@click.command(
    epilog="Example: plink completion bash > ~/.local/share/bash-completion/completions/plink"
)
@click.argument("shell", type=click.Choice(SHELLS))
@json_option("Print the shell's name and the script as JSON.")
def command(shell: str, *, as_json: bool) -> int:
    """Print a script that completes plink's commands, options, their values and files.

    For this shell alone, bash: eval "$(plink completion bash)". For every new one, keep the script
    where the shell looks for it; for zsh in a file _plink in a folder of its fpath, for fish in
    ~/.config/fish/completions/plink.fish.
    """
    script = script_for(shell)
    if as_json:
        print_json_line(outputs.Completion(shell, script))
    else:
        click.echo(script.rstrip("\n"))
    return 0


def script_for(shell: str) -> str:
    """Return the script with which a shell asks plink for completions."""
    asking = click_completes.get_completion_class(shell)
    assert asking is not None  # noqa: S101  for the type checker
    # Not bash's own, which starts a bash to see that it is version 4.4 or later.
    return click_completes.ShellComplete.source(asking(command, {}, "plink", VARIABLE))
