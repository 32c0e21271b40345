"""A worker that has joined a service at a server."""

from __future__ import annotations

from dataclasses import dataclass

from plink.hub.session.data import Opened


@dataclass
class Member:
    """Worker that has joined a service at a server.

    Args:
        number, incarnation: its own.
        host: from which it called.
        opened: what its data connections prove.
    """

    number: int
    incarnation: int
    host: str
    opened: Opened
