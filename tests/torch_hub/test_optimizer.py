"""An optimizer at a hub does what the plain one does with the mean of all workers' gradients."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import Parameter
from torch.optim import Optimizer

from torch_hub.hubs import Place, Turns, apart, drawn, examples, loss_of, model, together

INPUTS, TARGETS = examples()
STEPS = 20
# Both sum in float32, in different orders; Adam divides by what is near zero.
LIMIT = 2e-6

KINDS: dict[str, Callable[[Any], Optimizer]] = {
    "sgd": lambda groups: torch.optim.SGD(groups, lr=0.1),
    "momentum": lambda groups: torch.optim.SGD(groups, lr=0.1, momentum=0.9, dampening=0.1),
    "nesterov": lambda groups: torch.optim.SGD(
        groups, lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-3
    ),
    "adam": lambda groups: torch.optim.Adam(groups, lr=0.01, weight_decay=1e-3),
    "adamw": lambda groups: torch.optim.AdamW(groups, lr=0.01, betas=(0.8, 0.95)),
}


def optimizer_of(kind: str, net: nn.Module) -> Optimizer:
    """Two groups, with a learning rate and a weight decay of the second's own."""
    first, *rest = net.parameters()
    return KINDS[kind]([{"params": [first]}, {"params": rest, "lr": 0.02, "weight_decay": 0.0}])


def alone(kind: str, clip_norm: float | None, steps: int = STEPS) -> tuple[nn.Module, Optimizer]:
    """What one process learns from all examples."""
    net = model()
    optimizer = optimizer_of(kind, net)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 5, 0.5)
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(net, INPUTS, TARGETS).backward()
        if clip_norm is not None:
            nn.utils.clip_grad_norm_(net.parameters(), clip_norm)
        optimizer.step()
        schedule.step()
    return net, optimizer


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("clip_norm", [None, 0.1])
def test_two_workers_learn_what_one_process_does(
    place: Place, kind: str, clip_norm: float | None
) -> None:
    turns = Turns(2)

    def work(worker: int) -> tuple[nn.Module, Any, float]:
        # Every worker draws other weights; all leave with the first one's.
        net = model(seed=worker)
        with place.hub("job", workers=2) as hub:
            with turns.of(worker):
                optimizer = hub.optimizer(optimizer_of(kind, net), clip_norm=clip_norm)
            assert isinstance(optimizer, Optimizer)
            schedule = torch.optim.lr_scheduler.StepLR(optimizer, 5, 0.5)
            for _ in range(STEPS):
                optimizer.zero_grad()
                loss_of(net, INPUTS[worker::2], TARGETS[worker::2]).backward()
                optimizer.step()
                schedule.step()
            state = optimizer.state_dict()
            assert optimizer.last_step is not None
            return net, state, optimizer.last_step.workers

    net, plain = alone(kind, clip_norm)
    (ours, state, workers), (others, *_) = together(2, work)
    assert workers == 2
    assert apart(ours, others) == 0.0
    assert apart(ours, net) < LIMIT
    assert_alike(state, plain.state_dict())


def assert_alike(state: Any, wanted: Any) -> None:
    assert state["param_groups"] == wanted["param_groups"]
    for index, own in wanted["state"].items():
        theirs = state["state"].get(index, {})
        for name, value in own.items():
            if value is None:
                continue
            assert theirs[name].shape == value.shape
            assert theirs[name].dtype == value.dtype
            torch.testing.assert_close(theirs[name], value, atol=LIMIT, rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_goes_to_the_plain_optimizer_and_back(place: Place, kind: str) -> None:
    net, _ = alone(kind, None)
    half = model()
    with place.hub("first", workers=1) as hub:
        optimizer = hub.optimizer(optimizer_of(kind, half))
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 5, 0.5)
        _train(half, optimizer, schedule, 7)
        saved = _through_a_file({"model": half.state_dict(), "optimizer": optimizer.state_dict()})
    plain_net = model(seed=1)
    plain_net.load_state_dict(saved["model"])
    plain = optimizer_of(kind, plain_net)
    schedule = torch.optim.lr_scheduler.StepLR(plain, 5, 0.5)
    plain.load_state_dict(saved["optimizer"])
    schedule.last_epoch = 7
    _train(plain_net, plain, schedule, 7)
    saved = _through_a_file({"model": plain_net.state_dict(), "optimizer": plain.state_dict()})
    last = model(seed=2)
    last.load_state_dict(saved["model"])
    with place.hub("second", workers=1) as hub:
        optimizer = hub.optimizer(optimizer_of(kind, last))
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 5, 0.5)
        optimizer.load_state_dict(saved["optimizer"])
        schedule.last_epoch = 14
        _train(last, optimizer, schedule, STEPS - 14)
    assert apart(last, net) < LIMIT


def _train(net: nn.Module, optimizer: Optimizer, schedule: Any, steps: int) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(net, INPUTS, TARGETS).backward()
        optimizer.step()
        schedule.step()


def _through_a_file(saved: Any) -> Any:
    file = io.BytesIO()
    torch.save(saved, file)
    file.seek(0)
    return torch.load(file)


def test_accumulated_gradients_are_pushed_once(place: Place) -> None:
    net, plain_net = model(), model()
    plain = optimizer_of("momentum", plain_net)
    with place.hub("job", workers=1) as hub:
        optimizer = hub.optimizer(optimizer_of("momentum", net))
        for _ in range(4):
            for part in range(2):
                loss = loss_of(plain_net, INPUTS[part::2], TARGETS[part::2])
                loss.backward()
            plain.step()
            plain.zero_grad()
            with optimizer.no_sync():
                loss_of(net, INPUTS[0::2], TARGETS[0::2]).backward()
            loss_of(net, INPUTS[1::2], TARGETS[1::2]).backward()
            optimizer.step()
            optimizer.zero_grad()
    assert apart(net, plain_net) < LIMIT


class Odd(nn.Module):
    """A tied weight, one that is not used, one that is not trained, and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(6, 6, bias=False)
        self.again = nn.Linear(6, 6, bias=False)
        self.again.weight = self.up.weight
        self.norm = nn.BatchNorm1d(6)
        self.unused = nn.Linear(6, 6)
        self.frozen = Parameter(torch.ones(6), requires_grad=False)
        self.down = nn.Linear(6, 3)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        hidden = self.norm(self.again(torch.tanh(self.up(inputs))))
        return self.down(hidden * self.frozen)  # type: ignore[no-any-return]


def odd() -> Odd:
    net = Odd()
    frozen = net.frozen.detach().clone()
    drawn(net, 0)
    with torch.no_grad():
        net.frozen.copy_(frozen)
    return net


def test_tied_unused_and_frozen_parameters(place: Place) -> None:
    net, plain_net = odd(), odd()
    plain = torch.optim.SGD(plain_net.parameters(), lr=0.1, momentum=0.9)
    unused = net.unused.weight.detach().clone()
    with place.hub("job", workers=1) as hub:
        optimizer = hub.optimizer(torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9))
        for one, its in ((net, optimizer), (plain_net, plain)):
            for _ in range(5):
                its.zero_grad()
                loss_of(one, INPUTS, TARGETS).backward()
                its.step()
        state = optimizer.state_dict()["state"]
    assert apart(net, plain_net) < LIMIT
    assert net.again.weight is net.up.weight
    assert torch.equal(net.unused.weight, unused)
    assert torch.equal(net.frozen, torch.ones(6))
    assert not state[next(i for i, p in enumerate(net.parameters()) if p is net.unused.weight)][
        "momentum_buffer"
    ].any()


def test_buffers_stay_each_workers_own(place: Place) -> None:
    turns = Turns(2)

    def work(worker: int) -> torch.Tensor:
        net = odd()
        with place.hub("job", workers=2) as hub:
            with turns.of(worker):
                optimizer = hub.optimizer(torch.optim.SGD(net.parameters(), lr=0.1))
            loss_of(net, INPUTS[worker::2], TARGETS[worker::2]).backward()
            optimizer.step()
        return net.norm.running_mean  # type: ignore[return-value]

    one, other = together(2, work)
    assert not torch.equal(one, other)


def test_gradients_are_pushed_while_the_backward_pass_goes_on(place: Place) -> None:
    net = model()
    with place.hub("job", workers=1) as hub:
        optimizer = hub.optimizer(optimizer_of("sgd", net))
        worker = optimizer._worker
        seen: list[int] = []
        push = worker.push
        pushed_before_first: list[int] = []

        def follow(first: int, last: int) -> None:
            seen.extend(range(first, last))
            push(first, last)

        worker.push = follow
        # The first layer's gradient is the backward pass's last.
        first = next(net.parameters())
        first.register_hook(lambda _: pushed_before_first.extend(seen))
        loss_of(net, INPUTS, TARGETS).backward()
        optimizer.step()
    assert {4, 5} <= set(pushed_before_first)
    assert sorted(seen) == list(range(6))


def test_half_precision_parameters_have_a_float32_master_at_the_hub(place: Place) -> None:
    net = model().bfloat16()
    begin = [parameter.detach().clone() for parameter in net.parameters()]
    with place.hub("job", workers=1) as hub:
        optimizer = hub.optimizer(torch.optim.SGD(net.parameters(), lr=2.0**-12))
        for _ in range(64):
            for parameter in net.parameters():
                parameter.grad = torch.ones_like(parameter)
            optimizer.step()
    # A single one of the steps is lost where weights are near 1; the sum of all is not.
    for parameter, before in zip(net.parameters(), begin, strict=True):
        assert parameter.dtype == torch.bfloat16
        wanted = (before.float() - 64 * 2.0**-12).bfloat16()
        assert torch.equal(parameter.detach(), wanted)


def test_infinite_gradients_of_one_worker_skip_the_step_of_all(place: Place) -> None:
    turns = Turns(2)

    def work(worker: int) -> tuple[nn.Module, list[float], list[bool]]:
        net = model()
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=3)
        with place.hub("job", workers=2) as hub:
            with turns.of(worker):
                optimizer = hub.optimizer(optimizer_of("adam", net), scaler=scaler)
            scales, skipped = [], []
            for step in range(5):
                optimizer.zero_grad()
                loss = loss_of(net, INPUTS[worker::2], TARGETS[worker::2])
                if step == 1 and worker == 1:
                    loss = loss * torch.inf
                before = [parameter.detach().clone() for parameter in net.parameters()]
                scaler.scale(loss).backward()
                if step == 3:
                    scaler.unscale_(optimizer)
                scaler.step(optimizer)
                scaler.update()
                scales.append(scaler.get_scale())
                assert optimizer.last_step is not None
                skipped.append(optimizer.last_step.skipped)
                is_same = all(map(torch.equal, before, net.parameters()))
                assert is_same == optimizer.last_step.skipped
            return net, scales, skipped

    (net, scales, skipped), (other, other_scales, _) = together(2, work)
    assert skipped == [False, True, False, False, False]
    assert scales == other_scales == [1024.0, 512.0, 512.0, 512.0, 1024.0]
    assert apart(net, other) == 0.0
    plain_net = model()
    plain = optimizer_of("adam", plain_net)
    for _ in range(4):
        plain.zero_grad()
        loss_of(plain_net, INPUTS, TARGETS).backward()
        plain.step()
    assert apart(net, plain_net) < LIMIT
