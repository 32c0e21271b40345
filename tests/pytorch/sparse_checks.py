"""Run on every rank: plink.torch.SparseSGD, beside dense training and plain loops."""

from __future__ import annotations

import copy
import io
import os
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import DistBackendError
from torch.nn.parallel import DistributedDataParallel

import plink.torch
from plink.base.errors import WrongUseError
from plink.torch import CSC, DataParallel, SparseSGD
from plink.training.sparse.corrections import CORRECTIONS
from sparse import oracle

SPARSE = {"sparsity": 0.7, "chunk": 64, "warmup_steps": 6}
RATE = {"lr": 0.05, "momentum": 0.9}
STEPS = 60
# More than those of the warm-up.
LOOP_STEPS = 35


def network(dtype: torch.dtype = torch.float32) -> nn.Module:
    torch.manual_seed(0)
    layers = [nn.Linear(9, 30), nn.Tanh(), nn.Linear(30, 41), nn.Tanh(), nn.Linear(41, 7)]
    return nn.Sequential(*layers).to(dtype)


def loss_of(model: nn.Module, step: int) -> Tensor:
    """Of a batch that depends on the rank and the step alone."""
    drawn = torch.Generator().manual_seed(100 * step + dist.get_rank())
    dtype = next(model.parameters()).dtype
    inputs = torch.randn(6, 9, generator=drawn).to(dtype)
    loss: Tensor = (model(inputs) - 1).square().mean()
    return loss


def train(
    model: nn.Module, optimizer: Any, steps: range, each: Callable[[int], Any] = lambda _: None
) -> list[Any]:
    found = []
    for step in steps:
        optimizer.zero_grad()
        loss_of(model, step).backward()
        optimizer.step()
        found.append(each(step))
    return found


def flat(model: nn.Module) -> Tensor:
    return torch.cat([one.detach().flatten() for one in model.parameters()])


def same_on_all(tensor: Tensor) -> bool:
    least, most = tensor.clone(), tensor.clone()
    dist.all_reduce(least, dist.ReduceOp.MIN)
    dist.all_reduce(most, dist.ReduceOp.MAX)
    return torch.equal(least, most)


def dense() -> dict[str, tuple[bool, float]]:
    """Whether sparsity 0 is DDP with PyTorch's SGD, to the bit, and how far it is at most."""
    said = {}
    for more in ({}, {"weight_decay": 0.01}, {"nesterov": True, "weight_decay": 0.01}):
        net = network()
        wrapped = DistributedDataParallel(net)
        train(wrapped, torch.optim.SGD(net.parameters(), **RATE, **more), range(12))
        for correction in CORRECTIONS:
            ours = network()
            csc = CSC(0.0, chunk=64, correction=correction)
            train(ours, SparseSGD(ours, **RATE, **more, csc=csc), range(12))
            off = (flat(ours) - flat(net)).abs().max().item()
            said[f"{correction} {more}"] = torch.equal(flat(ours), flat(net)), off
    return said


def equal() -> dict[str, tuple[bool, list[int], bool]]:
    """Whether weights are equal on all ranks at every step; how many chunks; whether it learns."""
    said = {}
    for correction in CORRECTIONS:
        model = DataParallel(network())
        before = loss_of(model, 0).item()
        optimizer = SparseSGD(model, **RATE, csc=CSC(**SPARSE, correction=correction))
        sent = [int(optimizer.sent.sum())]
        equals = train(model, optimizer, range(40), lambda _: same_on_all(flat(model)))  # noqa: B023
        sent.append(int(optimizer.sent.sum()))
        said[correction] = (all(equals), sent, loss_of(model, 0).item() < before / 4)
    return said


class Bowl(nn.Module):
    """Its gradient is what the oracle is given."""

    def __init__(self, weights: Sequence[float]) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.tensor(weights))

    def forward(self, slope: Tensor, steepness: Tensor) -> Tensor:
        return (self.weights * slope + steepness * self.weights**2 / 2).sum()


def like_loops(say: Any, rank: int) -> dict[str, tuple[bool, float]]:
    """Whether the same chunks are sent in each step as by the oracle; how far weights are off."""
    said = {}
    for correction in CORRECTIONS:
        one = oracle.Settings(correction, 103, 4, dist.get_world_size(), 0.8, 20)
        slopes = np.random.default_rng(1).normal(size=(LOOP_STEPS, one.ranks, one.items)) * 0.3
        steepness = np.random.default_rng(2).uniform(0.05, 1.0, one.items)

        def gradients(step: int, weights: Sequence[float]) -> list[list[float]]:
            moved: list[list[float]] = (slopes[step] + steepness * np.array(weights)).tolist()  # noqa: B023
            return moved

        theirs = oracle.train(one, gradients, [1.0] * one.items, LOOP_STEPS)
        bowl = Bowl([1.0] * one.items)
        csc = CSC(one.sparsity, one.chunk, one.warmup_steps, correction)  # type: ignore[arg-type]
        optimizer = SparseSGD(bowl, lr=one.rate, momentum=one.momentum, csc=csc)
        is_same, most = True, 0.0
        for step in range(LOOP_STEPS):
            is_same &= np.flatnonzero(optimizer.sent).tolist() == theirs.sent[step]
            optimizer.zero_grad()
            bowl(torch.tensor(slopes[step][rank]), torch.tensor(steepness)).backward()
            optimizer.step()
            off = bowl.weights.detach().numpy() - np.array(theirs.weights[step])
            most = max(most, float(np.abs(off).max()))
        said[correction] = (is_same, most)
    return said


def bytes_sent() -> tuple[float, float]:
    """What the engine counts in ten steps of all ranks, and what was foretold."""
    model = nn.Linear(600, 500)
    optimizer = SparseSGD(model, **RATE, csc=CSC(0.85, chunk=1000, warmup_steps=0))
    engine = dist.group.WORLD

    def counted() -> float:
        assert isinstance(engine, plink.torch.PlinkGroup)
        statistics = engine.statistics()
        assert statistics is not None
        return float(sum(peer.bytes_sent for peer in statistics.peers))

    foretold, measured = 0.0, 0.0
    for step in range(11):
        optimizer.zero_grad()
        inputs = torch.randn(2, 600, generator=torch.Generator().manual_seed(step))
        next_bytes, before = optimizer.next_bytes, counted()
        model(inputs).square().sum().backward()
        optimizer.step()
        # The first step is dense.
        if step:
            foretold += next_bytes * dist.get_world_size()
            measured += counted() - before
    total = torch.tensor([measured], dtype=torch.float64)
    dist.all_reduce(total)
    return total.item(), foretold


def resumed() -> dict[str, bool]:
    """Whether a training that goes on from a file is the one that was never interrupted."""
    said = {}
    for correction in CORRECTIONS:
        # Halves have weights of 32 bits beside them.
        for dtype in (torch.float32, torch.bfloat16)[: 1 + (correction == "dgc")]:
            csc = CSC(**SPARSE, correction=correction)
            model = network(dtype)
            optimizer = SparseSGD(model, **RATE, weight_decay=1e-3, csc=csc)
            train(model, optimizer, range(9))
            kept = io.BytesIO()
            torch.save((model.state_dict(), optimizer.state_dict()), kept)
            kept.seek(0)
            train(model, optimizer, range(9, 14))
            weights, state = torch.load(kept, weights_only=False)
            again = network(dtype)
            again.load_state_dict(weights)
            later = SparseSGD(again, lr=9.0, csc=csc)
            later.load_state_dict(state)
            train(again, later, range(9, 14))
            said[f"{correction} {dtype}"] = (
                torch.equal(flat(model), flat(again))
                and np.array_equal(optimizer.ages, later.ages)
                and np.array_equal(optimizer.sent, later.sent)
                and optimizer.ages.max() > 0
            )
    return said


def merged() -> dict[str, tuple[float, bool]]:
    """How far what is held back is from what it was, over all ranks; whether others go on."""
    said = {}
    for correction in CORRECTIONS:
        csc = CSC(**SPARSE, correction=correction)
        model = network()
        optimizer = SparseSGD(model, **RATE, csc=csc)
        train(model, optimizer, range(9))
        states: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(states, optimizer.state_dict())
        merged = SparseSGD.merged(states[::-1])
        before = sum(state["parts"][0]["residual"] for state in states) / len(states)
        again = copy.deepcopy(model)
        for one in again.parameters():
            one.grad = None
        later = SparseSGD(again, **RATE, csc=csc)
        later.load_state_dict(merged)
        now = later.state_dict()["parts"][0]["residual"].clone()
        off = (now - before).abs().max().item() / before.abs().max().item()
        equals = train(again, later, range(9, 14), lambda _: same_on_all(flat(again)))  # noqa: B023
        said[correction] = (off, all(equals))
    return said


def scaled() -> dict[str, Any]:
    """Scaled losses, of which one rank's is infinite once; against losses without a scale."""
    csc = CSC(**SPARSE)
    plain = network()
    unscaled = SparseSGD(plain, **RATE, csc=csc)
    model = network()
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=10)
    optimizer = SparseSGD(model, **RATE, csc=csc, scaler=scaler)
    scales, kept = [], []
    for step in range(24):
        optimizer.zero_grad()
        loss = scaler.scale(loss_of(model, step))
        if step == 15 and dist.get_rank() == 1:
            loss = loss * torch.inf
        before = [flat(model), *(one.clone() for one in _state(optimizer))]
        loss.backward()
        if step % 2:
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
        if step == 15:
            after = [flat(model), *_state(optimizer)]
            kept = [torch.equal(a, b) for a, b in zip(before, after, strict=True)]
        else:
            train(plain, unscaled, range(step, step + 1))
    return {
        "scales": scales[13:17],
        "kept": all(kept),
        "skipped": optimizer.skipped_steps,
        "is as without a scale": torch.equal(flat(model), flat(plain)),
    }


def _state(optimizer: SparseSGD) -> list[Tensor]:
    part = optimizer.state_dict()["parts"][0]
    return [part["residual"], part["velocity"], part["owned"]]


def accumulated() -> tuple[float, bool]:
    """How far two passes before a step are from one of both; whether a third is refused."""
    model, at_once = network(), network()
    optimizer = SparseSGD(model, **RATE, csc=CSC(**SPARSE))
    other = SparseSGD(at_once, **RATE, csc=CSC(**SPARSE))
    for step in range(12):
        optimizer.zero_grad()
        with optimizer.no_sync():
            loss_of(model, step).backward()
        loss_of(model, step + 50).backward()
        optimizer.step()
        other.zero_grad()
        (loss_of(at_once, step) + loss_of(at_once, step + 50)).backward()
        other.step()
    off = (flat(model) - flat(at_once)).abs().max().item()
    loss_of(model, 0).backward()
    try:
        loss_of(model, 0).backward()
    except WrongUseError as error:
        return off, "once more before a step" in str(error)
    return off, False


def clipped() -> tuple[bool, bool, bool]:
    """Whether PyTorch's own norm is equal on all ranks, and weights; and whether it clips."""
    model = network()
    optimizer = SparseSGD(model, **RATE, csc=CSC(**SPARSE))
    norms = []
    for step in range(12):
        optimizer.zero_grad()
        (100 * loss_of(model, step)).backward()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), 0.1))
        optimizer.step()
    found = torch.stack(norms)
    return same_on_all(found), same_on_all(flat(model)), bool((found > 0.1).all())


def halves() -> dict[str, tuple[bool, bool]]:
    """Whether 16-bit weights are equal on all ranks, and learn."""
    said = {}
    for dtype in (torch.float16, torch.bfloat16):
        model = network(dtype)
        before = loss_of(model, 0).item()
        optimizer = SparseSGD(model, **RATE, csc=CSC(**SPARSE))
        equals = train(model, optimizer, range(40), lambda _: same_on_all(flat(model)))  # noqa: B023
        said[str(dtype)] = (all(equals), loss_of(model, 0).item() < before / 4)
    return said


def clipped_alike() -> dict[str, bool]:
    """Whether a step with gradients clipped to an eighth is one with an eighth of the loss, in
    weights and in what is held back.
    """
    said = {}
    for correction in CORRECTIONS:
        for more in ({}, {"nesterov": True}):
            kept = []
            for is_clipped in (True, False):
                model = network()
                csc = CSC(0.7, chunk=64, warmup_steps=0, correction=correction)
                optimizer = SparseSGD(model, **RATE, **more, csc=csc)
                train(model, optimizer, range(1))
                optimizer.zero_grad()
                loss = loss_of(model, 1)
                (loss if is_clipped else loss / 8).backward()
                if is_clipped:
                    of_all = [one.grad for one in model.parameters() if one.grad is not None]
                    norm = float(nn.utils.get_total_norm(of_all))
                    nn.utils.clip_grad_norm_(model.parameters(), norm / 8)
                optimizer.step()
                kept.append([flat(model), *_state(optimizer)])
            said[f"{correction} {more}"] = all(
                torch.allclose(one, other, rtol=1e-4, atol=1e-7)
                for one, other in zip(*kept, strict=True)
            )
    return said


def clipped_by_value() -> tuple[str, bool]:
    """What is said of clipping that is not by one factor, and whether weights stay."""
    model = network()
    optimizer = SparseSGD(model, **RATE, csc=CSC(0.5, chunk=64, warmup_steps=0))
    train(model, optimizer, range(3))
    before = flat(model)
    loss_of(model, 3).backward()
    nn.utils.clip_grad_value_(model.parameters(), 1e-4)
    try:
        optimizer.step()
    except WrongUseError as error:
        return str(error), torch.equal(before, flat(model))
    return "", False


def loaded() -> dict[str, bool]:
    """Whether weights that come after the optimizer was made are trained as if before."""
    ways: dict[str, Callable[[nn.Module, nn.Module], Any]] = {
        "state_dict": lambda model, other: model.load_state_dict(other.state_dict()),
        "copied": lambda model, other: [
            one.data.copy_(more.data)
            for one, more in zip(model.parameters(), other.parameters(), strict=True)
        ],
        "replaced": lambda model, other: [
            setattr(one, "data", more.data.clone())
            for one, more in zip(model.parameters(), other.parameters(), strict=True)
        ],
        "filled": lambda model, _: [one.data.fill_(5.0) for one in model.parameters()],
    }
    said = {}
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        # Weights of 16 bits have others beside them, which all ways renew alike.
        for name, change in list(ways.items())[: 4 if dtype is torch.float32 else 1]:
            other = network(dtype)
            for one in other.parameters():
                one.data.mul_(0.5).add_(0.01)
            trained = []
            for is_late in (True, False):
                model = network(dtype)
                options = {**RATE, "weight_decay": 0.01, "csc": CSC(**SPARSE)}
                if not is_late:
                    change(model, other)
                optimizer = SparseSGD(model, **options)
                if is_late:
                    change(model, other)
                train(model, optimizer, range(10))
                trained.append(flat(model))
            said[f"{name} {dtype}"] = torch.equal(*trained)
    return said


def options_change() -> dict[str, tuple[str, bool]]:
    """What is said where one rank's options differ from some step on, and whether weights stay."""
    rank, said = dist.get_rank(), {}

    def changes(name: str, value: Any) -> Callable[[SparseSGD], None]:
        return lambda optimizer: optimizer.param_groups[0].update({name: value})

    ways: dict[str, Callable[[SparseSGD], None]] = {
        "lr": changes("lr", 0.04),
        "momentum": changes("momentum", 0.8),
        "weight_decay": changes("weight_decay", 1e-3),
    }
    for name, change in ways.items():
        for is_late in (False, True):
            model = network()
            optimizer = SparseSGD(model, **RATE, csc=CSC(**SPARSE))
            train(model, optimizer, range(3))
            before = flat(model)
            try:
                for step in (3, 4):
                    if rank == 1 and not is_late:
                        change(optimizer)
                    optimizer.zero_grad()
                    loss_of(model, step).backward()
                    if rank == 1 and is_late:
                        change(optimizer)
                    optimizer.step()
                text = ""
            except WrongUseError as error:
                text = str(error)
            said[f"{name} {is_late}"] = text, is_late or torch.equal(before, flat(model))
    return said


def unused() -> tuple[bool, bool]:
    """A layer that one rank does not use, and a step in which it uses nothing at all."""
    model = nn.ModuleList([nn.Linear(9, 30), nn.Linear(9, 30)])
    optimizer = SparseSGD(model, **RATE, csc=CSC(**SPARSE))
    before = flat(model)
    rank = dist.get_rank()
    for step in range(12):
        optimizer.zero_grad()
        inputs = torch.randn(4, 9, generator=torch.Generator().manual_seed(step))
        if rank == 0:
            (model[0](inputs).square().mean() + model[1](inputs).square().mean()).backward()
        elif step % 3:
            model[0](inputs).square().mean().backward()
        optimizer.step()
    return same_on_all(flat(model)), bool((flat(model) != before).all())


def refused() -> list[str]:
    """What is said of wrong uses."""
    net = network()
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    adam = torch.optim.Adam(net.parameters())
    uses: list[Callable[[], Any]] = [
        lambda: CSC(1.0),
        lambda: CSC(correction="none"),  # type: ignore[arg-type]
        lambda: CSC(chunk=0),
        lambda: SparseSGD(adam, lr=0.1),  # type: ignore[arg-type]
        lambda: SparseSGD(DistributedDataParallel(net), lr=0.1),
        lambda: SparseSGD(net, lr=0.1, nesterov=True),
        lambda: SparseSGD(network(torch.float64), lr=0.1),
        lambda: SparseSGD(net, lr=0.1, csc=CSC(0.1 * (1 + dist.get_rank()))),
        lambda: SparseSGD(net, lr=0.1 * (1 + dist.get_rank())),
        lambda: SparseSGD(net, lr=0.1, weight_decay=0.1 * dist.get_rank()),
        lambda: SparseSGD(net, lr=0.1, scaler=scaler if dist.get_rank() else None),
        lambda: _scaled_unsaid(net, scaler),
        lambda: SparseSGD(network(), lr=0.1).load_state_dict(_of_another_rank()),
        lambda: SparseSGD.merged([_of_another_rank()]),
        lambda: _load_between(torch.float32, torch.bfloat16),
        lambda: _load_between(torch.bfloat16, torch.float32),
    ]
    said = []
    for use in uses:
        try:
            use()
            said.append("nothing")
        except WrongUseError as error:
            said.append(str(error))
    return said


def _scaled_unsaid(net: nn.Module, scaler: Any) -> None:
    optimizer = SparseSGD(net, lr=0.1)
    scaler.scale(loss_of(net, 0)).backward()
    scaler.step(optimizer)


def _of_another_rank() -> Any:
    return {**SparseSGD(network(), lr=0.1).state_dict(), "rank": 1 - dist.get_rank()}


def _load_between(first: torch.dtype, second: torch.dtype) -> None:
    """Load a trained state into parameters of another type, which leaves theirs as it was."""
    model, other = network(first), network(second)
    csc = CSC(**{**SPARSE, "warmup_steps": 0}, correction="dgc")
    trained, later = SparseSGD(model, **RATE, csc=csc), SparseSGD(other, **RATE, csc=csc)
    train(model, trained, range(2))
    train(other, later, range(1, 3))
    before = copy.deepcopy(later.state_dict()["parts"])
    assert before[0]["residual"].any()
    try:
        later.load_state_dict(trained.state_dict())
    finally:
        for one, kept in zip(later.state_dict()["parts"], before, strict=True):
            for name in ("residual", "velocity", "owned"):
                assert torch.equal(torch.as_tensor(one[name]), torch.as_tensor(kept[name])), name


def everything(say: Any, rank: int) -> dict[str, Any]:
    """Of two ranks."""
    return {
        one.__name__: one()
        for one in (
            dense,
            equal,
            bytes_sent,
            resumed,
            merged,
            scaled,
            accumulated,
            clipped,
            clipped_alike,
            clipped_by_value,
            loaded,
            options_change,
            halves,
            unused,
            refused,
        )
    }


def lost(say: Any, rank: int) -> Any:
    """Rank 1 is killed in a step; whether the other has all as it was."""
    model = network()
    optimizer = SparseSGD(model, **RATE, csc=CSC(**SPARSE))
    train(model, optimizer, range(8))
    if rank == 1:
        say("here")
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
    optimizer.zero_grad()
    before = [flat(model), *(one.clone() for one in _state(optimizer))]
    sent = optimizer.sent
    try:
        loss_of(model, 9).backward()
    except DistBackendError as error:
        after = [flat(model), *_state(optimizer)]
        is_kept = all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
        say((str(error), is_kept and np.array_equal(sent, optimizer.sent)))
    time.sleep(60)
    return None
