"""Kinds of collectives and messages, with PyTorch's names and numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """Kind of collective or message.

    Args:
        name: in the profiler, after the backend's.
        number: of PyTorch's `c10d::OpType` (`Work.hpp`), which Python gets as a number.
        is_ordered: every rank begins it as the same one of its collectives; messages are not.
    """

    name: str
    number: int
    is_ordered: bool = True

    @property
    def collective(self) -> str:
        """Name of the kind in `plink.plans.names`, if it is a collective."""
        return self.name.replace("_", "-")


BROADCAST = Kind("broadcast", 0)
ALL_REDUCE = Kind("all_reduce", 1)
REDUCE = Kind("reduce", 3)
ALL_GATHER = Kind("all_gather", 4)
GATHER = Kind("gather", 7)
SCATTER = Kind("scatter", 8)
REDUCE_SCATTER = Kind("reduce_scatter", 9)
ALL_TO_ALL = Kind("all_to_all", 11)
BARRIER = Kind("barrier", 15)
SEND = Kind("send", 12, is_ordered=False)
RECEIVE = Kind("recv", 13, is_ordered=False)
RECEIVE_FROM_ANY = Kind("recvAnySource", 14, is_ordered=False)
