"""An allreduce among the first N ranks, for each N, and what the kernel says was sent.

Usage: python gloo_traffic.py ELEMENTS FOLDER LIMIT_S N[,N...] NAMESPACE...

One process per network namespace is a rank, in this order. Rank R writes its kernel's TCP counters
before and after into FOLDER/gloo-ring-N-R-before and -after. This ends with 0 where no rank failed.
"""

from __future__ import annotations

import ctypes
import datetime
import os
import signal
import subprocess
import sys
from pathlib import Path

import torch
import torch.distributed as dist

NETWORK = 0x40000000


def main() -> int:
    """Start the ranks and wait for them."""
    elements, folder, limit_s = int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    counts = [int(text) for text in sys.argv[4].split(",")]
    namespaces = sys.argv[5:]
    # torch is imported once: its import takes far longer than all else here.
    children = []
    for rank, namespace in enumerate(namespaces):
        child = os.fork()
        if child == 0:
            signal.alarm(limit_s)
            enter(namespace)
            run(rank, len(namespaces), elements, folder, counts)
            os._exit(0)
        children.append(child)
    return int(any(os.waitpid(child, 0)[1] != 0 for child in children))


def enter(namespace: str) -> None:
    """Move this process to a network namespace."""
    with Path("/run/netns", namespace).open() as place:
        if ctypes.CDLL(None, use_errno=True).setns(place.fileno(), NETWORK) != 0:
            raise OSError(ctypes.get_errno(), f"setns {namespace}")


def run(rank: int, ranks: int, elements: int, folder: Path, counts: list[int]) -> None:
    """Be one rank."""
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/store",
        rank=rank,
        world_size=ranks,
        timeout=datetime.timedelta(seconds=60),
    )
    for count in counts:
        group = dist.new_group(list(range(count)))
        if rank < count:
            reduce_once(elements, group, count)
        dist.barrier()
        save_counters(folder / f"gloo-ring-{count}-{rank}-before")
        dist.barrier()
        if rank < count:
            reduce_once(elements, group, count)
        dist.barrier()
        save_counters(folder / f"gloo-ring-{count}-{rank}-after")
        dist.barrier()


def reduce_once(elements: int, group: dist.ProcessGroup, ranks: int) -> None:
    """An allreduce (float32, sum), checked."""
    own = torch.arange(elements, dtype=torch.int64).remainder_(1000).to(torch.float32)
    buffer = own.clone()
    dist.all_reduce(buffer, group=group)
    if not torch.equal(buffer, own * ranks):
        raise RuntimeError("the sum is wrong")


def save_counters(path: Path) -> None:
    """Every connection with its counters, a line each."""
    path.write_bytes(subprocess.run(["ss", "-tinHO"], capture_output=True, check=True).stdout)


if __name__ == "__main__":
    sys.exit(main())
