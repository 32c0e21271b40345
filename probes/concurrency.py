"""How many pairs may be measured at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from probes.facts import HostFacts


def most_pairs(facts: Sequence[HostFacts], cores_per_pair: int = 1) -> int:
    """The number of pairs in flight that do not disturb each other.

    Every host can be in one pair at a time. Hosts that share a machine also share its cores: a
    pair takes `cores_per_pair`, and one is left to SSH, so that the most crowded machine decides;
    unless it takes none, since nothing that is measured depends on the time it takes.
    """
    most = max(1, len(facts) // 2)
    if not cores_per_pair:
        return most
    residents = Counter(fact.machine for fact in facts if fact.machine)
    for fact in facts:
        if residents[fact.machine] > 1:
            most = min(most, max(1, (fact.cores - 1) // cores_per_pair))
    return most


def shared_machines(facts: Sequence[HostFacts]) -> int:
    """The number of hosts that share their machine with another host of the run."""
    residents = Counter(fact.machine for fact in facts if fact.machine)
    return sum(count for count in residents.values() if count > 1)
