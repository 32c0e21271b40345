"""Run on every rank: what models do in plink.torch.DataParallel; each check says if it is right."""

from __future__ import annotations

import copy
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from plink.base.errors import WrongUseError
from plink.torch import DataParallel
from plink.training.overlap.schedule import Schedule
from pytorch.parallel_gradients import averaged, gradients, inputs, network, same

SCHEDULES = ("ddp", "wfbp", "single", "lazy(2KB)")


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


class Sparse(nn.Module):
    """Embeddings whose gradients are sparse, by modules and by the function, between layers."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(4, 4)
        self.words = nn.Embedding(20, 9, sparse=True)
        self.bags = nn.EmbeddingBag(20, 9, sparse=True, mode="sum")
        self.table = nn.Parameter(torch.randn(20, 9))
        self.last = nn.Linear(9, 4)

    def forward(self, numbers: Tensor, has_table: bool) -> Tensor:
        mixed = self.words(numbers).sum(0, keepdim=True) + self.bags(numbers.view(1, -1))
        if has_table:
            mixed = mixed + nn.functional.embedding(numbers, self.table, sparse=True).sum(0)
        out: Tensor = self.first(self.last(mixed))
        return out


def sparse_embeddings(rank: int) -> bool:
    """Gradients are the dense means, also where they add up, and of a rank that has none."""
    numbers = torch.tensor([1, 3, 3, 7 + rank])
    is_right = True
    for schedule in ("wfbp", "ddp"):
        plain, model = Sparse(), DataParallel(Sparse(), schedule)
        for _ in range(2):
            for one in (plain, model):
                one(numbers, rank == 1).square().sum().backward()
            dense = {
                name: None if one is None else one.to_dense()
                for name, one in gradients(plain).items()
            }
            is_right &= same(gradients(model), averaged(dense))
            for one in (plain, model):
                one.zero_grad()
        with model.no_sync():
            model(numbers, True).sum().backward()
        model(numbers, False).sum().backward()
        plain(numbers, True).sum().backward()
        plain(numbers, False).sum().backward()
        dense = {
            name: None if one is None else one.to_dense() for name, one in gradients(plain).items()
        }
        is_right &= same(gradients(model), averaged(dense))
    return is_right


class Complex(nn.Module):
    """Complex weights, of which each rank uses others."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.all = nn.ParameterList(torch.randn(3, 4, dtype=dtype) for _ in range(4))
        self.real = nn.Linear(4, 4)

    def forward(self, used: list[int], x: Tensor) -> Tensor:
        weights = self.all[0]
        for which in used:
            weights = weights * self.all[which]
        out: Tensor = self.real(weights.abs().square().float() * x)
        return out


def complex_weights(rank: int) -> bool:
    """With parameters that one rank has no use for, and one that none has."""
    is_right = True
    for dtype in (torch.complex64, torch.complex128):
        for finds_unused in (True, False):
            plain = Complex(dtype)
            model = DataParallel(Complex(dtype), "wfbp", find_unused_parameters=finds_unused)
            used = [[1, 2], [1]][rank]
            for _ in range(2):
                for one in (plain, model):
                    one.zero_grad()
                    one(used, inputs(rank)[:3, :4]).square().sum().backward()
                wanted = averaged(gradients(plain))
                if not finds_unused:
                    unused = plain.all[3]
                    wanted["all.3"] = torch.zeros_like(unused)
                is_right &= same(gradients(model), wanted)
    return is_right


def schedules_say_how_many_are_in_flight(rank: int) -> bool:
    is_right = True
    for most in (1, 2, 3, None):
        net = network()
        model = DataParallel(copy.deepcopy(net), Schedule((1, 2, 3, 4, 5, 6), most))
        group: Any = model.group
        begin, works = group.allreduce, []

        def counted(*args: Any) -> Any:
            settled.append([work._is_settled for work in works])  # noqa: B023
            works.append(begin(*args))  # noqa: B023
            return works[-1]  # noqa: B023

        settled: list[list[bool]] = []
        group.allreduce = counted
        for one in (net, model):
            one(inputs(rank)).square().sum().backward()
        del group.allreduce
        is_right &= same(gradients(model), averaged(gradients(net))) and len(works) == 6
        for before in settled:
            under_way = len(before) - sum(before)
            is_right &= under_way == (min(len(before), most - 1) if most else len(before))
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


MODELS = (
    passes_add_up,
    unused_parameters_count_as_zeros,
    unused_parameters_are_zeros_if_nobody_asks,
    what_a_pass_under_no_sync_used_is_sent,
    tied_and_frozen_parameters,
    several_types,
    sparse_embeddings,
    complex_weights,
    schedules_say_how_many_are_in_flight,
    checkpoints,
    kept_graphs_and_several_forward_passes,
    gradients_that_are_only_asked_for,
    synchronised_batch_norm,
    # Last: collectives of it are left.
    gradients_that_come_twice,
)
