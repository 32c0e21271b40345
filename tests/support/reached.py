"""Hosts that were reached, as far as a run looks at them before it measures."""

from __future__ import annotations

from typing import cast

from probes.facts import HostFacts
from probes.hosts.host import ListedHost
from probes.reach import ReachedHost
from probes.ssh.config import Target
from probes.ssh.session import Session


def reached_host(number: int) -> ReachedHost:
    """Host `h1` at 10.0.0.1, `h2` at 10.0.0.2, ..., without a connection."""
    name = f"h{number}"
    return ReachedHost(
        ListedHost(name),
        cast("Target", type("FakeTarget", (), {"hostname": name})),
        cast("Session", None),
        HostFacts("x86_64", name, 4, []),
        f"10.0.0.{number}",
    )
