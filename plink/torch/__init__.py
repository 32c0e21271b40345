"""PyTorch's collectives over plink's engine.

    import plink.torch
    torch.distributed.init_process_group("plink")

The import registers the backend, and does nothing else (`docs/torch.md`).
"""

import torch.distributed
from torch.distributed import Backend

from plink.torch.backend import NAME, create, create_asked
from plink.torch.by_name import all_reduce, grouped_all_reduce, join
from plink.torch.group import PlinkGroup
from plink.torch.hub.diloco import DiLoCo
from plink.torch.hub.hub import Hub
from plink.torch.named.options import Control, Options
from plink.torch.optimizer import DistributedOptimizer
from plink.torch.overlap.caps import bucket_caps
from plink.torch.overlap.parallel import DataParallel
from plink.torch.reductions import DEVICES
from plink.torch.renumbering import init_process_group, reordered_group
from plink.torch.sparse.csc import CSC
from plink.torch.sparse.optimizer import SparseSGD

if NAME.upper() not in Backend._plugins:
    Backend.register_backend(NAME, create_asked, extended_api=True, devices=list(DEVICES))


def iteration() -> None:
    """Tell the autotuner that an iteration of the training ends here (`docs/autotune-daemon.md`).

    Only needed where collectives do not show it; without plink or an autotuner nothing happens.
    """
    if torch.distributed.is_initialized():
        group = torch.distributed.group.WORLD
        if isinstance(group, PlinkGroup):
            group.iteration()


__all__ = [
    "CSC",
    "Control",
    "DataParallel",
    "DiLoCo",
    "DistributedOptimizer",
    "Hub",
    "Options",
    "PlinkGroup",
    "SparseSGD",
    "all_reduce",
    "bucket_caps",
    "create",
    "grouped_all_reduce",
    "init_process_group",
    "iteration",
    "join",
    "reordered_group",
]
