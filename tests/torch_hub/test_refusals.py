"""What a hub's optimizer cannot do is refused by name, in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from plink.base.errors import WrongUseError
from plink.torch.hub.optimizer import HubOptimizer
from torch_hub.hubs import Place, examples, loss_of, model

INPUTS, TARGETS = examples()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (torch.optim.RMSprop, "the hub has no RMSprop"),
        (torch.optim.NAdam, "the hub has no NAdam"),
        (lambda ps: torch.optim.Adam(ps, amsgrad=True), "amsgrad is"),
        (lambda ps: torch.optim.AdamW(ps, maximize=True), "maximize is"),
        (list, "optimizer is of type list"),
        (lambda _: torch.optim.SGD([torch.zeros(2)], lr=1.0), "no parameter that is trained"),
        (
            lambda ps: torch.optim.SGD([p.double().detach().requires_grad_() for p in ps], lr=1.0),
            "parameter '0.0' is float64",
        ),
    ],
)
def test_what_the_hub_is_not(place: Place, make: Callable[[Any], Any], said: str) -> None:
    with place.hub("job", workers=1) as hub, pytest.raises(WrongUseError, match=said):
        hub.optimizer(make(model().parameters()))


def test_an_optimizer_that_has_taken_steps(place: Place) -> None:
    net = model()
    plain = torch.optim.Adam(net.parameters())
    loss_of(net, INPUTS, TARGETS).backward()
    plain.step()
    with place.hub("job", workers=1) as hub, pytest.raises(WrongUseError, match="steps already"):
        hub.optimizer(plain)


def test_a_second_optimizer_of_a_namespace(place: Place) -> None:
    with place.hub("job", workers=1) as hub:
        hub.optimizer(torch.optim.SGD(model().parameters(), lr=0.1))
        with pytest.raises(WrongUseError, match="'job' has an optimizer of this hub already"):
            hub.optimizer(torch.optim.SGD(model().parameters(), lr=0.1))


def test_options_that_cannot_go_together(place: Place) -> None:
    with place.hub("job", workers=1) as hub, pytest.raises(WrongUseError, match="commit step"):
        hub.optimizer(torch.optim.SGD(model().parameters(), lr=0.1), mode="async", clip_norm=1.0)


def _changed_lr(net: nn.Module, optimizer: HubOptimizer) -> None:
    optimizer.param_groups[0]["lr"] = 0.5
    optimizer.step()


def _clipped(net: nn.Module, optimizer: HubOptimizer) -> None:
    nn.utils.clip_grad_norm_(net.parameters(), 1e-3)
    optimizer.step()


def _loaded(net: nn.Module, optimizer: HubOptimizer) -> None:
    net.load_state_dict(model(seed=5).state_dict())
    optimizer.step()


def _scaled(net: nn.Module, optimizer: HubOptimizer) -> None:
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
    scaler.scale(torch.ones(()))
    scaler.step(optimizer)


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda _, it: it.step(lambda: 1.0), "a closure computes gradients again"),
        (lambda _, it: it.zero_grad(), "were pushed cannot be set to zero"),
        (lambda _, it: it.state_dict(), r"state_dict\(\) came between"),
        (lambda _, it: it.load_state_dict({}), r"load_state_dict\(\) came between"),
        (
            lambda _, it: it.add_param_group({"params": [torch.zeros(1, requires_grad=True)]}),
            "parameters cannot be added",
        ),
        (lambda net, _: loss_of(net, INPUTS, TARGETS).backward(), "came once more before a step"),
        (_changed_lr, "hyperparameters were changed between backward and step"),
        (_clipped, "the gradient of '0.5' was changed after it was pushed"),
        (_loaded, "parameter '0.0' was changed outside of step"),
        (_scaled, "scaled otherwise than the hub was told"),
    ],
)
def test_between_backward_and_step(
    place: Place, act: Callable[[nn.Module, HubOptimizer], Any], said: str
) -> None:
    net = model()
    with place.hub("job", workers=1) as hub:
        optimizer = hub.optimizer(torch.optim.SGD(net.parameters(), lr=0.1))
        loss_of(net, INPUTS, TARGETS).backward()
        with pytest.raises(WrongUseError, match=said):
            act(net, optimizer)


def test_without_overlap_gradients_and_rates_may_be_changed_until_the_step(place: Place) -> None:
    net, plain_net = model(), model()
    plain = torch.optim.SGD(plain_net.parameters(), lr=0.1)
    with place.hub("job", workers=1) as hub:
        optimizer = hub.optimizer(torch.optim.SGD(net.parameters(), lr=0.1), overlap=False)
        for one, its in ((net, optimizer), (plain_net, plain)):
            loss_of(one, INPUTS, TARGETS).backward()
            nn.utils.clip_grad_value_(one.parameters(), 0.01)
            its.param_groups[0]["lr"] = 0.5
            its.step()
    for ours, theirs in zip(net.parameters(), plain_net.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_sparse_gradients(place: Place) -> None:
    embedding = nn.Embedding(4, 2, sparse=True)
    named = embedding.named_parameters()
    with place.hub("job", workers=1) as hub:
        optimizer = hub.optimizer(torch.optim.SGD(named, lr=0.1))
        with pytest.raises(WrongUseError, match="the gradient of 'weight' is sparse"):
            embedding(torch.tensor([1])).sum().backward()
        assert isinstance(optimizer, HubOptimizer)


def test_a_secret_that_is_not_there(place: Place) -> None:
    place.secret_file.unlink()
    with pytest.raises(WrongUseError, match="secret: No such file"):
        place.hub("job", workers=1).optimizer(torch.optim.SGD(model().parameters(), lr=0.1))
