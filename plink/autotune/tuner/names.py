"""Names of hosts and groups in decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plink.autotune.tuner.masters import Layout


@dataclass(frozen=True)
class Names:
    """Names by index, as in a `Layout`.

    Args:
        hosts: (H,) of hosts.
        groups: (G,) of groups; a host in no group is one by itself.
    """

    hosts: Sequence[str]
    groups: Sequence[str]


def numbered_names(layout: Layout) -> Names:
    """Return names for a job whose hosts have none."""
    return Names(
        [f"host {host}" for host in range(layout.hosts)],
        [f"group {group}" for group in range(layout.groups)],
    )
