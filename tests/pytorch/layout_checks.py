"""Run on every rank: collectives of tensors of every memory layout, against Gloo's."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import ReduceOp


def _negative(base: Tensor) -> Tensor:
    """What PyTorch only marks as negative."""
    return torch._neg_view(base[:24:2])


# A view of memory that holds at least 60 elements.
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "plain": lambda base: base[:12],
    "offset": lambda base: base[7:19],
    "every second": lambda base: base[:24:2],
    "transposed": lambda base: base[:12].view(3, 4).t(),
    "columns": lambda base: base[:40].view(4, 10)[:, 2:5],
    "expanded": lambda base: base[3:4].expand(12),
    "expanded rows": lambda base: base[:3].view(3, 1).expand(3, 4),
    "inner expanded": lambda base: base[:24:4].view(2, 1, 3).expand(2, 2, 3),
    "channels last": lambda base: base[:24].view(1, 3, 2, 4).permute(0, 3, 1, 2)[:, :, :, :1],
    "one of a column": lambda base: base[:12].view(1, 12)[:, 1],
    "one, expanded": lambda base: base[:1].expand(1),
    "number": lambda base: base[5],
    "none": lambda base: base[:0],
    "no rows": lambda base: base[:12].view(3, 4)[:, 1][:0],
    "no columns": lambda base: base[:12].view(3, 4)[:, 2:2],
    "conjugate": lambda base: base[:24:2].conj(),
    "negative": _negative,
}
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
WHOLE = (torch.int32, torch.int64, torch.int8, torch.uint8)
TYPES = (*FLOATS, *WHOLE, torch.bool, torch.complex64, torch.complex128)
OPS = (
    ReduceOp.SUM,
    ReduceOp.PRODUCT,
    ReduceOp.MIN,
    ReduceOp.MAX,
    ReduceOp.BAND,
    ReduceOp.BOR,
    ReduceOp.BXOR,
)


def memory(chance: random.Random, dtype: torch.dtype) -> Tensor:
    """Small whole numbers, which add and multiply exactly in any order."""
    numbers = torch.tensor([chance.randrange(3) for _ in range(60)])
    if dtype.is_complex:
        return torch.complex(numbers.double(), numbers.flip(0).double()).to(dtype)
    return numbers.to(dtype)


class Views:
    """Tensors of a layout, and plain ones with the same elements.

    `chance`: of this rank; `layout`: by name; `dtype`: of their memory.
    """

    def __init__(self, chance: random.Random, layout: str, dtype: torch.dtype) -> None:
        self._chance, self._layout, self._dtype = chance, LAYOUTS[layout], dtype
        self._made: list[tuple[Tensor, Tensor, Tensor]] = []

    def __call__(self, count: int) -> tuple[list[Tensor], list[Tensor]]:
        views, plain = [], []
        for _ in range(count):
            base = memory(self._chance, self._dtype)
            before = base.clone()
            view = self._layout(base)
            values = view.resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
            self._made.append((base, before, values))
            views.append(view)
            plain.append(values)
        return views, plain

    def are_right(self) -> bool:
        """Whether views hold what plain tensors hold, and the memory around is as it was."""
        for base, before, values in self._made:
            expected = before.clone()
            view = self._layout(expected)
            for dimension, stride in enumerate(view.stride()):
                if stride == 0 and view.shape[dimension] > 1:
                    view = view.narrow(dimension, 0, 1)
                    values = values.narrow(dimension, 0, 1)  # noqa: PLW2901
            view.copy_(values)
            if not torch.equal(base, expected):
                return False
        return True


def all_reduce(tensors: Any, group: Any, op: Any, rank: int, ranks: int) -> None:
    dist.all_reduce(tensors(1)[0], op, group=group)


def reduce(tensors: Any, group: Any, op: Any, rank: int, ranks: int) -> None:
    (tensor,) = tensors(1)
    # What others hold afterwards is nobody's business.
    dist.reduce(tensor if rank == 1 else tensor.clone(), 1, op, group=group)


def reduce_scatter(tensors: Any, group: Any, op: Any, rank: int, ranks: int) -> None:
    (result,) = tensors(1)
    dist.reduce_scatter(result, tensors(ranks), op, group=group)


def coalesced(tensors: Any, group: Any, op: Any, rank: int, ranks: int) -> None:
    dist.all_reduce_coalesced(tensors(3), op, group=group)


def broadcast(tensors: Any, group: Any, op: Any, rank: int, ranks: int) -> None:
    dist.broadcast(tensors(1)[0], 1, group=group)


def all_gather(tensors: Any, group: Any, op: Any, rank: int, ranks: int) -> None:
    (source,) = tensors(1)
    dist.all_gather(tensors(ranks), source, group=group)


def gather(tensors: Any, group: Any, op: Any, rank: int, ranks: int) -> None:
    (source,) = tensors(1)
    dist.gather(source, tensors(ranks) if rank == 1 else None, dst=1, group=group)


def scatter(tensors: Any, group: Any, op: Any, rank: int, ranks: int) -> None:
    (result,) = tensors(1)
    dist.scatter(result, tensors(ranks) if rank == 1 else None, src=1, group=group)


def all_to_all_single(tensors: Any, group: Any, op: Any, rank: int, ranks: int) -> None:
    result, source = tensors(2)
    splits = [source.shape[0] if source.dim() and peer == 0 else 0 for peer in range(ranks)]
    if source.dim():
        # All rows go to rank 0, which gets as many from rank 0 alone.
        got = splits if rank == 0 else [0] * ranks
        sent = splits if rank == 0 else [0] * ranks
        dist.all_to_all_single(
            result if rank == 0 else result[:0],
            source if rank == 0 else source[:0],
            got,
            sent,
            group=group,
        )


def messages(tensors: Any, group: Any, op: Any, rank: int, ranks: int) -> None:
    result, source = tensors(2)
    work = dist.isend(source, (rank + 1) % ranks, group=group)
    dist.recv(result, (rank - 1) % ranks, group=group)
    assert work is not None
    work.wait()


REDUCING = (all_reduce, reduce, reduce_scatter, coalesced)
MOVING = (broadcast, all_gather, gather, scatter, all_to_all_single, messages)


def is_reduced(dtype: torch.dtype, op: Any) -> bool:
    """Whether Gloo has this operation of this type."""
    if dtype.is_complex:
        return op is ReduceOp.SUM
    if op in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR):
        return dtype in WHOLE
    return dtype is not torch.bool or op is not ReduceOp.SUM


def every_layout(say: Any, rank: int, seed: int, most: int) -> list[str]:
    """What differs from Gloo's, of so many collectives, types and operations that are drawn."""
    gloo, ranks = dist.new_group(backend="gloo"), dist.get_world_size()
    same, own = random.Random(seed), random.Random(100 * seed + rank)
    cases = [
        (collective, dtype, op)
        for collective, dtype, op in itertools.product(REDUCING, TYPES, OPS)
        if is_reduced(dtype, op)
    ]
    cases += [(collective, dtype, None) for collective in MOVING for dtype in TYPES]
    wrong = []
    for collective, dtype, op in same.sample(cases, min(most, len(cases))):
        for layout in same.sample(sorted(LAYOUTS), 2):
            if layout == "negative" and not dtype.is_signed:
                continue
            if dtype.is_complex and (collective is gather or layout == "conjugate"):
                # Gloo gathers no complex numbers, and PyTorch hands on no conjugates.
                continue
            views = Views(own, layout, dtype)
            plain: list[Tensor] = []

            def strided(count: int, views: Views = views, plain: list[Tensor] = plain) -> Any:
                made, values = views(count)
                plain.extend(values)
                return made

            name = f"{collective.__name__} {dtype} {op} {layout}"
            try:
                collective(strided, dist.group.WORLD, op, rank, ranks)
                given = iter(plain)
                collective(lambda count: [next(given) for _ in range(count)], gloo, op, rank, ranks)  # noqa: B023
            except (RuntimeError, ValueError, TypeError) as error:
                wrong.append(f"{name}: {error}")
                continue
            if not views.are_right():
                wrong.append(name)
    return wrong


def far_expanded(say: Any, rank: int) -> list[float]:
    """One element that stands for millions."""
    tensor = torch.full((1,), rank + 1, dtype=torch.int8)
    dist.all_reduce(tensor.expand(2_000_000), ReduceOp.SUM)
    halves = torch.full((12,), 2, dtype=torch.int8)
    dist.all_reduce(halves[::2], ReduceOp.PRODUCT)
    return [tensor.item(), *halves.tolist()]
