"""Run on ranks: DistributedDataParallel on networks of real sizes, and on real data."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.futures import Future
from torch.nn.parallel import DistributedDataParallel

from benchkit.digits import train
from benchkit.networks import NETWORKS


class Parameters(nn.Module):
    """No network, only its parameters: their gradients come in the reverse order."""

    def __init__(self, network: str) -> None:
        super().__init__()
        shapes = [parameter.shape for parameter in NETWORKS[network]()]
        self.all = nn.ParameterList(torch.zeros(shape) for shape in shapes)

    def forward(self) -> Tensor:
        return torch.stack([one.sum() for one in self.all]).sum()


def bucket_items(say: Any, rank: int, network: str) -> list[int]:
    """The lengths of the buckets that DistributedDataParallel sends, in order."""

    # It would compare annotations that are text with the types themselves.
    def hook(sent, bucket):  # type: ignore[no-untyped-def]
        sent.append(bucket.buffer().numel())
        done: Future[Tensor] = Future()
        done.set_result(bucket.buffer())
        return done

    replica = DistributedDataParallel(Parameters(network), gradient_as_bucket_view=True)
    sent: list[int] = []
    replica.register_comm_hook(sent, hook)
    for _ in range(2):
        # In the first pass it learns in which order gradients come.
        sent.clear()
        replica().backward()
    return sent


def digits_on_both(
    say: Any, rank: int, images: Tensor, labels: Tensor, epochs: int
) -> list[tuple[list[float], float]]:
    """Losses of every step and the accuracy, on plink and on Gloo."""
    learned = []
    for group in (dist.group.WORLD, dist.new_group(backend="gloo")):
        one = train(images, labels, epochs=epochs, batch=20, seed=1, group=group)
        learned.append((one.losses, one.accuracy))
    return learned
