"""PyTorch's collectives over plink's engine.

    import plink.torch
    torch.distributed.init_process_group("plink")

The import registers the backend, and does nothing else (`docs/torch.md`).
"""

from torch.distributed import Backend

from plink.torch.backend import NAME, create
from plink.torch.group import DEVICES, PlinkGroup

if NAME.upper() not in Backend._plugins:
    Backend.register_backend(NAME, create, extended_api=True, devices=list(DEVICES))

__all__ = ["PlinkGroup"]
