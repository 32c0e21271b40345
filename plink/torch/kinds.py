"""What collectives are called in PyTorch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A collective.

    Args:
        name: in the profiler, after the backend's.
        number: of PyTorch's `c10d::OpType` (`Work.hpp`), which Python gets as a number.
    """

    name: str
    number: int


BROADCAST = Kind("broadcast", 0)
ALL_REDUCE = Kind("all_reduce", 1)
REDUCE = Kind("reduce", 3)
ALL_GATHER = Kind("all_gather", 4)
GATHER = Kind("gather", 7)
SCATTER = Kind("scatter", 8)
REDUCE_SCATTER = Kind("reduce_scatter", 9)
ALL_TO_ALL = Kind("all_to_all", 11)
BARRIER = Kind("barrier", 15)
