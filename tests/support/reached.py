"""Hosts that were reached, as far as a run looks at them before it measures."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from plink.probes.facts import HostFacts
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.reach import ReachedHost
from plink.probes.remote.session import Session


def reached_host(number: int) -> ReachedHost:
    """Host `h1` at 10.0.0.1, `h2` at 10.0.0.2, ..., without a connection."""
    name = f"h{number}"
    return ReachedHost(
        ListedHost(name),
        cast("Session", SimpleNamespace(hostname=name)),
        HostFacts("x86_64", name, 4, []),
        f"10.0.0.{number}",
    )
