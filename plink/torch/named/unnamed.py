"""Requests for collectives that the program did not name."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from plink.torch.kinds import Kind
from plink.torch.layouts import engine_type, layout_of
from plink.training.control.requests import ITEM_BYTES, Request, Tensor


def unnamed_request(
    name: str,
    kind: Kind,
    dtype: torch.dtype,
    sizes_bytes: Sequence[int],
    *,
    op: str = "",
    device: str = "cpu",
    root: int = -1,
) -> Request:
    """Build the request for a collective that the program did not name.

    Args:
        name: by its place among those without a name.
        kind: of collective.
        dtype: of its items.
        sizes_bytes: of its tensors, 0 where that may differ from rank to rank.
        op: of reduction, empty where nothing is reduced.
        device: where its tensors are.
        root: of the collective, -1 where there is none.
    """
    known = engine_type(dtype)
    if known is None:
        # It is moved as bytes, and what is no reduction has room for the type's name.
        known, op = "uint8", str(dtype).removeprefix("torch.")
    items = [size // ITEM_BYTES[known] for size in sizes_bytes]
    if len(items) > 1:
        # They are reduced as one buffer, which must be cut alike on all ranks.
        parts = ", ".join(map(str, items[:8]))
        more = f"... ({layout_of(items):x})" if len(items) > 8 else ""
        device = f"{device} in parts of {parts}{more}"
    tensor = Tensor(known, (sum(items),))
    return Request(name, (tensor,), kind=kind.collective, op=op, device=device, root=root)
