"""What ranks with a timeline do."""

from __future__ import annotations

import os
import random
import signal
import time
from typing import Any

import torch
import torch.distributed as dist

import plink.torch


def iterating(say: Any, rank: int, layers: int, iterations: int, late: int) -> None:
    """All-reduces in another order on each rank, one of which begins late; then a join."""
    tensors = [torch.ones(10 * (layer + 1)) for layer in range(layers)]
    for iteration in range(iterations):
        order = list(range(layers))
        random.Random(10 * iteration + rank).shuffle(order)
        if rank == late:
            time.sleep(0.02)
        for work in [plink.torch.all_reduce(tensors[i], f"layer{i}") for i in order]:
            work.wait()
    if rank != late:
        plink.torch.all_reduce(torch.ones(3), "not by all").wait()
    plink.torch.join()
    part = dist.new_group([0, 1], pg_options=plink.torch.Options(control=plink.torch.Control()))
    if rank < 2:
        plink.torch.all_reduce(torch.ones(3), "in the part", group=part).wait()


def killed(say: Any, rank: int) -> Any:
    """Rank 1 is killed while rank 0 waits for it."""
    plink.torch.all_reduce(torch.ones(3), "by both").wait()
    if rank == 1:
        plink.torch.all_reduce(torch.ones(3), "of rank 1")
        # Longer than what is noted waits to be written.
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        plink.torch.all_reduce(torch.ones(3), "of rank 0").wait()
    except dist.DistBackendError as error:
        return str(error)
    return "no error"
