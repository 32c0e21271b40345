"""What ranks with a timeline do."""

from __future__ import annotations

import datetime
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

import plink.torch

# What the late rank adds to the time until all others have announced.
LATE_S = 0.02
WAIT = datetime.timedelta(seconds=60)
_LOOK_S = 0.01


def iterating(say: Any, rank: int, layers: int, iterations: int, late: int) -> None:
    """All-reduce in another order on each rank, one of which begins late; then join.

    The late rank begins `LATE_S` after all others have announced all collectives of the iteration.
    """
    tensors = [torch.ones(10 * (layer + 1)) for layer in range(layers)]
    store = dist.distributed_c10d._get_default_store()
    others = [other for other in range(dist.get_world_size()) if other != late]
    for iteration in range(iterations):
        order = list(range(layers))
        random.Random(10 * iteration + rank).shuffle(order)
        if rank == late:
            store.wait([f"announced/{iteration}/{other}" for other in others], WAIT)
            time.sleep(LATE_S)
        works = [plink.torch.all_reduce(tensors[i], f"layer{i}") for i in order]
        if rank != late:
            store.set(f"announced/{iteration}/{rank}", "")
        for work in works:
            work.wait()
    # Announced by one rank alone: with two, the second could hold up the first for longer than the
    # late rank holds up both, where the machine does not let it run.
    if rank == others[0]:
        plink.torch.all_reduce(torch.ones(3), "not by all").wait()
    plink.torch.join()
    part = dist.new_group([0, 1], pg_options=plink.torch.Options(control=plink.torch.Control()))
    if rank < 2:
        plink.torch.all_reduce(torch.ones(3), "in the part", group=part).wait()


def killed(say: Any, rank: int, file: str) -> Any:
    """Kill rank 1 while rank 0 waits for it.

    Args:
        file: the timeline of rank 1, which is killed once its last announcement stands there.
    """
    plink.torch.all_reduce(torch.ones(3), "by both").wait()
    if rank == 1:
        plink.torch.all_reduce(torch.ones(3), "of rank 1")
        while '"of rank 1"' not in Path(file).read_text():
            time.sleep(_LOOK_S)
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        plink.torch.all_reduce(torch.ones(3), "of rank 0").wait()
    except dist.DistBackendError as error:
        return str(error)
    return "no error"
