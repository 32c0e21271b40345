"""Options of the running command that a suggested next command must repeat."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

import click
from click.core import ParameterSource

from plink.base.lazy import lazy_imports

with lazy_imports():
    from plink.cli import options as cli_options

# How hosts are reached, which every verb that does so has.
WAY = frozenset(
    {"via", "ssh_config", "identity", "user", "accept_new_host_keys", "ssh_concurrency"}
)
# Which addresses of the hosts are meant, for the verbs that measure.
_ADDRESSES = frozenset({"network", "interface"})
# How `plink probe` measures, which no file records.
_UNRECORDED = frozenset(
    {
        *("timeout_s", "concurrency", "strict", "port", "remote_cache", "remote_python", "nics"),
        *("listen", "secret_file", "wait_s"),
    }
)
# Which files are read and written, which the next command says anew.
_FILES = frozenset({"hosts", "output", "resume", "cluster", "as_json", "all_stages"})

# Where a command's context holds the context of the verb that runs.
RUNNING = "plink.running"


def reaching_words(is_measuring: bool = False) -> list[str]:
    """Return the options about reaching hosts of the running command; empty outside one.

    Args:
        is_measuring: those of the hosts' addresses, too.
    """
    return _words(WAY | _ADDRESSES if is_measuring else WAY)


def resuming_words() -> list[str]:
    """Return the options of a running `plink probe` that a resuming one must repeat."""
    return _words(WAY | _UNRECORDED)


def all_words() -> list[str]:
    """Return every option of the running command, without its files."""
    context = _running()
    if context is None:
        return []
    return _words({parameter.name or "" for parameter in context.command.params} - _FILES)


def as_if_given(**values: str | None) -> None:
    """Record values that the command chose itself, so that suggested commands repeat them."""
    context = _running()
    for name, value in values.items():
        if context is not None and value is not None:
            context.params[name] = value
            context.set_parameter_source(name, ParameterSource.COMMANDLINE)


def _running() -> click.Context | None:
    current = click.get_current_context(silent=True)
    return None if current is None else current.meta.get(RUNNING)


def _words(names: Container[str]) -> list[str]:
    context = _running()
    if context is None:
        return []

    given = cli_options.given_options(context)
    found: list[str] = []
    for option in context.command.params:
        if isinstance(option, click.Option) and option.name in given and option.name in names:
            found += _format_option(option, context.params)
    return found


def _format_option(option: click.Option, values: Mapping[str, Any]) -> list[str]:
    """Return an option as it can be typed, such as `-F` for `--ssh-config`."""
    short = next((name for name in option.opts if len(name) == 2), max(option.opts, key=len))
    if option.is_flag:
        return [short]
    return [short, str(values[option.name or ""])]
