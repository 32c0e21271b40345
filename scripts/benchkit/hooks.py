"""PyTorch's own ways to send less, as hooks of DistributedDataParallel."""

from __future__ import annotations

from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

DENSE, HALF = "dense", "fp16"
# By name the rank of the matrices that are sent.
POWER_SGD = {f"PowerSGD {rank}": rank for rank in (1, 2, 4)}
NAMES = (DENSE, HALF, *POWER_SGD)


def register_hook(replica: DistributedDataParallel, name: str, warmup_steps: int) -> None:
    """Let it send as the name says.

    Args:
        replica: a module.
        name: one of `NAMES`.
        warmup_steps: in which PowerSGD sends all.
    """
    group = replica.process_group
    if name == HALF:
        replica.register_comm_hook(group, default_hooks.fp16_compress_hook)
    elif name != DENSE:
        state = powerSGD_hook.PowerSGDState(
            group,
            matrix_approximation_rank=POWER_SGD[name],
            # It keeps errors, and begins where it ended, from the third step on only.
            start_powerSGD_iter=max(3, warmup_steps),
        )
        replica.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
