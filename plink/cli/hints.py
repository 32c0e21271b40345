"""Hints of errors for the command line: options as typed, and full commands to paste."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import click

from plink.base.errors import NotJsonError, NotMeasuredError, Speller, option_speller
from plink.base.lazy import lazy_imports
from plink.base.next_command import next_command
from plink.probes.errors import HostListError

with lazy_imports():
    from plink.base import replacing
    from plink.base import request as base_request
    from plink.cli import way_options
    from plink.formats import document
    from plink.probes.inventories import kinds


def command_speller(command: click.Command | None) -> Speller:
    """Return a function that spells a parameter and its value as an option, such as `--size 4`."""
    options = {} if command is None else _list_options(command)
    return option_speller(
        {name: max(option.opts, key=len) for name, option in options.items()},
        {name for name, option in options.items() if option.is_flag},
    )


def complete_resume_hint(error: NotMeasuredError) -> str | None:
    """Complete an error's hint to a full command that measures what the cluster file lacks."""
    tool = [] if error.tool is None else ["--tool", error.tool]
    plain = "plink probe" if error.tool is None else f"plink probe --tool {error.tool}"
    way = reaching_words(is_measuring=True) or error.way
    command = next_command("probe", "--resume", document.argument(error.source), *tool, way=way)
    return error.hint and error.hint.replace(plain, command, 1)


def build_measure_hint(error: NotJsonError) -> str | None:
    """Return a hint for a file that is no JSON: if it is a host list, a command to measure it."""
    try:
        kinds.parse_hosts(error.content, error.source)
    except HostListError:
        return error.hint
    command = next_command("probe", document.argument(error.source), "-o", "cluster.json")
    return f"it looks like a host list: {command} measures its hosts"


def _list_options(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command and its subcommands, by parameter name."""
    verbs = command.commands.values() if isinstance(command, click.Group) else ()
    found = {name: option for verb in verbs for name, option in _list_options(verb).items()}
    for option in command.params:
        if isinstance(option, click.Option) and option.name is not None:
            found[option.name] = option
            found[option.opts[-1].lstrip("-").replace("-", "_")] = option
    return found


def reaching_words(is_measuring: bool = False) -> list[str]:
    """Return the running command's options on reaching hosts, as words; empty if none runs.

    Args:
        is_measuring: whether to include those of the hosts' addresses.
    """
    addresses = ("network", "interface") if is_measuring else ()
    return _words({*base_request.list_options(way_options.ReachOptions), *addresses})


def resuming_words() -> list[str]:
    """Return the options of a running `plink probe`, as words, that `--resume` must repeat."""
    # How it measures, which no file records.
    measuring = ("timeout_s", "concurrency", "strict", "port", "remote_cache", "remote_python")
    return _words({*base_request.list_options(way_options.CallOptions), *measuring, "nics"})


def all_words() -> list[str]:
    """Return all options of the running command that differ from defaults, as words."""
    return _words(None)


def record_as_given(**values: str | None) -> None:
    """Record option values that the command chose itself, for suggested commands to repeat."""
    chosen = {name: value for name, value in values.items() if value is not None}
    requests = _requests()
    for index, request in enumerate(requests):
        known = {name: value for name, value in chosen.items() if hasattr(request, name)}
        requests[index] = replacing.replace(request, **known)


def _requests() -> list[Any]:
    context = click.get_current_context(silent=True)
    found: list[Any] = [] if context is None else context.meta.setdefault(base_request.REQUESTS, [])
    return found


def _words(names: Container[str] | None) -> list[str]:
    return [word for request in _requests() for word in base_request.command_words(request, names)]
