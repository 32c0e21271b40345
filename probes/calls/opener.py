"""Opener of sessions with agents that have called."""

from __future__ import annotations

from collections.abc import Sequence

from plink.probes.calls.listener import Listener
from plink.probes.errors import HostError
from plink.probes.hosts.host import ListedHost
from plink.probes.remote.session import Opener
from plink.probes.ssh.session import SshSession


class CallOpener(Opener):
    """Opener that waits for the agents of a run's hosts to call.

    Args:
        listener: where they call.
        wait_s: how long it waits for those that are missing.
    """

    def __init__(self, listener: Listener, wait_s: float) -> None:
        self._listener = listener
        self._wait_s = wait_s

    def prepare(self, listed: Sequence[ListedHost]) -> None:
        """Wait until all agents have called, or until the time limit."""
        wanted = {host.name for host in listed}
        self._listener.wait_until(lambda names: wanted <= names, self._wait_s)

    def open(self, host: ListedHost) -> SshSession:
        """Return the session of a host whose agent has called.

        Raises:
            HostError: it has not called.
        """
        session = self._listener.session(host.name)
        if session is not None:
            return session
        reason = "; ".join(self._listener.refusals())
        more = f" (turned away: {reason})" if reason else ""
        raise HostError(
            host.name,
            f"its agent has not called within {self._wait_s:g} s{more}",
            f"start plink agent join=ADDRESS:{self._listener.port} there, with the same secret",
        )

    def close(self) -> None:
        """End all calls."""
        self._listener.close()
