"""Run on every rank: collectives of plink's group against the same of a Gloo group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import ReduceOp

Collective = Callable[[dist.ProcessGroup, int, int], "list[Tensor] | Tensor"]

OPS = {
    "sum": ReduceOp.SUM,
    "product": ReduceOp.PRODUCT,
    "min": ReduceOp.MIN,
    "max": ReduceOp.MAX,
    "band": ReduceOp.BAND,
    "bor": ReduceOp.BOR,
    "bxor": ReduceOp.BXOR,
}
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int32, torch.int64, torch.uint8, torch.int8)


def _own(rank: int, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Small whole numbers, which add up exactly in any order and type."""
    seeded = torch.Generator().manual_seed(7 * rank + sum(shape))
    return torch.randint(0, 4, shape, generator=seeded).to(dtype)


def broadcast(group: dist.ProcessGroup, rank: int, ranks: int) -> Tensor:
    tensor = _own(rank, 50)
    dist.broadcast(tensor, 1, group=group)
    return tensor


def reduce(group: dist.ProcessGroup, rank: int, ranks: int) -> Tensor:
    tensor = _own(rank, 50)
    dist.reduce(tensor, 0, group=group)
    return tensor if rank == 0 else torch.zeros(1)


def all_gather(group: dist.ProcessGroup, rank: int, ranks: int) -> list[Tensor]:
    parts = [torch.empty(5, 3) for _ in range(ranks)]
    dist.all_gather(parts, _own(rank, 5, 3), group=group)
    return parts


def all_gather_into_tensor(group: dist.ProcessGroup, rank: int, ranks: int) -> Tensor:
    whole = torch.empty(ranks * 4)
    dist.all_gather_into_tensor(whole, _own(rank, 4), group=group)
    return whole


def reduce_scatter(group: dist.ProcessGroup, rank: int, ranks: int) -> Tensor:
    part = torch.empty(6)
    dist.reduce_scatter(part, [_own(rank + i, 6) for i in range(ranks)], group=group)
    return part


def reduce_scatter_tensor(group: dist.ProcessGroup, rank: int, ranks: int) -> Tensor:
    part = torch.empty(6)
    dist.reduce_scatter_tensor(part, _own(rank, 6 * ranks), group=group)
    return part


def gather(group: dist.ProcessGroup, rank: int, ranks: int) -> list[Tensor]:
    parts = [torch.empty(7) for _ in range(ranks)] if rank == 1 else None
    dist.gather(_own(rank, 7), parts, dst=1, group=group)
    return parts or []


def scatter(group: dist.ProcessGroup, rank: int, ranks: int) -> Tensor:
    part = torch.empty(7)
    parts = [_own(i, 7) for i in range(ranks)] if rank == 1 else None
    dist.scatter(part, parts, src=1, group=group)
    return part


def all_to_all_single(group: dist.ProcessGroup, rank: int, ranks: int) -> Tensor:
    sent = [i + 1 for i in range(ranks)]
    received = torch.empty((rank + 1) * ranks)
    dist.all_to_all_single(received, _own(rank, sum(sent)), [rank + 1] * ranks, sent, group=group)
    return received


def all_to_all(group: dist.ProcessGroup, rank: int, ranks: int) -> list[Tensor]:
    parts = [torch.empty(3) for _ in range(ranks)]
    try:
        dist.all_to_all(parts, [_own(rank + i, 3) for i in range(ranks)], group=group)
    except RuntimeError as error:
        # Where Gloo has none, plink has none.
        assert "not support" in str(error)  # noqa: PT017
        return []
    return parts


def send_and_receive(group: dist.ProcessGroup, rank: int, ranks: int) -> Tensor:
    got = torch.empty(9)
    work = dist.isend(_own(rank, 9), (rank + 1) % ranks, group=group, tag=3)
    dist.recv(got, (rank - 1) % ranks, group=group, tag=3)
    assert work is not None
    work.wait()
    return got


def from_anybody(group: dist.ProcessGroup, rank: int, ranks: int) -> Tensor:
    if rank:
        dist.send(_own(rank, 4), 0, group=group, tag=8)
        return torch.zeros(1)
    got = {}
    for _ in range(ranks - 1):
        tensor = torch.empty(4)
        source = dist.recv(tensor, group=group, tag=8)
        got[source] = tensor
    return torch.stack([got[source] for source in sorted(got)])


def batch_of_messages(group: dist.ProcessGroup, rank: int, ranks: int) -> Tensor:
    got = torch.empty(9)
    operations = [
        dist.P2POp(dist.isend, _own(rank, 9), (rank + 1) % ranks, group),
        dist.P2POp(dist.irecv, got, (rank - 1) % ranks, group),
    ]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    return got


def objects(group: dist.ProcessGroup, rank: int, ranks: int) -> Tensor:
    gathered: list[Any] = [None] * ranks
    dist.all_gather_object(gathered, {"rank": rank}, group=group)
    told = ["from 0", rank] if rank == 0 else [None, None]
    dist.broadcast_object_list(told, 0, group=group)
    assert told == ["from 0", 0]
    return torch.tensor([item["rank"] for item in gathered])


def sparse(group: dist.ProcessGroup, rank: int, ranks: int) -> Tensor:
    tensor = torch.sparse_coo_tensor([[rank, 5]], [1.0, 2.0], (8,))
    dist.all_reduce(tensor, group=group)
    return tensor.to_dense()


def strided(group: dist.ProcessGroup, rank: int, ranks: int) -> list[Tensor]:
    # Gloo takes no such tensor: it gets a copy.
    tensors = [_own(rank, 6, 8).t(), _own(rank, 40)[::3], _own(rank, 2, 3, 4, 5)]
    tensors[2] = tensors[2].contiguous(memory_format=torch.channels_last)
    if dist.get_backend(group) == "gloo":
        tensors = [tensor.contiguous() for tensor in tensors]
    for tensor in tensors:
        dist.all_reduce(tensor, group=group)
    return tensors


def zero_size(group: dist.ProcessGroup, rank: int, ranks: int) -> list[Tensor]:
    tensors = [torch.empty(0), torch.empty(3, 0, 2)]
    for tensor in tensors:
        dist.all_reduce(tensor, group=group)
    return tensors


def coalesced(group: dist.ProcessGroup, rank: int, ranks: int) -> list[Tensor]:
    tensors = [_own(rank, 10), _own(rank, 3, 4), _own(rank, 1)]
    dist.all_reduce_coalesced(tensors, group=group)
    with dist._coalescing_manager(group):
        for tensor in tensors:
            dist.all_reduce(tensor, group=group)
    with dist._coalescing_manager(group, async_ops=True) as manager:
        for tensor in tensors:
            dist.all_reduce(tensor, group=group)
    manager.wait()
    return tensors


def complex_numbers(group: dist.ProcessGroup, rank: int, ranks: int) -> Tensor:
    tensor = torch.complex(_own(rank, 30), _own(rank + 1, 30))
    dist.all_reduce(tensor, group=group)
    return torch.view_as_real(tensor)


def scalar(group: dist.ProcessGroup, rank: int, ranks: int) -> Tensor:
    tensor = torch.tensor(rank + 1.0, requires_grad=True)
    dist.all_reduce(tensor.data, group=group)
    return tensor.detach()


COLLECTIVES: tuple[Collective, ...] = (
    broadcast,
    reduce,
    all_gather,
    all_gather_into_tensor,
    reduce_scatter,
    reduce_scatter_tensor,
    gather,
    scatter,
    all_to_all_single,
    all_to_all,
    send_and_receive,
    batch_of_messages,
    from_anybody,
    objects,
    sparse,
    strided,
    zero_size,
    coalesced,
    complex_numbers,
    scalar,
)


def _same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, Tensor):
        return ours.dtype == theirs.dtype and torch.equal(ours, theirs)
    return len(ours) == len(theirs) and all(map(_same, ours, theirs))


def every_collective(say: Any, rank: int) -> list[str]:
    """Names of those that differ."""
    ranks, gloo = dist.get_world_size(), dist.new_group(backend="gloo")
    world = dist.group.WORLD
    assert world is not None
    return [
        collective.__name__
        for collective in COLLECTIVES
        if not _same(collective(world, rank, ranks), collective(gloo, rank, ranks))
    ]


MOVED: tuple[Collective, ...] = (
    broadcast,
    reduce,
    all_gather,
    all_gather_into_tensor,
    reduce_scatter,
    reduce_scatter_tensor,
    gather,
    scatter,
    all_to_all_single,
    all_to_all,
    objects,
    coalesced,
)


def on_the_engine(say: Any, rank: int) -> list[str]:
    """Names of those that are not."""
    world = dist.group.WORLD
    assert world is not None
    elsewhere = []
    for collective in (*MOVED, lambda *_: dist.barrier()):
        before = world.statistics().collectives  # type: ignore[attr-defined]
        collective(world, rank, dist.get_world_size())
        if world.statistics().collectives == before:  # type: ignore[attr-defined]
            elsewhere.append(collective.__name__)
    return elsewhere


def refused(say: Any, rank: int) -> list[str]:
    """What was not."""
    two, three = torch.ones(2), torch.ones(3)
    wrong: dict[str, Callable[[], Any]] = {
        "all-gather": lambda: dist.all_gather_into_tensor(three, two),
        "all-gather of another type": lambda: dist.all_gather_into_tensor(
            torch.ones(4), two.double()
        ),
        "reduce-scatter": lambda: dist.reduce_scatter_tensor(two, three),
        "all-gather of lists": lambda: dist.all_gather([three, three], two),
        "reduce-scatter of lists": lambda: dist.reduce_scatter(two, [three, three]),
        "splits": lambda: dist.all_to_all_single(two, two, [1, 1], [2, 2]),
        "uneven": lambda: dist.all_to_all_single(three, three),
    }
    accepted = []
    for name, call in wrong.items():
        try:
            call()
        except (ValueError, RuntimeError, TypeError):
            continue
        accepted.append(name)
    dist.barrier()
    return accepted


def in_quick_succession(say: Any, rank: int) -> bool:
    """Each begun while a thread of Gloo's frees the tensor of the one before."""
    ranks = dist.get_world_size()
    one, two = torch.ones(1), torch.ones(ranks)

    def gather_coalesced() -> None:
        with dist._coalescing_manager():
            dist.all_gather_into_tensor(two, one)

    def scatter_coalesced() -> None:
        with dist._coalescing_manager():
            dist.reduce_scatter_tensor(one, two)

    begun: tuple[Callable[[], Any], ...] = (
        lambda: dist.broadcast(one, 0),
        lambda: dist.reduce(one, 0),
        lambda: dist.all_gather([one] * ranks, one),
        lambda: dist.all_gather_into_tensor(two, one),
        lambda: dist.reduce_scatter(one, [one] * ranks),
        lambda: dist.reduce_scatter_tensor(one, two),
        lambda: dist.gather(one, None if rank else [one] * ranks),
        lambda: dist.scatter(one, None if rank else [one] * ranks),
        lambda: dist.all_to_all_single(two, two.clone()),
        lambda: dist.all_reduce(one, ReduceOp.PRODUCT),
        lambda: dist.recv(one, 0) if rank else dist.send(one, 1),
        dist.barrier,
        gather_coalesced,
        scatter_coalesced,
    )
    for begin in begun:
        for _ in range(40):
            dist.broadcast(torch.ones(5), 0)
            begin()
    return True


def every_type_and_operation(say: Any, rank: int) -> list[str]:
    gloo = dist.new_group(backend="gloo")
    different = []
    for name, op in OPS.items():
        bitwise = name in ("band", "bor", "bxor")
        for dtype in INTEGERS if bitwise else (*FLOATS, *INTEGERS):
            ours, theirs = (_own(rank, 1001, dtype=dtype) for _ in range(2))
            dist.all_reduce(ours, op)
            dist.all_reduce(theirs, op, group=gloo)
            if not _same(ours, theirs):
                different.append(f"{name} {dtype}")
    truth = torch.tensor([rank == 1, True, False])
    dist.all_reduce(truth, ReduceOp.MAX)
    if truth.tolist() != [True, True, False]:
        different.append("max of bool")
    return different


def averages(say: Any, rank: int) -> list[Any]:
    """Of 0, 2, 4; whole numbers Gloo does not divide."""
    tensors = [torch.full((5,), 2 * rank, dtype=dtype) for dtype in (*FLOATS, torch.int64)]
    for tensor in tensors:
        dist.all_reduce(tensor, ReduceOp.AVG)
    return [tensor.tolist() for tensor in tensors]
