"""Run on two ranks with `Control`: cases of DistributedOptimizer, beside one process."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import ReduceOp

import plink.torch
from plink.base.errors import WrongUseError

RATE = {"lr": 0.05, "momentum": 0.9}


def network() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))


def loss_of(model: nn.Module, step: int, rank: int) -> Tensor:
    drawn = torch.Generator().manual_seed(10 * step + rank)
    loss: Tensor = model(torch.randn(4, 5, generator=drawn)).square().mean()
    return loss


def distributed(model: nn.Module, **more: Any) -> plink.torch.DistributedOptimizer:
    inner = torch.optim.SGD(model.parameters(), **RATE)
    return plink.torch.DistributedOptimizer(inner, model.named_parameters(), **more)


def flat(model: nn.Module) -> Tensor:
    return torch.cat([one.detach().flatten() for one in model.parameters()])


def alone(steps: int, factor: float = 1.0, most: float = 0.0) -> Tensor:
    """Weights after steps of one process on the mean, times a factor, over both ranks' losses."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), **RATE)
    for step in range(steps):
        optimizer.zero_grad()
        (factor * (loss_of(model, step, 0) + loss_of(model, step, 1)) / 2).backward()
        if most:
            nn.utils.clip_grad_norm_(model.parameters(), most)
        optimizer.step()
    return flat(model)


def is_near(model: nn.Module, expected: Tensor) -> bool:
    return torch.allclose(flat(model), expected, rtol=1e-4, atol=1e-6)


def with_closure(rank: int) -> bool:
    model = network()
    optimizer = distributed(model)
    for step in range(4):

        def closure(step: int = step) -> Tensor:
            optimizer.zero_grad()
            loss = loss_of(model, step, rank)
            loss.backward()  # type: ignore[no-untyped-call]
            return loss

        assert optimizer.step(closure) > 0
    return is_near(model, alone(4))


def summed_before_the_step(rank: int) -> list[bool]:
    found = []
    for op, factor in ((ReduceOp.SUM, 2.0), (ReduceOp.AVG, 1.0)):
        for is_skipped in (False, True):
            model = network()
            optimizer = distributed(model, op=op, groups=2)
            for step in range(4):
                optimizer.zero_grad()
                loss_of(model, step, rank).backward()
                optimizer.synchronize()
                nn.utils.clip_grad_norm_(model.parameters(), 0.2)
                if is_skipped:
                    with optimizer.skip_synchronize():
                        optimizer.step()
                else:
                    optimizer.step()
            found.append(is_near(model, alone(4, factor, most=0.2)))
    return found


def added_to_a_sum(rank: int) -> list[str]:
    said = []
    for op in (ReduceOp.SUM, ReduceOp.AVG):
        model = network()
        optimizer = distributed(model, op=op)
        loss_of(model, 0, rank).backward()
        optimizer.synchronize()
        try:
            loss_of(model, 1, rank).backward()
            optimizer.step()
            said.append("")
        except WrongUseError as error:
            said.append(str(error))
        # What was reduced may be thrown away.
        optimizer.zero_grad()
        loss_of(model, 2, rank).backward()
        optimizer.synchronize()
        for one in model.parameters():
            one.grad = None
        loss_of(model, 3, rank).backward()
        optimizer.step()
    return said


def scaled(rank: int, way: str) -> tuple[bool, bool, list[float]]:
    """With an infinite gradient of one rank: whether weights stay, and are right at the end."""
    model = network()
    optimizer = distributed(model, groups=3)
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
    scales, has_stayed = [], False
    step = 0
    for attempt in range(5):
        optimizer.zero_grad()
        loss = scaler.scale(loss_of(model, step, rank))
        is_bad = attempt == 2
        before = flat(model)
        (loss * torch.inf if is_bad and rank == 1 else loss).backward()
        if way == "synchronized":
            optimizer.synchronize()
        if way != "plain":
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1e3)
        if way == "synchronized":
            with optimizer.skip_synchronize():
                scaler.step(optimizer)
        else:
            scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
        if is_bad:
            has_stayed = torch.equal(before, flat(model))
        else:
            step += 1
    return has_stayed, is_near(model, alone(4)), scales


def other_weights(rank: int) -> list[str]:
    """What is said of weights and options that differ, and of such that do not."""

    def moved(model: nn.Module) -> None:
        with torch.no_grad():
            model[2].weight[1, 1] += 1e-3 * rank  # type: ignore[index,operator]

    changes: list[tuple[Callable[[nn.Module], Any], dict[str, Any]]] = [
        (lambda _: None, {}),
        (moved, {}),
        (lambda _: None, {"lr": 0.05 + 0.01 * rank}),
        (lambda _: None, {"weight_decay": 0.01 * rank}),
    ]
    said = []
    for change, options in changes:
        model = network()
        inner = torch.optim.SGD(model.parameters(), **{**RATE, **options})
        optimizer = plink.torch.DistributedOptimizer(inner, model.named_parameters())
        # Made before weights are what they are to be.
        change(model)
        before = flat(model)
        loss_of(model, 0, rank).backward()
        try:
            optimizer.step()
            said.append("")
        except WrongUseError as error:
            said.append(str(error))
            assert torch.equal(before, flat(model))
    return said


def hooked(rank: int) -> list[str]:
    """Hooks, in the order in which they run, and what cannot be."""
    model = network()
    optimizer = distributed(model)
    ran: list[str] = []
    sums: list[Tensor] = []

    def before(*_: Any) -> None:
        ran.append("before")
        gradients = [one.grad for one in model.parameters() if one.grad is not None]
        sums.append(torch.stack([one.sum() for one in gradients]))

    optimizer.register_step_pre_hook(before)
    optimizer.register_step_post_hook(lambda *_: ran.append("after"))
    optimizer.register_state_dict_pre_hook(lambda *_: ran.append("saving"))
    optimizer.register_state_dict_post_hook(lambda *_: ran.append("saved"))
    optimizer.register_load_state_dict_pre_hook(lambda *_: ran.append("loading"))
    optimizer.register_load_state_dict_post_hook(lambda *_: ran.append("loaded"))
    loss_of(model, 0, rank).backward()
    optimizer.step()
    optimizer.load_state_dict(optimizer.state_dict())
    low, high = sums[0].clone(), sums[0].clone()
    dist.all_reduce(low, ReduceOp.MIN)
    dist.all_reduce(high, ReduceOp.MAX)
    assert torch.equal(low, high)
    uses: tuple[Callable[[], Any], ...] = (
        lambda: copy.deepcopy(optimizer),
        lambda: plink.torch.DistributedOptimizer(
            torch.optim.LBFGS(model.parameters()), model.named_parameters()
        ),
    )
    for use in uses:
        try:
            use()
            ran.append("nothing")
        except WrongUseError:
            ran.append("refused")
    return ran


def unlike_data(rank: int) -> bool:
    """A rank that joins before its first step counts in nothing."""
    model = network()
    optimizer = distributed(model)
    if rank == 0:
        loss_of(model, 0, 0).backward()
        optimizer.step()
    plink.torch.join()
    return True


def everything(say: Any, rank: int) -> dict[str, Any]:
    return {
        "closure": with_closure(rank),
        "synchronized": summed_before_the_step(rank),
        "added": added_to_a_sum(rank),
        "scaled": {way: scaled(rank, way) for way in ("plain", "unscaled", "synchronized")},
        "weights": other_weights(rank),
        "hooks": hooked(rank),
        "joined": unlike_data(rank),
    }
