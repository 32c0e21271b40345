"""A small real training: scikit-learn's 1797 handwritten digits (Alpaydin and Kaynak 1998)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

TRAINING_IMAGES = 1440
CLASSES = 10
LEARNING_RATE, MOMENTUM = 0.1, 0.9


@dataclass(frozen=True)
class Learned:
    """Result of a training on the digits.

    Args:
        losses: of every step the mean over all ranks.
        accuracy: share of the images kept back that are told right.
    """

    losses: list[float]
    accuracy: float


def digits() -> tuple[Tensor, Tensor]:
    """Images, (1797, 1, 8, 8) in [0, 1], and what digits they are; they come with scikit-learn."""
    from sklearn.datasets import load_digits  # noqa: PLC0415

    found: Any = load_digits()
    images = torch.tensor(found.images, dtype=torch.float32).unsqueeze(1) / 16
    return images, torch.tensor(found.target)


def model() -> nn.Module:
    """Build a network of two convolutions and two full layers: 24,426 parameters."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 3 * 3, 64),
        nn.ReLU(),
        nn.Linear(64, CLASSES),
    )


def drawn_images(seed: int, step: int, worker: int, batch: int) -> Tensor:
    """(batch,): the images that a worker sees in a step, whoever else is there.

    Args:
        seed: of all draws.
        step: counted over all that are trained.
        worker: its number.
        batch: images a worker and step.
    """
    drawn = torch.Generator().manual_seed((seed * 1_000_003 + step) * 4099 + worker)
    return torch.randint(TRAINING_IMAGES, (batch,), generator=drawn)


def accuracy(net: nn.Module, images: Tensor, labels: Tensor) -> float:
    """The share of the images kept back that are told right."""
    with torch.no_grad():
        told = net(images[TRAINING_IMAGES:]).argmax(dim=1)
    return float((told == labels[TRAINING_IMAGES:]).double().mean().item())


def train(
    images: Tensor, labels: Tensor, *, epochs: int, batch: int, seed: int, group: Any = None
) -> Learned:
    """Train in the process group (the default: that of all ranks); the same seed, the same start.

    Args:
        images: as of `digits`; the last are kept back.
        labels: as of `digits`.
        epochs: how many times every image is seen.
        batch: images a rank and step.
        seed: of the weights and of the images' order.
        group: of the ranks that train.
    """
    torch.manual_seed(seed)
    replica = DistributedDataParallel(model(), process_group=group)
    optimizer = torch.optim.SGD(replica.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)
    seen = TensorDataset(images[:TRAINING_IMAGES], labels[:TRAINING_IMAGES])
    ranks = dist.get_world_size(group)
    sampler: DistributedSampler[Any] = DistributedSampler(
        seen, num_replicas=ranks, rank=dist.get_rank(group), seed=seed
    )
    loader = DataLoader(seen, batch_size=batch, sampler=sampler)
    losses = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for some, their_labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(replica(some), their_labels)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            mean = loss.detach() / ranks
            dist.all_reduce(mean, group=group)
            losses.append(mean.item())
    return Learned(losses, accuracy(replica, images, labels))
