"""What is learnt where less is sent: several ranks in one process.

Sparse training runs plink's own algebra, with a state for each rank. PowerSGD and the fp16 hook are
PyTorch's, of one rank with the batch of all: what they send is linear in the gradients, and so are
the errors that they keep, whose mean is what one rank has; that leaves rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.optim import SGD
from torch.optim.lr_scheduler import CosineAnnealingLR

from benchkit.hard_task import TRAINING, Task, accuracy, student
from benchkit.hooks import register_hook
from plink.training.sparse.chunks import Chunks
from plink.training.sparse.corrections import Correction
from plink.training.sparse.ramp import sent_chunks, sparsity_at
from plink.training.sparse.selection import largest, measure, next_ages
from plink.training.sparse.state import State

RANKS, BATCH = 4, 32
MOMENTUM = 0.9
POINTS = 20


@dataclass(frozen=True)
class Way:
    """How to train.

    Args:
        name: of the way: a correction, or one of `benchkit.hooks`.
        learning_rate: at first; it falls to 0 along a cosine.
        sparsity, chunk: of sparse training.
        warmup_steps: that send more, of sparse training and PowerSGD.
    """

    name: str
    learning_rate: float
    sparsity: float = 0.85
    chunk: int = 128
    warmup_steps: int = 20


@dataclass(frozen=True)
class Learnt:
    """What a training came to.

    Args:
        course: the accuracy after each twentieth of the steps.
        oldest: for how many steps a chunk has not been sent at the end, at most.
    """

    course: Sequence[float]
    oldest: int = 0

    def steps_to(self, wanted: float, steps: int) -> float:
        """After how many steps it was so accurate; not a number if never."""
        found = [i for i, reached in enumerate(self.course) if reached >= wanted]
        return (found[0] + 1) * steps / len(self.course) if found else float("nan")


def batches(seed: int, steps: int) -> Tensor:
    """(steps, ranks, batch): which examples are seen."""
    drawn = torch.Generator().manual_seed(seed)
    return torch.randint(TRAINING, (steps, RANKS, BATCH), generator=drawn)


def learnt(way: Way, task: Task, seed: int, steps: int) -> Learnt:
    """Train a student; the same seed, the same start and the same batches."""
    model = student(seed)
    if way.name in ("paper", "dgc", "dgc-masked"):
        return _sparsely(way, task, model, batches(seed, steps))
    used = DistributedDataParallel(model, process_group=dist.group.WORLD)
    register_hook(used, way.name, way.warmup_steps)
    optimizer = SGD(model.parameters(), lr=way.learning_rate, momentum=MOMENTUM)
    schedule = CosineAnnealingLR(optimizer, steps)
    course = []
    for step, of_ranks in enumerate(batches(seed, steps)):
        optimizer.zero_grad()
        _loss(used, task, of_ranks.flatten()).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
        if (step + 1) % (steps // POINTS) == 0:
            course.append(accuracy(model, task))
    return Learnt(course)


def _loss(model: nn.Module, task: Task, chosen: Tensor) -> Tensor:
    return nn.functional.cross_entropy(model(task.inputs[chosen]), task.labels[chosen])


def _sparsely(way: Way, task: Task, model: nn.Module, drawn: Tensor) -> Learnt:
    steps = len(drawn)
    parameters = list(model.parameters())[::-1]
    weights = parameters_to_vector(parameters).detach()
    vector_to_parameters(weights, parameters)
    chunks = Chunks(len(weights), way.chunk)
    correction: Correction = way.name  # type: ignore[assignment]
    states = [
        State(chunks, correction, torch.zeros_like(weights), torch.zeros_like(weights))
        for _ in range(RANKS)
    ]
    sent = np.ones(len(chunks), dtype=np.bool_)
    ages = np.zeros(len(chunks), dtype=np.int64)
    course: list[float] = []
    for step, of_ranks in enumerate(drawn):
        rate = way.learning_rate * (1 + np.cos(np.pi * step / steps)) / 2
        own = [_gradient(model, parameters, task, chosen) for chosen in of_ranks]
        mean, norms = _exchange(states, own, sent, way.chunk)
        moves: list[tuple[slice, Any]] = []
        for state, gradient in zip(states, own, strict=True):
            moves = list(state.step(gradient, mean.__getitem__, sent, MOMENTUM))
        for where, move in moves:
            weights[where] -= rate * move
        ages = next_ages(ages, sent)
        sparsity = sparsity_at(step + 1, way.sparsity, way.warmup_steps)
        sent = largest(norms, sent_chunks(len(chunks), sparsity))
        if (step + 1) % (steps // POINTS) == 0:
            course.append(accuracy(model, task))
    return Learnt(course, int(ages.max()))


def _gradient(
    model: nn.Module, parameters: Sequence[nn.Parameter], task: Task, chosen: Tensor
) -> Tensor:
    found = torch.autograd.grad(_loss(model, task, chosen), parameters)
    return parameters_to_vector(found)


def _exchange(
    states: Sequence[State], own: Sequence[Tensor], sent: Any, size: int
) -> tuple[Tensor, Any]:
    """The mean of what is sent, and the norms of all chunks."""
    mean = torch.zeros_like(own[0])
    norms = torch.zeros(len(sent))
    for state, gradient in zip(states, own, strict=True):
        for where, values in state.outgoing(gradient, sent, MOMENTUM):
            mean[where] += values / len(states)
        held = torch.zeros(len(sent))
        for where, values in state.waiting(gradient, sent, MOMENTUM):
            measure(held, where.start // size, values, size)
        norms += held
    for where in states[0].chunks.spans(sent):
        measure(norms, where.start // size, len(states) * mean[where], size)
    return mean, norms.double().numpy()
