"""The graph of an iteration, as autograd and the program's own waiting show it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from plink.torch.named.learning import Learner
from plink.training.control import requests
from plink.training.control.graph import Order
from plink.training.control.requests import Request

BIG = 1 << 30


def request(name: str) -> Request:
    return Request(name, (requests.Tensor("float32", (4,)),))


def buffers(order: Order | None) -> list[list[str]]:
    assert order is not None
    return [[one.name for one in order.requests[first:end]] for first, end in order.buffers]


def reducing(learner: Learner, *names: str) -> Callable[[Tensor], Tensor]:
    """Something between layers whose gradient waits for all-reduces of these names, in turn."""

    class Reducing(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, inputs: Tensor) -> Tensor:  # noqa: ARG004 - PyTorch's
            return inputs.clone()

        @staticmethod
        def backward(ctx: Any, *gradients: Tensor) -> Tensor:  # noqa: ARG004 - PyTorch's
            for name in names:
                learner.announce([request(name)])
                learner.wait(name)
            return gradients[0]

    return Reducing.apply  # type: ignore[no-any-return]


def layers(learner: Learner, count: int) -> list[nn.Linear]:
    """Which announce the gradients of their weights as `w0`, `w1` and so on."""
    made = [nn.Linear(2, 2, bias=False) for _ in range(count)]
    for i, layer in enumerate(made):
        layer.weight.register_post_accumulate_grad_hook(  # type: ignore[no-untyped-call]
            lambda _, name=f"w{i}": learner.announce([request(name)])
        )
    return made


def back(learner: Learner, loss: Tensor) -> list[list[str]]:
    learner.compute(loss, {})
    loss.backward()  # type: ignore[no-untyped-call]
    return buffers(learner.order())


def test_what_is_computed_later_is_numbered_later() -> None:
    learner = Learner(BIG)
    first, second = layers(learner, 2)
    found = back(learner, second(first(torch.ones(1, 2))).sum())
    assert found == [["w1", "w0"]]


def test_what_waits_within_a_layer_comes_before_what_is_below_it() -> None:
    learner = Learner(BIG)
    first, second = layers(learner, 2)
    between = reducing(learner, "s", "t")
    assert back(learner, second(between(first(torch.ones(1, 2)))).sum()) == [
        ["s", "w1"],
        ["t"],
        ["w0"],
    ]


def test_branches_of_which_a_thread_waits_for_one_after_the_other_share_no_buffer() -> None:
    learner = Learner(BIG)
    left, right = layers(learner, 2)
    inputs = torch.ones(1, 2)
    loss = (
        reducing(learner, "left")(left(inputs)) + reducing(learner, "right")(right(inputs))
    ).sum()
    found = back(learner, loss)
    of = {name: i for i, names in enumerate(found) for name in names}
    # The thread computes what was used last first.
    assert of["right"] < of["left"]
    assert of["right"] < of["w1"]
    assert of["left"] < of["w0"]


def test_what_is_announced_after_the_gradients_comes_after_all() -> None:
    learner = Learner(BIG)
    first, second = layers(learner, 2)
    learner.announce([request("before")])
    learner.wait("before")
    loss = second(first(torch.ones(1, 2))).sum()
    learner.compute(loss, {})
    loss.backward()  # type: ignore[no-untyped-call]
    learner.announce([request("after")])
    learner.announce([request("#17")])
    learner.announce([request("#18")])
    found = buffers(learner.order())
    # What has no name may be waited for in ways that are not seen, and shares no buffer.
    assert found == [["before"], ["w1", "w0"], ["#0"], ["after"], ["#1"]]


def test_gradients_that_are_announced_together_come_after_the_last_of_them() -> None:
    learner = Learner(BIG)
    made = [nn.Linear(2, 2, bias=False) for _ in range(3)]
    loss = made[2](made[1](made[0](torch.ones(1, 2)))).sum()
    learner.compute(loss, {"ends": [made[0].weight, made[2].weight], "middle": [made[1].weight]})
    learner.announce([request("ends"), request("middle")])
    assert buffers(learner.order()) == [["middle", "ends"]]


def test_without_a_loss_or_with_a_name_twice_there_is_no_order() -> None:
    learner = Learner(BIG)
    (layer,) = layers(learner, 1)
    layer(torch.ones(1, 2)).sum().backward()
    assert learner.order() is None
    learner.begin()
    assert learner.order() is None
    for _ in range(2):
        learner.announce([request("again")])
    assert learner.order() is None


def test_threads_that_wait_for_each_other_show_no_order() -> None:
    learner = Learner(BIG)
    (layer,) = layers(learner, 1)

    def back_to_another_thread(_: Tensor) -> None:
        learner.announce([request("first")])
        other = threading.Thread(target=lambda: learner.announce([request("other")]))
        other.start()
        other.join()
        learner.wait("other")

    out = layer(torch.ones(1, 2))
    out.register_hook(back_to_another_thread)
    learner.compute(out.sum(), {})
    out.sum().backward()
    assert learner.order() is None
