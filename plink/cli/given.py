"""Options of the running command that a suggested next command must repeat."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import click

from plink.base.lazy import lazy_imports

with lazy_imports():
    from plink.base import replacing
    from plink.base import request as base_request

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

# Where a command's context holds the requests of the verb that runs.
REQUESTS = "plink.requests"


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
    """Return the options of the running command's requests, as words of a command."""
    return _words(None)


def record_as_given(**values: str | None) -> None:
    """Record values that the command chose itself, so that suggested commands repeat them."""
    chosen = {name: value for name, value in values.items() if value is not None}
    requests = _requests()
    for index, request in enumerate(requests):
        known = {name: value for name, value in chosen.items() if hasattr(request, name)}
        requests[index] = replacing.replace(request, **known)


def _requests() -> list[Any]:
    context = click.get_current_context(silent=True)
    found: list[Any] = [] if context is None else context.meta.setdefault(REQUESTS, [])
    return found


def _words(names: Container[str] | None) -> list[str]:
    return [word for request in _requests() for word in base_request.command_words(request, names)]
