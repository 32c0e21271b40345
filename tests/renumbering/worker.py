"""A PyTorch training with one line changed: it says where each rank is, and dies once if asked."""

from __future__ import annotations

import os
import socket
import sys
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

import plink.torch

order, once = sys.argv[1:]
plink.torch.init_process_group("gloo", timeout=timedelta(seconds=60), order=order)
total = torch.tensor([float(dist.get_rank())])
dist.all_reduce(total)
assert total.item() == sum(range(dist.get_world_size()))
assert os.environ["RANK"] == str(dist.get_rank())
attempt = Path(once)
if dist.get_rank() == 0 and once != "-" and not attempt.exists():
    attempt.touch()
    sys.exit(1)
turned = plink.torch.reordered_group(order)
assert dist.get_group_rank(turned, dist.get_rank()) == dist.get_rank()
dist.all_reduce(total, group=turned)
os.write(1, f"placed {dist.get_rank()} {socket.gethostname()}\n".encode())
dist.destroy_process_group()
