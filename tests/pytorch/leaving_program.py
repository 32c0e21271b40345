"""Ranks that end while others keep them waiting, and destroy nothing: FOLDER MACHINE-MODE...

Two of every way to agree, forked from this process, which imports PyTorch once for all of them.
Each ends as any program does; with which status is printed.
"""

import gc
import itertools
import os
import sys

import torch
import torch.distributed as dist

import plink.torch


def leave(rank: int, folder: str, way: str) -> None:
    """One rank: what it announces last nobody else does."""
    os.environ["PLINK_CONTROL"], mode = way.split("-")
    dist.init_process_group(
        "plink",
        init_method=f"file://{folder}/{way}",
        rank=rank,
        world_size=2,
        pg_options=plink.torch.Options(control=plink.torch.Control(mode=mode)),
    )
    plink.torch.all_reduce(torch.ones(1), "all").wait()
    if rank == 0:
        plink.torch.all_reduce(torch.ones(1), "mine alone")


if __name__ == "__main__":
    # No process looks through all of PyTorch for garbage when it ends.
    gc.freeze()
    started = {}
    for asked, number in itertools.product(sys.argv[2:], range(2)):
        process = os.fork()
        if process == 0:
            leave(number, sys.argv[1], asked)
            break
        started[process] = f"{asked} {number}"
    else:
        for process, name in started.items():
            print(name, os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
