"""Run on every rank: ranks that call the same collective with other types, sizes, roots."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import ReduceOp

import plink.torch

WAIT_S = 20.0


def _messages(group: Any, rank: int, tensor: Tensor) -> None:
    if rank == 0:
        dist.send(tensor, 1, group=group)
    elif rank == 1:
        dist.recv(tensor, 0, group=group)
    # So that the third hears of it, too.
    dist.barrier(group=group)


def _expected_late(group: Any, rank: int, tensor: Tensor) -> None:
    """What is received later than it comes."""
    if rank == 0:
        dist.send(tensor, 1, group=group)
    work = dist.barrier(group=group, async_op=True)
    work.wait()
    if rank == 1:
        dist.recv(tensor, group=group)
    dist.barrier(group=group)


def _cases(rank: int) -> dict[str, Callable[[Any], Any]]:
    """By name what fails on all ranks; rank 1 has another type, or other sizes."""
    ranks = dist.get_world_size()
    pairs = {
        "float32 and int32": (torch.float32, torch.int32),
        "int8 and uint8": (torch.int8, torch.uint8),
        "bool and uint8": (torch.bool, torch.uint8),
        "float16 and bfloat16": (torch.float16, torch.bfloat16),
        "complex64 and float64": (torch.complex64, torch.float64),
    }
    calls: dict[str, Callable[[Any, Callable[..., Tensor]], Any]] = {
        "broadcast": lambda group, one: dist.broadcast(one(6), 0, group=group),
        "all_gather": lambda group, one: dist.all_gather(
            [one(6) for _ in range(ranks)], one(6), group=group
        ),
        "all_gather_into_tensor": lambda group, one: dist.all_gather_into_tensor(
            one(6 * ranks), one(6), group=group
        ),
        "gather": lambda group, one: dist.gather(
            one(6), [one(6) for _ in range(ranks)] if rank == 0 else None, group=group
        ),
        "scatter": lambda group, one: dist.scatter(
            one(6), [one(6) for _ in range(ranks)] if rank == 0 else None, group=group
        ),
        "all_to_all_single": lambda group, one: dist.all_to_all_single(
            one(ranks), one(ranks), group=group
        ),
        "messages": lambda group, one: _messages(group, rank, one(6)),
        "large messages": lambda group, one: _messages(group, rank, one(100_000)),
        "kept messages": lambda group, one: _expected_late(group, rank, one(6)),
        "all_reduce": lambda group, one: group.allreduce([one(6)], ReduceOp.SUM).wait(),
        "reduce_scatter": lambda group, one: dist.reduce_scatter(
            one(6), [one(6) for _ in range(ranks)], ReduceOp.MAX, group=group
        ),
    }
    cases: dict[str, Callable[[Any], Any]] = {}
    for types, both in pairs.items():
        for name, call in calls.items():
            dtype = both[rank == 1]
            # What tells types apart is the same for all calls; one pair of a size goes through all.
            if types != "float16 and bfloat16" and name not in ("broadcast", "messages"):
                continue

            def one(count: int, dtype: torch.dtype = dtype) -> Tensor:
                return torch.ones(count, dtype=dtype)

            cases[f"{name} of {types}"] = lambda group, call=call, one=one: call(group, one)
    sizes = [5, 7] if rank != 1 else [7, 5]
    for op in (ReduceOp.SUM, ReduceOp.PRODUCT):
        cases[f"coalesced {op}"] = lambda group, op=op: dist.all_reduce_coalesced(
            [torch.ones(size) for size in sizes], op, group=group
        )
        cases[f"lengths {op}"] = lambda group, op=op: dist.all_reduce(
            torch.ones(sizes[0]), op, group=group
        )
    cases["operations on the engine"] = lambda group: dist.all_reduce(
        torch.ones(5), [ReduceOp.SUM, ReduceOp.MAX][rank == 1], group=group
    )
    cases["operations of Gloo"] = lambda group: dist.all_reduce(
        torch.ones(5, dtype=torch.int8), [ReduceOp.SUM, ReduceOp.MAX][rank == 1], group=group
    )
    cases["one by Gloo"] = lambda group: dist.all_reduce(
        torch.ones(5), [ReduceOp.SUM, ReduceOp.PRODUCT][rank == 1], group=group
    )
    return cases


def every_mismatch(say: Any, rank: int) -> list[str]:
    """Those that raise no error on this rank."""
    silent = []
    for name, call in _cases(rank).items():
        group: Any = dist.new_group()
        try:
            call(group)
            group.barrier().wait()
            silent.append(name)
        except dist.DistBackendError:
            pass
        dist.destroy_process_group(group)
    return silent


def two_threads(say: Any, rank: int) -> Any:
    """Two threads broadcast from different roots, in other orders: errors, and what works then."""
    errors: list[str] = []
    turns = [threading.Event(), threading.Event()]

    def broadcast(root: int) -> None:
        turns[root].wait(WAIT_S)
        tensor = torch.full((4,), float(rank))
        work = dist.broadcast(tensor, root, async_op=True)
        turns[1 - root].set()
        try:
            work.wait()
        except dist.DistBackendError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=broadcast, args=(root,)) for root in range(2)]
    # Rank 0 begins with root 0, rank 1 with root 1.
    turns[rank].set()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    after = torch.tensor([rank + 1.0])
    dist.all_reduce(after)
    plink.torch.all_reduce(after, "by name").wait()
    return sorted(errors), after.item()


def unlike_without_names(say: Any, rank: int) -> Any:
    """Collectives without a name that differ in something are refused, and the group goes on."""
    said = []
    one = torch.ones(4)
    uses: tuple[Callable[[], Any], ...] = (
        lambda: dist.reduce(one, 0, [ReduceOp.SUM, ReduceOp.MAX][rank]),
        lambda: dist.reduce(one, rank),
        lambda: dist.broadcast(one if rank else one.int(), 0),
        lambda: dist.broadcast(one.to(torch.int8) if rank else one.to(torch.uint8), 0),
        lambda: dist.all_reduce_coalesced([torch.ones(5 + 2 * rank), torch.ones(7 - 2 * rank)]),
        lambda: dist.barrier() if rank else dist.broadcast(one, 0),
    )
    for use in uses:
        try:
            use()
            said.append("")
        except dist.DistBackendError as error:
            said.append(str(error))
    after = torch.ones(2)
    dist.all_reduce_coalesced([after, torch.ones(3)])
    return said, after.tolist()
