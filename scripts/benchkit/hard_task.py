"""A task on which there is accuracy to lose: a random network's answers, some of them wrong."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

INPUTS, CLASSES = 48, 10
WIDTH = 192
TRAINING, TESTING = 40_000, 4000
WRONG_LABELS = 0.1


@dataclass(frozen=True)
class Task:
    """Examples, (n, 48), and classes; those to test with have no wrong ones."""

    inputs: Tensor
    labels: Tensor
    test_inputs: Tensor
    test_labels: Tensor


def drawn_task(seed: int) -> Task:
    """A teacher with two hidden layers, what it says of random inputs, and wrong labels."""
    drawn = torch.Generator().manual_seed(seed)

    def layer(inputs: int, outputs: int) -> Tensor:
        drawn_weights: Tensor = torch.randn(inputs, outputs, generator=drawn) / inputs**0.5
        return drawn_weights

    one, two, three = layer(INPUTS, 64), layer(64, 64), layer(64, CLASSES)
    inputs = torch.randn(TRAINING + TESTING, INPUTS, generator=drawn)
    hidden = torch.tanh(torch.tanh(inputs @ one) @ two)
    labels = (hidden @ three).argmax(dim=1)
    told = labels[:TRAINING].clone()
    is_wrong = torch.rand(TRAINING, generator=drawn) < WRONG_LABELS
    told[is_wrong] = torch.randint(CLASSES, (int(is_wrong.sum()),), generator=drawn)
    return Task(inputs[:TRAINING], told, inputs[TRAINING:], labels[TRAINING:])


def student(seed: int) -> nn.Module:
    """Two hidden layers: 48,394 parameters."""
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Linear(INPUTS, WIDTH),
        nn.ReLU(),
        nn.Linear(WIDTH, WIDTH),
        nn.ReLU(),
        nn.Linear(WIDTH, CLASSES),
    )


def accuracy(model: nn.Module, task: Task) -> float:
    """The share of examples kept back that are told right."""
    with torch.no_grad():
        told = model(task.test_inputs).argmax(dim=1)
    return float((told == task.test_labels).float().mean().item())
