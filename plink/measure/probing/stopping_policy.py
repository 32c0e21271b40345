"""Policy that tells a measurement which pairs to measure again and when to stop."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass

from plink.files.cluster import Cluster
from plink.measure.probing.passes import Pair


def _nothing(_: Cluster) -> Collection[Pair]:
    return ()


@dataclass(frozen=True)
class StoppingPolicy:
    """Policy for repeating pairs and for stopping, by the answer that the readings are for.

    Args:
        hinges: after each pass, the pairs of the cluster's hosts (indices, in any order) on which
            the answer hinges, measured or not: they meet again.
        answer: after each pass, the answer so far: once it is the same twice, nothing more is
            measured. None where readings are wanted for their own sake.
    """

    hinges: Callable[[Cluster], Collection[Pair]] = _nothing
    answer: Callable[[Cluster], Hashable] | None = None


NO_POLICY = StoppingPolicy()
