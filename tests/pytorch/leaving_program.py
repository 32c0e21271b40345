"""A rank that ends while others keep it waiting, and destroys nothing: RANK STORE MODE."""

import sys

import torch
import torch.distributed as dist

import plink.torch

if __name__ == "__main__":
    rank, store, mode = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    dist.init_process_group(
        "plink",
        init_method=f"file://{store}",
        rank=rank,
        world_size=2,
        pg_options=plink.torch.Options(control=plink.torch.Control(mode=mode)),
    )
    plink.torch.all_reduce(torch.ones(1), "all").wait()
    if rank == 0:
        plink.torch.all_reduce(torch.ones(1), "mine alone")
