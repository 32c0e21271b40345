"""Request of a rank: a collective that it is ready for."""

from __future__ import annotations

import math
from dataclasses import dataclass

ALL_REDUCE = "all-reduce"

MOST_NAME_BYTES = 4096
MOST_TENSORS = 65_536
MOST_DIMENSIONS = 64
MOST_TENSOR_BYTES = 2**63 - 1

# Begins the names of collectives that the program did not name.
UNNAMED = "#"

ITEM_BYTES = {
    "float32": 4,
    "float64": 8,
    "float16": 2,
    "bfloat16": 2,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
}


@dataclass(frozen=True, slots=True)
class Tensor:
    """Buffer of a collective.

    Args:
        dtype: a key of `ITEM_BYTES`.
        shape: in items; () for a single one.
    """

    dtype: str
    shape: tuple[int, ...]

    @property
    def size_bytes(self) -> int:
        """Bytes of its memory."""
        return math.prod(self.shape) * ITEM_BYTES[self.dtype]

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


@dataclass(frozen=True, slots=True)
class Request:
    """Collective by name, of one tensor or of a group that is handled as one.

    Ranks agree on a name, and must agree on all else.

    Args:
        name: of the collective; one name is pending at most once on a rank.
        tensors: at least one; their order is that of the group.
        members: the names of the group's tensors; () for a single one, whose name is `name`.
        kind: of collective, such as `ALL_REDUCE`.
        op: of reduction, empty where nothing is reduced.
        device: `cpu`, or the kind of accelerator.
        prescale: a factor before the reduction.
        postscale: a factor after it.
        root: of the collective, -1 where there is none.
    """

    name: str
    tensors: tuple[Tensor, ...]
    members: tuple[str, ...] = ()
    kind: str = ALL_REDUCE
    op: str = "sum"
    device: str = "cpu"
    prescale: float = 1.0
    postscale: float = 1.0
    root: int = -1

    @property
    def size_bytes(self) -> int:
        """Bytes of all its tensors."""
        return sum(tensor.size_bytes for tensor in self.tensors)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its tensors."""
        return self.members or (self.name,)

    @property
    def is_fusible(self) -> bool:
        """Whether it may share a buffer: a named all-reduce."""
        return self.kind == ALL_REDUCE and not self.name.startswith(UNNAMED)

    def described(self) -> str:
        """Return all but the name, for people: what ranks may differ in."""
        words = [f"{self.op} {self.kind}" if self.op else self.kind]
        words.append(f"of a group of {len(self.tensors)}:" if self.members else "of")
        words.append(", ".join(map(str, self.tensors[:3])))
        if len(self.tensors) > 3:
            words.append("...")
        if self.device != "cpu":
            words.append(f"on {self.device}")
        if (self.prescale, self.postscale) != (1.0, 1.0):
            words.append(f"scaled by {self.prescale:g} and {self.postscale:g}")
        if self.root >= 0:
            words.append(f"with root {self.root}")
        return " ".join(words)
