"""Words of the running command's options that a suggested next command must repeat."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import click

from plink.base.lazy import lazy_imports

with lazy_imports():
    from plink.base import replacing
    from plink.base import request as base_request
    from plink.cli import way_options


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
