"""Which hosts of a run meet, and in which round."""

from __future__ import annotations

from probes.samples import Rounds
from probes.tournament import round_robin


def rounds_among(hosts: int) -> Rounds:
    """The rounds of a run over `hosts` hosts: every two of them meet once."""
    return round_robin(hosts)
