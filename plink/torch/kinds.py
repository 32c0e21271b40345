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


ALL_REDUCE = Kind("all_reduce", 1)
