"""Which released collectives share a buffer."""

from __future__ import annotations

from collections.abc import Sequence

from plink.training.control.requests import Request


def can_share(one: Request, other: Request) -> bool:
    """Return whether both can be in one buffer: all tensors of both have one type."""
    return (
        one.is_fusible
        and other.is_fusible
        and one.op == other.op
        and one.device == other.device
        and one.prescale == other.prescale
        and one.postscale == other.postscale
        and len({tensor.dtype for tensor in (*one.tensors, *other.tensors)}) == 1
    )


def fuse_requests(requests: Sequence[Request], fusion_bytes: int) -> list[tuple[Request, ...]]:
    """Batches, greedily and looking ahead: each takes all later ones that fit and still fill it.

    Args:
        requests: in the order in which they became ready.
        fusion_bytes: of a batch at most; one that is larger is alone.
    """
    left = list(requests)
    batches: list[tuple[Request, ...]] = []
    while left:
        batch = [left[0]]
        size_bytes = left[0].size_bytes
        passed: list[Request] = []
        for request in left[1:]:
            fits = size_bytes + request.size_bytes <= fusion_bytes
            if fits and can_share(batch[0], request):
                batch.append(request)
                size_bytes += request.size_bytes
            else:
                passed.append(request)
        batches.append(tuple(batch))
        left = passed
    return batches
