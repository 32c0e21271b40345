"""What each rank of `test_named.py` does."""

from __future__ import annotations

import logging
import os
import random
import time
from typing import Any

import torch
import torch.distributed as dist

import plink.torch


def permuted(say: Any, rank: int, tensors: int, iterations: int) -> Any:
    """Every rank announces in an order of its own, which differs by iteration."""
    sizes = [random.Random(i).randint(0, 5000) for i in range(tensors)]
    ranks = dist.get_world_size()
    checks = []
    for iteration in range(iterations):
        order = list(range(tensors))
        random.Random(1000 * iteration + rank).shuffle(order)
        values = {}
        works = []
        for i in order:
            values[i] = torch.full((sizes[i],), float(rank + i + iteration))
            works.append(plink.torch.all_reduce(values[i], name=f"t{i}"))
        for work in works:
            work.wait()
        whole = sum(range(ranks))
        for i in range(tensors):
            expected = whole + ranks * (i + iteration)
            if not bool((values[i] == expected).all()):
                checks.append((iteration, i, values[i][:3].tolist(), expected))
    return checks


def permuted_without_names(say: Any, rank: int) -> Any:
    """The same in a group in which ranks do not agree."""
    order = list(range(4))
    random.Random(rank).shuffle(order)
    try:
        works = [dist.all_reduce(torch.ones(100 * (i + 1)), async_op=True) for i in order]
        for work in works:
            work.wait()
    except dist.DistBackendError as error:
        dist.destroy_process_group()
        return str(error)
    return "no error"


def unlike(say: Any, rank: int) -> Any:
    """Some ranks run the machine in Python, in a group of each mode."""
    os.environ["PLINK_CONTROL"] = "python" if rank % 2 else "native"
    sums = []
    for mode in ("tree", "full", "bitvector"):
        control = plink.torch.Control(mode=mode)
        group = dist.new_group(pg_options=plink.torch.Options(control=control))
        for _ in range(3):
            values = [torch.full((5,), float(rank + i)) for i in range(4)]
            order = sorted(range(4), key=lambda i: (i + rank) % 4)
            works = [plink.torch.all_reduce(values[i], f"t{i}", group=group) for i in order]
            for work in works:
                work.wait()
            sums.append([float(value[0]) for value in values])
        dist.destroy_process_group(group)
    try:
        plink.torch.all_reduce(torch.ones(1), "late", group=group)
    except Exception as error:
        return sums, str(error)
    return sums, ""


def mixed(say: Any, rank: int) -> Any:
    """Named and unnamed collectives beside each other, groups, factors, means."""
    ranks = dist.get_world_size()
    found: dict[str, Any] = {}
    group = [torch.ones(3) * rank, torch.ones(2, 2)]
    works = plink.torch.grouped_all_reduce(group, name="g")
    unnamed = torch.ones(4) * rank
    pending = dist.all_reduce(unnamed, async_op=True)
    mean = torch.ones(5) * rank
    named = plink.torch.all_reduce(mean, "mean", op=dist.ReduceOp.AVG)
    scaled = torch.ones(2)
    plink.torch.all_reduce(scaled, "s", prescale_factor=0.5, postscale_factor=10.0).wait()
    named.wait()
    pending.wait()
    for work in works:
        work.wait()
    gathered = [torch.zeros(1) for _ in range(ranks)]
    dist.all_gather(gathered, torch.tensor([float(rank)]))
    whole = torch.tensor([float(rank)])
    dist.broadcast(whole, 1)
    dist.barrier()
    found["group"] = [tensor.flatten().tolist() for tensor in group]
    found["unnamed"] = unnamed.tolist()
    found["mean"] = mean.tolist()
    found["scaled"] = scaled.tolist()
    found["gathered"] = [float(one) for one in gathered]
    found["broadcast"] = whole.tolist()
    return found


def uneven(say: Any, rank: int) -> Any:
    """Ranks have different amounts of data, and join."""
    sums = []
    for step in range(rank + 1):
        value = torch.ones(3) * (step + 1)
        plink.torch.all_reduce(value, name="x").wait()
        sums.append(float(value[0]))
    last = plink.torch.join()
    again = torch.ones(1)
    plink.torch.all_reduce(again, name="x").wait()
    return sums, last, float(again)


def differing(say: Any, rank: int) -> Any:
    """One rank has another shape; all fail alike, and go on."""
    value = torch.ones(4 if rank != 1 else 5)
    other = torch.ones(2)
    bad = plink.torch.all_reduce(value, name="bad")
    good = plink.torch.all_reduce(other, name="good")
    good.wait()
    try:
        bad.wait()
    except dist.DistBackendError as error:
        return str(error), other.tolist()
    return "no error", other.tolist()


def stalling(say: Any, rank: int) -> Any:
    """One rank announces nothing for a while."""
    heard: list[tuple[float, str]] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            # On a busy machine ranks may be told of the other tensor, too.
            if "'late'" in record.getMessage():
                heard.append((time.monotonic(), record.getMessage()))

    logging.getLogger("plink.torch.named").addHandler(Ear())
    # Before any rank can announce the tensor that is late.
    began = time.monotonic()
    plink.torch.all_reduce(torch.ones(1), name="first").wait()
    value = torch.ones(1)
    work = None if rank == 2 else plink.torch.all_reduce(value, name="late")
    while not heard and time.monotonic() < began + 40:
        time.sleep(0.01)
    if work is None:
        work = plink.torch.all_reduce(value, name="late")
    work.wait()
    return [(at - began, text) for at, text in heard], value.tolist()


def losing(say: Any, rank: int) -> Any:
    """One rank ends while the others wait for it."""
    plink.torch.all_reduce(torch.ones(1), name="first").wait()
    if rank == 1:
        dist.destroy_process_group()
        return "left"
    work = plink.torch.all_reduce(torch.ones(1), name="second")
    try:
        work.wait()
    except dist.DistBackendError as error:
        said = [str(error)]
    try:
        plink.torch.all_reduce(torch.ones(1), name="third").wait()
    except dist.DistBackendError as error:
        said.append(str(error))
    dist.destroy_process_group()
    return said


def refusing(say: Any, rank: int) -> Any:
    """What cannot be announced, each in one sentence."""
    said = []
    for call in (
        lambda: plink.torch.all_reduce(torch.ones(2).to_sparse(), "x"),
        lambda: plink.torch.all_reduce(torch.ones(2), "#1"),
        lambda: plink.torch.all_reduce(torch.ones(2, dtype=torch.int32), "x", prescale_factor=0.5),
        lambda: plink.torch.all_reduce(torch.ones(2, dtype=torch.bool), "x"),
    ):
        try:
            call()
        except Exception as error:
            said.append(f"{type(error).__name__}: {error}")
    first = torch.ones(1)
    if rank == 1:
        dist.barrier()
    work = plink.torch.all_reduce(first, "twice")
    if rank == 0:
        try:
            plink.torch.all_reduce(torch.ones(1), "twice")
        except dist.DistBackendError as error:
            said.append(str(error))
        say("announced")
        dist.barrier()
    work.wait()
    return said


def begin_differently(say: Any, rank: int) -> Any:
    """One rank is to agree on the order, the other not."""
    control = plink.torch.Control() if rank else None
    try:
        dist.new_group(pg_options=plink.torch.Options(control=control))
    except dist.DistBackendError as error:
        return str(error)
    return "no error"


class Branchy(torch.nn.Module):
    """Branches whose gradients come about in an order that depends on the rank."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.branches = torch.nn.ModuleList(torch.nn.Linear(6, 6) for _ in range(5))
        self.unused = torch.nn.Linear(2, 2)
        self.head = torch.nn.Linear(6, 1)

    def forward(self, inputs: torch.Tensor, order: list[int]) -> torch.Tensor:
        for i in order:
            inputs = torch.tanh(self.branches[i](inputs)) + inputs
        out: torch.Tensor = self.head(inputs)
        return out


def trainings(say: Any, rank: int, of_groups: list[tuple[Any, int]]) -> list[float]:
    """How far trainings are from those of one process, by groups of gradients and passes a step."""
    return [training(rank, groups, passes) for groups, passes in of_groups]


def training(rank: int, groups: Any, passes: int) -> float:
    """The distance of parameters after some steps from those of one process that has all data."""
    ranks = dist.get_world_size()
    model, alone = Branchy(), Branchy()
    optimizer = plink.torch.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9),
        model.named_parameters(),
        groups=groups,
        backward_passes_per_step=passes,
    )
    single = torch.optim.SGD(alone.parameters(), lr=0.05, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3)
    single_schedule = torch.optim.lr_scheduler.StepLR(single, 3)
    for step in range(6):
        inputs = {
            (one, again): torch.randn(
                4, 6, generator=torch.Generator().manual_seed(99 * step + 9 * one + again)
            )
            for one in range(ranks)
            for again in range(passes)
        }
        orders = []
        for one in range(ranks):
            orders.append(list(range(5)))
            random.Random(10 * step + one).shuffle(orders[-1])
        optimizer.zero_grad()
        for again in range(passes):
            model(inputs[rank, again], orders[rank]).pow(2).mean().backward()
        if step % 2:
            optimizer.synchronize()
            with optimizer.skip_synchronize():
                optimizer.step()
        else:
            optimizer.step()
        schedule.step()
        single.zero_grad()
        for (one, _), data in inputs.items():
            (alone(data, orders[one]).pow(2).mean() / ranks).backward()
        for parameter in alone.unused.parameters():
            parameter.grad = torch.zeros_like(parameter)
        single.step()
        single_schedule.step()
    apart = [
        float((mine - its).abs().max())
        for mine, its in zip(model.parameters(), alone.parameters(), strict=True)
    ]
    return max(apart)


def misusing_the_optimizer(say: Any, rank: int) -> Any:
    """What cannot be, each in a sentence."""
    said = []
    model = Branchy()
    inner = torch.optim.SGD(model.parameters(), lr=0.1)
    named = list(model.named_parameters())
    for arguments in (
        {"named_parameters": named[1:]},
        {"named_parameters": [*named, named[0]]},
        {"named_parameters": named, "groups": "much"},
        {"named_parameters": named, "groups": [["head.weight"], ["head.weight"]]},
        {"named_parameters": named, "groups": [["nobody"]]},
        {"named_parameters": named, "backward_passes_per_step": 0},
    ):
        try:
            plink.torch.DistributedOptimizer(inner, **arguments)
        except Exception as error:
            said.append(f"{type(error).__name__}: {error}")
    optimizer = plink.torch.DistributedOptimizer(inner, named)
    inputs = torch.ones(2, 6)
    model(inputs, [0, 1, 2, 3, 4]).sum().backward()
    for call in (
        lambda: model(inputs, [0, 1, 2, 3, 4]).sum().backward(),
        optimizer.zero_grad,
    ):
        try:
            call()
        except Exception as error:
            said.append(f"{type(error).__name__}: {error}")
    optimizer.step()
    optimizer.zero_grad()
    return said
