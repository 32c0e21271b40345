"""Opener of SSH sessions with the user's configuration and options."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from plink.probes.errors import HostListError
from plink.probes.hosts.host import ListedHost
from plink.probes.remote.session import Opener
from plink.probes.ssh.config import SshConfig, Target
from plink.probes.ssh.connect import Connector
from plink.probes.ssh.options import SshOptions
from plink.probes.ssh.session import SshSession

_MOST_AT_ONCE = 8
_HINT = "correct the list, or give the name a HostName in the SSH configuration"


class SshOpener(Opener):
    """Opener that connects to hosts over SSH."""

    def __init__(self, options: SshOptions) -> None:
        self._options = options
        self._connector = Connector(options)
        self._targets: dict[str, Target] = {}

    def prepare(self, listed: Sequence[ListedHost]) -> None:
        """Resolve how to reach each host; nothing is sent but name look-ups.

        Raises:
            HostListError: a name that cannot be resolved or is not one, with its line.
            OptionError: the SSH configuration cannot be used.
        """
        self._targets = {target.name: target for target in find_targets(listed, self._options)}

    def open(self, host: ListedHost) -> SshSession:
        """Connect, authenticate and verify the host key.

        Raises:
            HostError: naming the reason, with a hint where there is one.
        """
        return self._connector.connect(self._targets[host.name])

    def close(self) -> None:
        """Close every connection, including those still being opened."""
        self._connector.close()


def find_targets(listed: Sequence[ListedHost], options: SshOptions) -> list[Target]:
    """Return the SSH settings of each host; nothing is sent but name look-ups.

    Raises:
        HostListError: a name that cannot be resolved or is not one, with its line.
        OptionError: the SSH configuration cannot be used.
    """
    config = SshConfig(options)
    with ThreadPoolExecutor(_MOST_AT_ONCE) as pool:
        targets = list(pool.map(config.target, listed))
    return [_resolvable(host, target) for host, target in zip(listed, targets, strict=True)]


def _resolvable(host: ListedHost, target: Target) -> Target:
    """Return the settings, with the previously known address if the name does not resolve."""
    if target.jumps or target.proxy_command is not None:
        return target
    try:
        check_resolvable(target.hostname, host.place)
    except HostListError:
        if host.ssh_address is None:
            raise
        return replace(target, hostname=host.ssh_address)
    return target


def check_resolvable(name: str, place: str) -> None:
    """Raise if `name` has no address.

    Args:
        name: a DNS name or an address.
        place: where it is listed (`hosts.txt:3`), for the error.

    Raises:
        HostListError: the name has no address.
    """
    try:
        socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        reason = (error.strerror or str(error)).lower()
        raise HostListError(f"{place}: {name} cannot be resolved ({reason})", _HINT) from None
    except (OSError, ValueError):
        raise HostListError(f"{place}: {name} cannot be resolved", _HINT) from None
