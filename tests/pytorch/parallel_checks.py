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
from torch.utils.checkpoint import checkpoint

from plink.base.errors import WrongUseError
from plink.torch import DataParallel, bucket_caps
from plink.training.overlap.schedule import Schedule

SCHEDULES = ("ddp", "wfbp", "single", "lazy(2KB)")
STEPS = 3

Gradients = dict[str, Tensor | None]


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(9, 30), nn.Tanh(), nn.Linear(30, 41), nn.Tanh(), nn.Linear(41, 7)
    )


def inputs(rank: int, step: int = 0) -> Tensor:
    return torch.randn(6, 9, generator=torch.Generator().manual_seed(100 * step + rank))


def gradients(model: nn.Module) -> Gradients:
    """By the names that the module inside has."""
    inner = model.module if isinstance(model, DataParallel) else model
    return {
        name: None if one.grad is None else one.grad.clone()
        for name, one in inner.named_parameters()
    }


def averaged(own: Gradients) -> Gradients:
    """Over ranks, one after the other; None of ranks where there is none counts as zeros."""
    ranks: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(ranks, own)
    found: Gradients = {}
    for name in own:
        here = [one[name] for one in ranks if one[name] is not None]
        found[name] = sum(here) / len(ranks) if here else None
    return found


def same(found: Gradients, wanted: Gradients, most: float = 1e-5) -> bool:
    for name, one in found.items():
        other = wanted[name]
        if one is None or other is None:
            if one is not other:
                return False
        elif (one - other).abs().max() > most * max(1.0, float(other.abs().max())):
            return False
    return True


def trained(model: nn.Module, rank: int) -> list[Tensor]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    found = []
    for step in range(STEPS):
        optimizer.zero_grad()
        model(inputs(rank, step)).square().sum().backward()
        found += [one.grad.clone() for one in model.parameters()]
        optimizer.step()
    return found + [one.detach() for one in model.parameters()]


def like_ddp(say: Any, rank: int) -> list[str]:
    """Schedules whose gradients, or what is learnt by them, are not DDP's to the bit."""
    net = network()
    wanted = trained(DistributedDataParallel(copy.deepcopy(net)), rank)
    wrong = []
    for schedule in (*SCHEDULES, Schedule((2, 3, 6))):
        for finds_unused in (False, True):
            model = DataParallel(copy.deepcopy(net), schedule, find_unused_parameters=finds_unused)
            found = trained(model, rank)
            if not all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True)):
                wrong.append(f"{schedule} {finds_unused}")
    return wrong


def all_ways(say: Any, rank: int) -> list[str]:
    """Names of the checks below that fail."""
    return [check.__name__ for check in WAYS if not check(rank)]


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


def passes_add_up(rank: int) -> bool:
    """Under no_sync, and without."""
    net = network()
    model = DataParallel(copy.deepcopy(net), "wfbp")
    for step in range(3):
        net(inputs(rank, step)).square().sum().backward()
    wanted = averaged(gradients(net))
    with model.no_sync():
        for step in range(2):
            model(inputs(rank, step)).square().sum().backward()
    alone = gradients(model)
    model(inputs(rank, 2)).square().sum().backward()
    is_right = same(gradients(model), wanted) and not same(alone, averaged(alone))
    for one in model.parameters():
        one.grad = None
    for step in range(3):
        model(inputs(rank, step)).square().sum().backward()
    return is_right and same(gradients(model), wanted)


class Branches(nn.Module):
    """Ranks use the branches that they are told, and never the last."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.common = nn.Linear(9, 9)
        self.first, self.second, self.never = nn.Linear(9, 9), nn.Linear(9, 9), nn.Linear(9, 9)

    def forward(self, x: Tensor, branches: str) -> Tensor:
        x = self.common(x)
        for name in branches.split():
            x = x + getattr(self, name)(x)
        return x


def unused_parameters_count_as_zeros(rank: int) -> bool:
    """And those that no rank has used keep what they had, None or not."""
    net = Branches()
    model = DataParallel(copy.deepcopy(net), "wfbp")
    is_right = True
    for step, branches in enumerate(("first", "first second", "second")):
        for one in (*net.parameters(), *model.parameters()):
            one.grad = None
        used = branches if rank == 0 else ""
        net(inputs(rank, step), used).square().sum().backward()
        model(inputs(rank, step), used).square().sum().backward()
        is_right &= same(gradients(model), averaged(gradients(net)))
    model.module.never.weight.grad = torch.full((9, 9), rank + 0.1)
    model(inputs(rank), "first").sum().backward()
    is_right &= bool((model.module.never.weight.grad == rank + 0.1).all())
    return is_right and model.module.never.bias.grad is None


def unused_parameters_are_zeros_if_nobody_asks(rank: int) -> bool:
    model = DataParallel(Branches(), "wfbp", find_unused_parameters=False)
    model(inputs(rank), "first").sum().backward()
    return not any(one.grad.any() for one in model.module.never.parameters())


def what_a_pass_under_no_sync_used_is_sent(rank: int) -> bool:
    net = Branches()
    model = DataParallel(copy.deepcopy(net))
    for one in (net, model):
        with model.no_sync():
            one(inputs(rank), "first").square().sum().backward()
        one(inputs(rank, 1), "second").square().sum().backward()
    return same(gradients(model), averaged(gradients(net)))


def tied_and_frozen_parameters(rank: int) -> bool:
    net = nn.Sequential(nn.Linear(9, 9), nn.Linear(9, 9), nn.Linear(9, 9))
    torch.manual_seed(1)
    for one in net.parameters():
        nn.init.normal_(one)
    net[2].weight = net[0].weight
    net[1].weight.requires_grad_(False)
    model = DataParallel(copy.deepcopy(net), "wfbp")
    for one in (net, model):
        one(inputs(rank)).square().sum().backward()
    found = gradients(model)
    return found["1.weight"] is None and same(found, averaged(gradients(net)))


def several_types(rank: int) -> bool:
    torch.manual_seed(0)
    net = nn.ModuleList([nn.Linear(9, 9), nn.Linear(9, 9).double(), nn.Linear(9, 9)])

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.all = copy.deepcopy(net)

        def forward(self, x: Tensor) -> Tensor:
            return self.all[2](self.all[1](self.all[0](x).double()).float())

    plain, is_right = Net(), True
    for schedule in SCHEDULES:
        model = DataParallel(copy.deepcopy(plain), schedule)
        for one in (plain, model):
            one.zero_grad()
            one(inputs(rank)).square().sum().backward()
        is_right &= same(gradients(model), averaged(gradients(plain)))
        is_right &= len(model.pools) == 2
    return is_right


class Checkpointed(nn.Module):
    """Every layer is computed again in the backward pass, in passes within if reentrant."""

    def __init__(self, is_reentrant: bool) -> None:
        super().__init__()
        self.layers, self.is_reentrant = network(), is_reentrant
        self.unused = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = x.clone().requires_grad_()
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=self.is_reentrant)
        return x


def checkpoints(rank: int) -> bool:
    is_right = True
    for is_reentrant in (False, True):
        net = Checkpointed(is_reentrant)
        model = DataParallel(copy.deepcopy(net), "wfbp")
        for step in range(2):
            for one in (net, model):
                one.zero_grad()
                one(inputs(rank, step)).square().sum().backward()
            is_right &= same(gradients(model), averaged(gradients(net)))
    return is_right


def kept_graphs_and_several_forward_passes(rank: int) -> bool:
    net = network()
    model = DataParallel(copy.deepcopy(net), "wfbp")
    for one in (net, model):
        loss = (one(inputs(rank)) * one(inputs(rank, 1))).square().sum()
        loss.backward(retain_graph=True)
        loss.backward()
    return same(gradients(model), averaged(gradients(net)))


def gradients_that_are_only_asked_for(rank: int) -> bool:
    """torch.autograd.grad reduces nothing, and leaves later passes as they are."""
    net = network()
    model = DataParallel(copy.deepcopy(net), "wfbp")
    x = inputs(rank).requires_grad_()
    for one in (net, model):
        loss = one(x).square().sum()
        # On one rank alone.
        if rank == 0:
            torch.autograd.grad(loss, x, retain_graph=True)
        loss.backward()
    return same(gradients(model), averaged(gradients(net)))


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


class Sum(torch.autograd.Function):
    """Over ranks, in both directions."""

    @staticmethod
    def forward(_: Any, x: Tensor) -> Tensor:
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(_: Any, gradient: Tensor) -> Tensor:
        gradient = gradient.clone()
        dist.all_reduce(gradient)
        return gradient


class BatchNorm(nn.Module):
    """Centres by the mean over all ranks: PyTorch's own synchronised one has no CPU."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(x - Sum.apply(x.mean(0)) / dist.get_world_size())


def synchronised_batch_norm(rank: int) -> bool:
    """Its collectives run between those of gradients, in both directions."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(9, 9), BatchNorm(), nn.Linear(9, 9), BatchNorm())
    model = DataParallel(copy.deepcopy(net), "wfbp")
    is_right = True
    for step in range(3):
        for one in (net, model):
            one.zero_grad()
            one(inputs(rank, step)).square().sum().backward()
        is_right &= same(gradients(model), averaged(gradients(net)))
    return is_right


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
    return all(torch.equal(one, said[1][name]) for name, one in said[0].items())


def another_backend(rank: int) -> bool:
    net = network()
    model = DataParallel(copy.deepcopy(net), "lazy(1KB)", dist.new_group(backend="gloo"))
    for one in (net, model):
        one(inputs(rank)).square().sum().backward()
    return same(gradients(model), averaged(gradients(net)))


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


class Shared(nn.Module):
    """Reentrant checkpoints that have a layer in common, whose gradients then come twice.

    Args:
        first, last: what is before them and behind them.
    """

    def __init__(self, first: nn.Module, last: nn.Module) -> None:
        super().__init__()
        self.first, self.shared, self.last = first, nn.Linear(9, 9), last

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x.clone().requires_grad_())
        for _ in range(2):
            x = checkpoint(self.shared, torch.tanh(x), use_reentrant=True)
        return self.last(x)


def gradients_that_come_twice(rank: int) -> bool:
    """They are reduced twice if all others were there the first time, else refused."""
    torch.manual_seed(0)
    is_right = True
    for last in (nn.Identity(), nn.Linear(9, 9)):
        net = Shared(nn.Identity(), last)
        model = DataParallel(copy.deepcopy(net), "wfbp")
        for one in (net, model):
            one(inputs(rank)).square().sum().backward()
        is_right &= same(gradients(model), averaged(gradients(net)))
    try:
        model = DataParallel(Shared(nn.Linear(9, 9), nn.Identity()), "wfbp")
        model(inputs(rank)).sum().backward()
    except WrongUseError as error:
        return is_right and "came twice in one backward pass" in str(error)
    return False


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
    passes_add_up,
    unused_parameters_count_as_zeros,
    unused_parameters_are_zeros_if_nobody_asks,
    what_a_pass_under_no_sync_used_is_sent,
    tied_and_frozen_parameters,
    several_types,
    checkpoints,
    kept_graphs_and_several_forward_passes,
    gradients_that_are_only_asked_for,
    clipping_and_scaling,
    synchronised_batch_norm,
    states_are_ddps,
    another_backend,
    the_order_is_rank_0s,
    caps_make_ddps_buckets,
    # Last: collectives of it are left.
    gradients_that_come_twice,
)


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
    model = DataParallel(Failing(), "wfbp")
    model(inputs(rank), False).sum().backward()
    before = sum(one.grad is not None for one in model.parameters())
    model.zero_grad()
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
