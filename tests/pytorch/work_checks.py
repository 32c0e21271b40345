"""Run on every rank: works in flight, futures, groups, faults and training."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from plink.engine import Options
from pytorch.processes import GROUP_TIMEOUT_S
from pytorch.stalls import new_group_with_timeout


def many_in_flight(say: Any, rank: int) -> bool:
    """Works that nobody keeps, of tensors that nobody keeps; waited for in any order."""
    ranks = dist.get_world_size()
    tensors = [torch.full((1000 * i + 1,), rank + i, dtype=torch.int64) for i in range(20)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    futures = [work.get_future() for work in works[::3]]
    for _ in range(5):
        dist.all_reduce(torch.ones(5000), async_op=True)
    for work in reversed(works):
        assert work.wait()
        assert work.is_completed()
        assert work.is_success()
        assert work.exception() is None
    for i, tensor in enumerate(tensors):
        assert torch.all(tensor == sum(range(ranks)) + ranks * i)
        assert works[i].result()[0] is tensor
    chained = futures[0].then(lambda future: future.value()[0] * 2)
    assert chained.wait().item() == 2 * tensors[0].item()
    return all(future.done() or bool(future.wait()) for future in futures)


def sub_groups(say: Any, rank: int) -> list[float]:
    """Two overlapping groups, one of a single rank, and one by the device's name."""
    sums = []
    for members in ([0, 2], [1, 2], [1], [0, 1, 2]):
        group = dist.new_group(members, pg_options=Options(deterministic=True))
        tensor = torch.tensor([rank + 1.0])
        if rank in members:
            assert dist.get_backend(group) == "plink"
            dist.all_reduce(tensor, group=group)
            dist.barrier(group=group)
            dist.destroy_process_group(group)
        sums.append(tensor.item())
    named = dist.new_group(backend="cpu:plink")
    dist.all_reduce(torch.ones(3), group=named)
    return sums


def with_whom_memory_is_shared(say: Any, rank: int) -> list[int]:
    world: Any = dist.group.WORLD
    return sorted({one.peer for one in world.statistics().connections if one.is_shared_memory})


def again(say: Any, rank: int) -> list[float]:
    """Destroyed and made again, on the same store."""
    sums = []
    for _ in range(2):
        tensor = torch.ones(2)
        dist.all_reduce(tensor)
        sums.append(tensor.sum().item())
        world = dist.group.WORLD
        assert world is not None
        ranks, store = dist.get_world_size(), world.get_group_store()
        dist.destroy_process_group()
        dist.init_process_group("plink", store=store, rank=rank, world_size=ranks)
    return sums


def lost_peer(say: Any, rank: int, in_ddp: bool, new_store: str) -> tuple[str, list[float]]:
    """Rank 2 is killed; what the others are told, and what they reduce without it."""
    tensor = torch.ones(100_000)
    dist.all_reduce(tensor)
    said = _trained_until_lost(say, tensor) if in_ddp else _reduced_until_lost(say, tensor)
    dist.destroy_process_group()
    dist.init_process_group("plink", init_method=new_store, rank=rank, world_size=2)
    one = torch.ones(3)
    dist.all_reduce(one)
    return said, one.tolist()


def _reduced_until_lost(say: Any, tensor: Tensor) -> str:
    say("running")
    while True:
        try:
            dist.all_reduce(tensor)
        except dist.DistBackendError as error:
            return f"{type(error).__name__}: {error}"


def _trained_until_lost(say: Any, tensor: Tensor) -> str:
    model = DistributedDataParallel(nn.Linear(50, 50))
    # After the first of them it agrees on its buckets, which is Gloo's affair.
    for _ in range(3):
        model(torch.ones(2, 50)).sum().backward()
    say("running")
    while True:
        try:
            model(torch.ones(2, 50)).sum().backward()
        except RuntimeError as error:
            # The process group can be left behind, and what is asked of it later fails too.
            try:
                dist.all_reduce(tensor)
            except dist.DistBackendError as later:
                return f"{type(error).__name__}: {error} / {later}"


def failed_future(say: Any, rank: int) -> str:
    """Rank 1 leaves at once; a work that waits for it fails in its future too."""
    if rank == 1:
        dist.destroy_process_group()
        return ""
    work = dist.all_reduce(torch.ones(1000), async_op=True)
    try:
        work.get_future().wait()
    except RuntimeError as error:
        assert isinstance(work.exception(), dist.DistBackendError)
        assert not work.is_success()
        dist.destroy_process_group()
        return str(error)
    return "no error"


def waiting_callbacks(say: Any, rank: int) -> list[float]:
    """Callbacks that await other works, begun by them; more of them than there are processors."""
    ranks = dist.get_world_size()

    def again(future: torch.futures.Future[Any]) -> Tensor:
        tensor = future.value()[0].clone()
        dist.all_reduce(tensor, async_op=True).get_future().wait()
        return tensor

    sums = []
    for _ in range(3):
        # Works are begun in the same order everywhere: the next one after this one's callback.
        future = dist.all_reduce(torch.ones(1000), async_op=True).get_future()
        sums.append(future.then(again).wait()[0].item())
    assert sums == [float(ranks * ranks)] * 3
    return sums


def futures_after_waiting(say: Any, rank: int) -> list[bool]:
    """Whether futures are complete when `wait` has returned, and run what is added then at once."""
    complete = []
    for asked_before in (True, False) * 20:
        work = dist.all_reduce(torch.ones(100_000), async_op=True)
        if asked_before:
            future = work.get_future()
            called: list[int] = []
            future.add_done_callback(lambda _, called=called: called.append(1))
        work.wait()
        future = work.get_future()
        then = future.then(lambda ended: ended.value()[0].sum().item())
        complete.append(future.done() and then.done())
    return complete


def other_groups(say: Any, rank: int) -> list[float]:
    """Groups of other ranks on one store, before and after the end of all."""
    world = dist.group.WORLD
    assert world is not None
    store = world.get_group_store()
    sums = []
    for members in ([0, 1], [1, 2]):
        group = dist.new_group(members)
        tensor = torch.tensor([rank + 1.0])
        if rank in members:
            dist.all_reduce(tensor, group=group)
        sums.append(tensor.item())
        dist.barrier()
        dist.destroy_process_group()
        dist.init_process_group("plink", store=store, rank=rank, world_size=3)
    return sums


def own_groups(say: Any, rank: int, store: str) -> list[float]:
    """Groups that PyTorch does not know, one after the other in the same store."""
    import plink.torch

    place = dist.FileStore(store, 2)
    sums = []
    for _ in range(2):
        group = plink.torch.create(place, rank, 2, datetime.timedelta(seconds=30))
        tensor = torch.tensor([rank + 1.0])
        group.allreduce(tensor, op=dist.ReduceOp.MAX).wait()
        sums.append(tensor.item())
        group.shutdown()
    return sums


def late_peer(say: Any, rank: int, timeout_s: float) -> str:
    """Rank 1 does not join; `wait` has its own timeout, and the group's ends the all-reduce.

    Args:
        timeout_s: timeout of the group, in s.
    """
    group = new_group_with_timeout(timeout_s)
    world = dist.group.WORLD
    assert world is not None
    if rank == 1:
        world.get_group_store().wait(["over"], datetime.timedelta(seconds=60))
        dist.destroy_process_group()
        return ""
    work = dist.all_reduce(torch.ones(1000), group=group, async_op=True)
    try:
        work.wait(datetime.timedelta(seconds=0.1))
    except dist.DistBackendError as error:
        assert "has not ended within 0.1 s" in str(error)  # noqa: PT017
    try:
        work.wait()
    except dist.DistBackendError as error:
        world.get_group_store().set("over", "")
        dist.destroy_process_group()
        return str(error)
    return "no error"


def _model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 400)
    )


def _trained(group: dist.ProcessGroup, rank: int, **options: Any) -> tuple[list[float], Tensor]:
    model = DistributedDataParallel(
        _model(), process_group=group, bucket_cap_mb=0.01, broadcast_buffers=True, **options
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    chance = torch.Generator().manual_seed(rank)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = model(torch.randn(5, 1, 8, 8, generator=chance)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    gradients = torch.cat([one.grad.flatten() for one in model.parameters()])  # type: ignore[union-attr]
    return losses, gradients


def training(say: Any, rank: int) -> list[bool]:
    """Two ranks: a sum of two is the same in either order, so nothing may differ."""
    world, gloo = dist.group.WORLD, dist.new_group(backend="gloo")
    assert world is not None
    same = []
    for options in (
        {},
        {"gradient_as_bucket_view": True},
        {"find_unused_parameters": True},
        {"gradient_as_bucket_view": True, "static_graph": True},
    ):
        ours, theirs = (_trained(group, rank, **options) for group in (world, gloo))
        same.append(ours[0] == theirs[0] and torch.equal(ours[1], theirs[1]))
    return same


def hooked_training(say: Any, rank: int) -> bool:
    """A communication hook that works on the future."""
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    gradients = []
    for backend in ("plink", "gloo"):
        group = dist.new_group(backend=backend)
        model = DistributedDataParallel(nn.Linear(30, 3), process_group=group)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.fill_(0.5)
        model.register_comm_hook(group, default_hooks.fp16_compress_hook)
        model(torch.full((2, 30), rank + 1.0)).sum().backward()
        gradients.append([one.grad for one in model.parameters()])
    return all(map(torch.equal, *gradients))  # type: ignore[arg-type]


def power_sgd(say: Any, rank: int) -> list[float]:
    """PyTorch's PowerSGD hook, whose callbacks begin all-reduces and await them."""
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook

    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(64, 64))
    state = powerSGD_hook.PowerSGDState(
        None, matrix_approximation_rank=1, start_powerSGD_iter=2, min_compression_rate=0.5
    )
    model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    for _ in range(4):
        model(torch.full((2, 64), rank + 1.0)).sum().backward()
    found = [parameter.grad for parameter in model.parameters()]
    return [0.0 if one is None else one.sum().item() for one in found]


def compiled(say: Any, rank: int) -> bool:
    """A model that is compiled with DDP in it, whose C++ calls the group meanwhile."""
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(20, 20), nn.ReLU(), nn.Linear(20, 2))
    model = torch.compile(DistributedDataParallel(plain), backend="eager")
    for _ in range(2):
        plain.zero_grad()
        model(torch.full((3, 20), rank + 1.0)).sum().backward()
    gradient = plain[0].weight.grad
    assert gradient is not None
    sums = [torch.zeros_like(gradient) for _ in range(dist.get_world_size())]
    dist.all_gather(sums, gradient)
    return all(torch.equal(one, gradient) for one in sums) and bool(gradient.any())


def reduced(say: Any, rank: int) -> float:
    tensor = torch.full((40_000,), rank + 1.0)
    dist.all_reduce(tensor)
    assert torch.all(tensor == tensor[0])
    return tensor[0].item()


def bytes_sent(say: Any, rank: int) -> dict[int, bool]:
    """By peer whether this rank has sent payload there, of a whole group and of one of two."""
    tensor = torch.ones(100_000)
    dist.all_reduce(tensor)
    dist.barrier()
    pair = dist.new_group([0, 1])
    if rank < 2:
        dist.all_reduce(torch.ones(10), group=pair)
    world: Any = dist.group.WORLD
    return {peer.peer: peer.bytes_sent > 10_000 for peer in world.statistics().peers}


def ciphers(say: Any, rank: int) -> list[set[str]]:
    """What encrypts the connections of the whole group, and of one that numbers ranks anew."""
    last_two = dist.new_group([1, 2])
    groups: list[Any] = [dist.group.WORLD, *([last_two] if rank > 0 else [])]
    found = []
    for group in groups:
        tensor = torch.ones(100_000)
        dist.all_reduce(tensor, group=group)
        assert tensor[0] == group.size()
        found.append({one.cipher for one in group.statistics().connections})
    return found


def destroyed_in_flight(say: Any, rank: int) -> list[Any]:
    """Rank 1 destroys a group with work in flight, of which all have joined the first alone."""
    found: list[Any] = []
    for _ in range(3):
        group = dist.new_group()
        tensor = torch.full((3_000_000,), rank + 1.0)
        dist.barrier(group=group)
        work = dist.all_reduce(tensor, group=group, async_op=True)
        assert work is not None
        if rank == 1:
            dist.all_reduce(torch.ones(5), group=group, async_op=True)
            dist.destroy_process_group(group)
        else:
            work.wait()
            dist.destroy_process_group(group)
        found.append(tensor.unique().tolist())
    return found


def unanswered_messages(say: Any, rank: int, timeout_s: float) -> list[Any]:
    """Return what is said of messages that nobody sends, or receives, and after how many seconds.

    Args:
        timeout_s: timeout of the group, in s.
    """
    group = new_group_with_timeout(timeout_s)
    tensors = {"send": torch.ones(1_000_000), "recv": torch.ones(3), "strided": torch.ones(6)[::2]}
    ways: list[Callable[[], Any]] = [
        lambda: dist.recv(tensors["recv"], 1, tag=4, group=group),
        lambda: dist.recv(tensors["strided"], 1, tag=4, group=group),
        lambda: dist.recv(tensors["recv"], tag=5, group=group),
        lambda: dist.send(tensors["send"], 1, tag=6, group=group),
        lambda: dist.irecv(tensors["recv"], 1, tag=7, group=group).wait(),  # type: ignore[union-attr]
        lambda: dist.irecv(tensors["recv"], 1, tag=8, group=group).get_future().wait(),  # type: ignore[union-attr]
        lambda: dist.isend(tensors["send"], 1, tag=9, group=group).get_future().wait(),  # type: ignore[union-attr]
    ]

    def outcome(way: Callable[[], Any]) -> list[Any]:
        began_s = time.monotonic()
        try:
            way()
        except RuntimeError as error:
            return [str(error), time.monotonic() - began_s]
        return ["no error", 0.0]

    found: list[Any] = []
    if rank == 0:
        # All wait at the same time.
        with ThreadPoolExecutor(len(ways)) as threads:
            found += threads.map(outcome, ways)
    # What comes later is still received, however late it is.
    store = dist.distributed_c10d._get_default_store()
    if rank == 0:
        store.set("done", "")
    store.wait(["done"], datetime.timedelta(seconds=60))
    group.set_timeout(datetime.timedelta(seconds=GROUP_TIMEOUT_S))
    if rank == 1:
        dist.send(torch.full((3,), 7.0), 0, tag=4, group=group)
        dist.send(torch.full((3,), 8.0), 0, tag=4, group=group)
        dist.send(torch.full((3,), 9.0), 0, tag=4, group=group)
    else:
        dist.recv(tensors["recv"], 1, tag=4, group=group)
    found.append(tensors["recv"].tolist())
    return found
