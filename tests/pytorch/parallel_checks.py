"""Run on every rank: plink.torch.DataParallel, and PyTorch's DistributedDataParallel beside it."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from plink.base.errors import WrongUseError
from plink.torch import Control, DataParallel, Options, bucket_caps
from plink.training.overlap.schedule import Schedule
from pytorch.parallel_gradients import averaged, gradients, inputs, network, same
from pytorch.parallel_models import MODELS, SCHEDULES, Branches
from pytorch.stalls import new_group_with_timeout

STEPS = 3


def trained(model: nn.Module, rank: int) -> list[Tensor]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    found = []
    dtype = next(model.parameters()).dtype
    for step in range(STEPS):
        optimizer.zero_grad()
        model(inputs(rank, step).to(dtype)).square().sum().backward()
        found += [one.grad.clone() for one in model.parameters()]
        optimizer.step()
    return found + [one.detach() for one in model.parameters()]


def like_ddp(say: Any, rank: int) -> list[str]:
    """Schedules whose gradients, or what is learnt by them, are not DDP's to the bit."""
    wrong = []
    for dtype, schedules in (
        (torch.float32, (*SCHEDULES, Schedule((2, 3, 6)))),
        (torch.float64, ("wfbp",)),
        (torch.bfloat16, ("wfbp",)),
    ):
        net = network().to(dtype)
        wanted = trained(DistributedDataParallel(copy.deepcopy(net)), rank)
        for schedule in schedules:
            for finds_unused in (False, True):
                model = DataParallel(
                    copy.deepcopy(net), schedule, find_unused_parameters=finds_unused
                )
                found = trained(model, rank)
                if not all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True)):
                    wrong.append(f"{dtype} {schedule} {finds_unused}")
    return wrong


def gradients_lie_in_the_pool(rank: int) -> bool:
    """Before a pass, after it and after a step, whether gradients are set to None or kept."""
    model = DataParallel(network(), "wfbp")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(inputs(rank)).sum().backward()
    [pool] = model.pools

    def lie() -> bool:
        return all(
            pool.parameter(i).grad is pool.view(i)
            and pool.view(i).data_ptr() == pool.flat.data_ptr() + 4 * pool.bounds(i)[0]
            for i in range(len(pool))
        )

    is_right = lie()
    for to_none in (False, True):
        optimizer.zero_grad(set_to_none=to_none)
        is_right &= to_none or lie()
        model(inputs(rank)).sum().backward()
        is_right &= lie()
        optimizer.step()
        is_right &= lie()
    return is_right


def nothing_of_the_pools_size_is_copied(rank: int) -> bool:
    """Where gradients are kept: they are summed where they lie, and sent from there."""
    model = DataParallel(nn.Linear(300, 300), "single")
    x = torch.randn(2, 300)
    for _ in range(2):
        model(x).sum().backward()
        for one in model.parameters():
            one.grad.zero_()
    with torch.profiler.profile(record_shapes=True) as profile:
        model(x).sum().backward()
    copied = {"aten::cat", "aten::copy_", "aten::clone", "aten::_foreach_copy_"}
    return not any(
        event.name in copied and any(math.prod(shape) >= 300 * 300 for shape in event.input_shapes)
        for event in profile.events()
    )


def clipping_and_scaling(rank: int) -> bool:
    """A gradient that is not finite on one rank lets all ranks skip the step."""
    model = DataParallel(network(), "wfbp")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    norms = []
    for step in range(3):
        before = [one.detach().clone() for one in model.parameters()]
        optimizer.zero_grad()
        x = inputs(rank, step)
        if step == 1 and rank == 0:
            x[0, 0] = float("inf")
        scaler.scale(model(x).square().sum()).backward()
        scaler.unscale_(optimizer)
        norms.append(float(nn.utils.clip_grad_norm_(model.parameters(), 0.5)))
        scaler.step(optimizer)
        scaler.update()
        is_same = all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
        if is_same != (step == 1):
            return False
    said: list[Any] = [None, None]
    dist.all_gather_object(said, (norms[0], norms[2], scaler.get_scale()))
    return said[0] == said[1]


def states_are_ddps(rank: int) -> bool:
    torch.manual_seed(rank)
    net = nn.Sequential(nn.Linear(9, 9), nn.BatchNorm1d(9))
    net[1].running_mean.fill_(rank)
    model = DataParallel(net)
    if model.state_dict()["module.1.running_mean"].any():
        return False
    other = DistributedDataParallel(nn.Sequential(nn.Linear(9, 9), nn.BatchNorm1d(9)))
    other.load_state_dict(model.state_dict())
    model.load_state_dict(other.state_dict())
    said: list[Any] = [None, None]
    dist.all_gather_object(said, model.state_dict())
    try:
        copy.deepcopy(model)
        return False
    except WrongUseError:
        pass
    return all(torch.equal(one, said[1][name]) for name, one in said[0].items())


def other_groups(rank: int) -> bool:
    """Gloo's, one that agrees by name, and one of this rank alone."""
    net = network()
    net(inputs(rank)).square().sum().backward()
    alone = [dist.new_group([one]) for one in range(2)][rank]
    mean = averaged(gradients(net))
    is_right = True
    for group, wanted in (
        (dist.new_group(backend="gloo"), mean),
        (dist.new_group(pg_options=Options(control=Control())), mean),
        (alone, gradients(net)),
    ):
        # Parameters are taken from rank 0, which has the same.
        model = DataParallel(network(), "lazy(1KB)", group)
        for _ in range(2):
            model.zero_grad()
            model(inputs(rank)).square().sum().backward()
        is_right &= same(gradients(model), wanted)
    return is_right


def the_order_is_rank_0s(rank: int) -> bool:
    """After the first pass; ranks' own may differ."""
    model = DataParallel(Branches(), "wfbp")
    before = model.arrangement.names
    branches = "never first second" if rank == 0 else "second first never"
    for _ in range(2):
        model(inputs(rank), branches).sum().backward()
    said: list[Any] = [None, None]
    dist.all_gather_object(said, model.arrangement)
    names = [name.partition(".")[0] for name in said[0].names[::2]]
    return (
        said[0] == said[1]
        and before[0] == "never.bias"
        and names == ["second", "first", "never", "common"]
    )


def caps_make_ddps_buckets(rank: int) -> bool:
    net = network()
    sizes_bytes = [one.nbytes for one in net.parameters()][::-1]
    for cuts in ((1, 4, 6), (3, 6), (6,), (1, 2, 3, 4, 5, 6)):
        caps: Any = bucket_caps(net, Schedule(cuts))
        model = DistributedDataParallel(net, bucket_cap_mb_list=caps)
        for _ in range(3):
            model(inputs(rank)).sum().backward()
        said = model._get_ddp_logging_data()["rebuilt_bucket_sizes"]
        wanted = [sum(sizes_bytes[first:end]) for first, end in pairwise((0, *cuts))]
        if [int(one) for one in said.split(",")] != wanted:
            return False
    return True


WAYS: tuple[Callable[[int], bool], ...] = (
    gradients_lie_in_the_pool,
    nothing_of_the_pools_size_is_copied,
    clipping_and_scaling,
    states_are_ddps,
    other_groups,
    the_order_is_rank_0s,
    caps_make_ddps_buckets,
    *MODELS,
)


def all_ways(say: Any, rank: int) -> list[str]:
    """Names of the checks that fail."""
    return [check.__name__ for check in WAYS if not check(rank)]


def fail(_: Tensor) -> None:
    raise ValueError("bang")


class Failing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before, self.after = nn.Linear(9, 9), nn.Linear(9, 9)

    def forward(self, x: Tensor, fails: bool) -> Tensor:
        x = self.before(x)
        if fails:
            x.register_hook(fail)
        return self.after(x)


def failing_pass(say: Any, rank: int) -> None:
    """Rank 1 fails between its gradients, and stays.

    Says what the pass and the next forward pass say, and how many gradients there were and are.
    """
    # Longer than a busy machine lets a rank wait before the pass that fails.
    group = new_group_with_timeout(6.0)
    model = DataParallel(Failing(), "wfbp", group)
    model(inputs(rank), False).sum().backward()
    before = sum(one.grad is not None for one in model.parameters())
    model.zero_grad()
    dist.barrier()
    try:
        model(inputs(rank), rank == 1).sum().backward()
        said = "nothing"
    except (RuntimeError, ValueError) as error:
        said = f"{type(error).__name__}: {error}"
    try:
        model(inputs(rank), False)
        later = "nothing"
    except WrongUseError as error:
        later = str(error)
    after = sum(one.grad is not None for one in model.parameters())
    say((said, later, before, after))
    time.sleep(60.0)


def different_modules(say: Any, rank: int) -> list[str]:
    said = []
    for make in (
        lambda: nn.Linear(3, 3 + rank),
        lambda: nn.Sequential(*[nn.Linear(3, 3) for _ in range(2 + (rank == 2))]),
        lambda: nn.Linear(3, 3, bias=rank != 1),
    ):
        try:
            DataParallel(make())
        except WrongUseError as error:
            said.append(str(error))
    return said
