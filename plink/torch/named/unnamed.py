"""What ranks tell each other of collectives that the program did not name."""

from __future__ import annotations

import torch

from plink.torch.kinds import Kind
from plink.training.control.requests import Request, Tensor


def unnamed(
    name: str, kind: Kind, dtype: torch.dtype, items: int, *, op: str = "", device: str = "cpu"
) -> Request:
    """A request of a collective.

    Args:
        name: by its place among those without a name.
        kind: of collective.
        dtype: of its items.
        items: in its buffer, 0 where that may differ from rank to rank.
        op: of reduction, empty where nothing is reduced.
        device: where its tensors are.
    """
    tensor = Tensor(str(dtype).removeprefix("torch."), (items,))
    return Request(name, (tensor,), kind=kind.collective, op=op, device=device)
