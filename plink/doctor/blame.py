"""Attribution of deviating pairs to a host, a group's uplink, or the pair itself.

The fewest causes that explain what deviates are taken, the one first that explains most beyond what
it explains wrongly. A cause is no explanation where most of its pairs do not deviate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.doctor.evidence import Evidence

Mask = npt.NDArray[np.bool_]

# Of the known pairs of a cause so many deviate.
_LEAST_SHARE = 0.7
# A cause of several pairs is believed for so many at least.
_LEAST_PAIRS = 2
_MOST_CAUSES = 12


@dataclass(frozen=True)
class Cause:
    """Host, uplink or pair of hosts that explains why some pairs deviate.

    Args:
        hosts: names.
        group: whose way to other groups it is; None for a host or a pair.
        pairs: (N, N) those that it explains, in the upper triangle.
        known: how many of its pairs are known.
    """

    hosts: Sequence[str]
    group: str | None
    pairs: Mask
    known: int

    @property
    def explained(self) -> int:
        """Number of deviating pairs that the cause explains."""
        return int(self.pairs.sum())


def causes(evidence: Evidence, deviates: Mask, known: Mask) -> list[Cause]:
    """Return the causes of deviating pairs, the greatest first; unexplained pairs come last.

    Args:
        evidence: names and groups of the hosts.
        deviates, known: (N, N), of which the upper triangle counts.
    """
    left, known = np.triu(deviates & known, 1), np.triu(known, 1)
    found: list[Cause] = []
    while len(found) < _MOST_CAUSES and left.any():
        best: Cause | None = None
        score = 0
        for hosts, group, pairs in _candidates(evidence):
            mine, total = int((left & pairs).sum()), int((known & pairs).sum())
            wrong = int((known & pairs & ~deviates).sum())
            if mine < _LEAST_PAIRS or total - wrong < _LEAST_SHARE * total or mine - wrong <= score:
                continue
            best, score = Cause(hosts, group, left & pairs, total), mine - wrong
        if best is None:
            break
        found.append(best)
        left = left & ~best.pairs
    for one, other in np.argwhere(left)[: _MOST_CAUSES - len(found)]:
        pair = np.zeros_like(left)
        pair[one, other] = True
        names = [evidence.names[int(one)], evidence.names[int(other)]]
        found.append(Cause(names, None, pair, 1))
    return found


def _candidates(evidence: Evidence) -> Iterator[tuple[list[str], str | None, Mask]]:
    size = len(evidence.names)
    for number, group in enumerate(evidence.cluster.groups):
        is_in = evidence.group_by_host == number
        if 1 < is_in.sum() < size:
            yield list(group.hosts), group.name, is_in[:, None] != is_in[None, :]
    for host, name in enumerate(evidence.names):
        pairs = np.zeros((size, size), dtype=np.bool_)
        pairs[host, :] = pairs[:, host] = True
        yield [name], None, pairs
