"""Stopping criterion of a measurement: the question that its readings are to answer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass

from plink.files.cluster import Cluster
from plink.measure.probing.passes import Pair


def _nothing(_: Cluster) -> Collection[Pair]:
    return ()


@dataclass(frozen=True)
class Question:
    """Question that a measurement is to answer, such as which groups there are.

    Args:
        hinges: after each pass, the pairs of the cluster's hosts (indices, in any order) on which
            the answer hinges, measured or not: they meet again.
        answer: after each pass, the answer so far: once it is the same twice, nothing more is
            measured. None where readings are wanted for their own sake.
    """

    hinges: Callable[[Cluster], Collection[Pair]] = _nothing
    answer: Callable[[Cluster], Hashable] | None = None


NO_QUESTION = Question()
