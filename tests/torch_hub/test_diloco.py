"""DiLoCo at a hub is the algorithm of the papers, step by step."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from plink.base.errors import WrongUseError
from plink.torch.hub.diloco import DiLoCo
from plink.torch.hub.fragments import Schedule
from support.running import wait_for
from torch_hub.hubs import Place, Turns, apart, drawn, examples, loss_of, model, together

INPUTS, TARGETS = examples()
WORKERS = 2
STEPS = 24
LIMIT = 2e-6


def train(net: nn.Module, inner: torch.optim.Optimizer, worker: int) -> None:
    inner.zero_grad()
    loss_of(net, INPUTS[worker::WORKERS], TARGETS[worker::WORKERS]).backward()
    inner.step()


def inner_of(net: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(net.parameters(), lr=0.01)


def reference(
    schedule: Schedule, parts: Sequence[Sequence[int]], mixing: float, lr: float, momentum: float
) -> list[nn.Module]:
    """All workers in one loop, as Douillard et al. 2025 write it (algorithm 2)."""
    nets = [model() for _ in range(WORKERS)]
    inners = [inner_of(net) for net in nets]
    outer = model()
    globals_ = list(outer.parameters())
    steppers = [
        torch.optim.SGD(
            [globals_[i] for i in part], lr=lr, momentum=momentum, nesterov=momentum > 0
        )
        for part in parts
    ]
    sent: dict[int, list[Tensor]] = {}
    for step in range(1, STEPS + 1):
        for worker, (net, inner) in enumerate(zip(nets, inners, strict=True)):
            train(net, inner, worker)
        for number in dict.fromkeys((schedule.sent(step), schedule.taken(step))):
            if number is None:
                continue
            fragment = number % schedule.fragments
            if number not in sent:
                sent[number] = [
                    sum(globals_[i].detach() - list(net.parameters())[i].detach() for net in nets)
                    / WORKERS
                    for i in parts[fragment]
                ]
            if schedule.taken(step) == number:
                for i, change in zip(parts[fragment], sent[number], strict=True):
                    globals_[i].grad = change
                steppers[fragment].step()
                for net in nets:
                    for i in parts[fragment]:
                        own = list(net.parameters())[i]
                        with torch.no_grad():
                            own.copy_(mixing * own + (1 - mixing) * globals_[i])
    return nets


@pytest.mark.parametrize(
    ("schedule", "mixing", "momentum"),
    [
        (Schedule(6, 1, 0), 0.0, 0.9),
        (Schedule(6, 1, 0), 0.0, 0.0),
        (Schedule(6, 3, 0), 0.0, 0.9),
        (Schedule(6, 3, 2), 0.5, 0.9),
        (Schedule(6, 2, 5), 0.25, 0.5),
    ],
)
def test_it_is_the_papers(place: Place, schedule: Schedule, mixing: float, momentum: float) -> None:
    turns = Turns(WORKERS)

    def work(worker: int) -> nn.Module:
        net = model(seed=worker)
        inner = inner_of(net)
        with place.hub("job", workers=WORKERS) as hub:
            with turns.of(worker):
                diloco = DiLoCo(
                    net,
                    inner,
                    hub=hub,
                    sync_every=schedule.sync_every,
                    outer_momentum=momentum,
                    fragments=schedule.fragments,
                    overlap_steps=schedule.overlap_steps,
                    mixing=mixing,
                )
            with diloco:
                for _ in range(STEPS):
                    train(net, inner, worker)
        return net

    # Layers of 112, 272 and 51 numbers, each a weight and a bias.
    parts = {
        1: [range(6)],
        2: [[0, 1, 4, 5], [2, 3]],
        3: [[0, 1], [2, 3], [4, 5]],
    }[schedule.fragments]
    wanted = reference(schedule, parts, mixing, 0.7, momentum)
    for ours, theirs in zip(together(WORKERS, work), wanted, strict=True):
        assert apart(ours, theirs) < LIMIT


def test_weights_that_are_not_finite_change_nothing(place: Place) -> None:
    turns = Turns(WORKERS)

    def work(worker: int) -> tuple[nn.Module, Any]:
        net = model()
        inner = inner_of(net)
        with place.hub("job", workers=WORKERS) as hub:
            with turns.of(worker):
                diloco = DiLoCo(net, inner, hub=hub, sync_every=2)
            train(net, inner, worker)
            if worker:
                with torch.no_grad():
                    next(net.parameters()).fill_(torch.nan)
            train(net, inner, worker)
            return net, diloco.last_exchange

    for net, last in together(WORKERS, work):
        assert last.skipped
        assert apart(net, model()) == 0.0


def test_the_hubs_weights_can_be_shown_in_between(place: Place) -> None:
    net = model()
    begin = copy.deepcopy(net)
    inner = inner_of(net)
    with place.hub("job", workers=1) as hub, DiLoCo(net, inner, hub=hub, sync_every=9) as diloco:
        train(net, inner, 0)
        own = copy.deepcopy(net)
        with diloco.global_weights():
            assert apart(net, begin) == 0.0
        assert apart(net, own) == 0.0
        assert apart(net, begin) > 0.0


def test_weights_that_arrive_meanwhile_are_not_shown_before_their_step(place: Place) -> None:
    net = model()
    begin = copy.deepcopy(net)
    inner = inner_of(net)
    options = {"sync_every": 4, "overlap_steps": 2}
    with place.hub("job", workers=1) as hub, DiLoCo(net, inner, hub=hub, **options) as diloco:
        for _ in range(4):
            train(net, inner, 0)
        (exchange,) = diloco._exchanges
        assert exchange.is_under_way
        before = next(begin.parameters()).detach()
        wait_for(lambda: not torch.equal(exchange._values[0].view_as(before), before))
        with diloco.global_weights():
            assert apart(net, begin) == 0.0
        for _ in range(2):
            train(net, inner, 0)
        assert (exchange.is_under_way, diloco.rounds) == (False, 1)
        with diloco.global_weights():
            assert apart(net, begin) > 0.0


def test_a_closed_one_exchanges_nothing(place: Place) -> None:
    net = model()
    inner = inner_of(net)
    with place.hub("job", workers=1) as hub:
        with DiLoCo(net, inner, hub=hub, sync_every=1) as diloco:
            train(net, inner, 0)
        assert diloco.rounds == 1
        train(net, inner, 0)
        assert diloco.rounds == 1


def test_tied_weights_are_exchanged_once(place: Place) -> None:
    net = nn.Sequential(nn.Linear(6, 6, bias=False), nn.Linear(6, 6, bias=False), nn.Linear(6, 3))
    drawn(net, 0)
    net[1].weight = net[0].weight
    inner = inner_of(net)
    with place.hub("job", workers=1) as hub, DiLoCo(net, inner, hub=hub, sync_every=1) as diloco:
        assert [len(one.parameters) for one in diloco._exchanges] == [3]
        train(net, inner, 0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sync_every": 0}, "sync_every is 0"),
        ({"sync_every": 4, "fragments": 4}, "4 fragments of a model with 3 layers"),
        ({"sync_every": 4, "overlap_steps": 4}, "overlap_steps is 4"),
        ({"sync_every": 4, "mixing": 1.0}, "mixing is 1.0"),
        ({"sync_every": 4, "outer_lr": -1.0}, "lr is -1.0"),
        ({"sync_every": 4, "wire": "int4"}, "wire is 'int4'"),
    ],
)
def test_what_cannot_be(place: Place, options: dict[str, Any], said: str) -> None:
    net = model()
    with place.hub("job", workers=1) as hub, pytest.raises(WrongUseError, match=said):
        DiLoCo(net, inner_of(net), hub=hub, **options)
