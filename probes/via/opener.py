"""Opener of sessions through the command of a template."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from plink.probes.errors import OptionError
from plink.probes.hosts.host import ListedHost
from plink.probes.hosts.hostlist import check_host
from plink.probes.remote.session import Opener
from plink.probes.via.options import ViaOptions
from plink.probes.via.session import ViaSession
from plink.probes.via.template import parse_template


class ViaOpener(Opener):
    """Opener that reaches each host with a command.

    Raises:
        OptionError: the template cannot be used.
    """

    def __init__(self, options: ViaOptions) -> None:
        self._template = parse_template(options.template)
        self._opened: list[ViaSession] = []

    def prepare(self, listed: Sequence[ListedHost]) -> None:
        """Check that host names are safe in the command, and that its program exists.

        Raises:
            HostListError: no host list could name such a host.
            OptionError: there is no such program.
        """
        for host in listed:
            check_host(host)
        program = self._template.words[0]
        if shutil.which(program) is None:
            raise OptionError(
                f"the program {program} is not installed here",
                "via=COMMAND must begin with a program",
            )

    def open(self, host: ListedHost) -> ViaSession:
        """Return a session; nothing is started yet."""
        address = host.ssh_address or _address_of(host.name) or host.name
        session = ViaSession(host.name, address, self._template)
        self._opened.append(session)
        return session

    def close(self) -> None:
        """End everything that was started on any host."""
        if self._opened:
            with ThreadPoolExecutor(max_workers=min(64, len(self._opened))) as executor:
                list(executor.map(ViaSession.close, self._opened))


def _address_of(name: str) -> str | None:
    """Resolve a name on this machine; pods' and containers' names often do not resolve."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, ValueError):
        return None
    return str(found[0][4][0])
