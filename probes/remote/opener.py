"""Interface for opening sessions with the hosts of a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from plink.probes.hosts.host import ListedHost
from plink.probes.remote.session import Session


class Opener(ABC):
    """Opener of sessions, which it closes when it is closed itself."""

    @abstractmethod
    def prepare(self, listed: Sequence[ListedHost]) -> None:
        """Check the hosts of a run before any of them is contacted.

        Raises:
            HostListError, OptionError: a host or an option that cannot be used.
        """

    @abstractmethod
    def open(self, host: ListedHost) -> Session:
        """Return a session with one of the prepared hosts.

        Threads call it for different hosts.

        Raises:
            HostError: it cannot be reached.
        """

    @abstractmethod
    def close(self) -> None:
        """Close every session, including those still being opened."""
