"""Schedules for programs that keep PyTorch's DistributedDataParallel."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from plink.base.arguments import check_instance
from plink.base.errors import WrongUseError
from plink.base.text import brief
from plink.torch.overlap.pool import pool_order
from plink.torch.overlap.schedules import scheduling_of
from plink.training.overlap.profile import Profile
from plink.training.overlap.schedule import Schedule

_BYTES_PER_MB = 1 << 20


def bucket_caps(
    module: nn.Module, schedule: str | Schedule, order: Sequence[str] | None = None
) -> list[float]:
    """Return caps that make DistributedDataParallel's buckets end at a schedule's cuts.

        DDP(net, bucket_cap_mb_list=plink.torch.bucket_caps(net, "lazy(4MB)"))

    PyTorch (2.13) closes a bucket when it has as many bytes as its cap, and takes the last cap for
    all buckets after it. It fills buckets anew, once, before the second forward pass, in the order
    in which rank 0's gradients came in the first pass; until then, and with
    `find_unused_parameters` for good, in the order of registration, from which caps that are
    meant for the reverse give other buckets.

    Args:
        module: of parameters of one type on one device.
        schedule: its name, or cuts of the gradients in the order.
        order: names of the parameters that are trained, as their gradients come; None for the
            reverse order of registration.

    Returns:
        MB (of 2^20 bytes) for each bucket, in the order of gradients.

    Raises:
        WrongUseError: parameters are of several types, the order is not of these parameters, or
            there is no such schedule.
    """
    check_instance("module", module, nn.Module, "a torch.nn.Module")
    check_instance("schedule", schedule, (str, Schedule), "the name of a schedule or a Schedule")
    if isinstance(order, str):
        raise WrongUseError(
            f"order is {brief(order)}, expected a list of names of parameters",
            "[name for name, _ in module.named_parameters()]",
        )
    parameters = {
        name: one
        for name, one in pool_order(module.named_parameters())
        if one.requires_grad and one.numel()
    }
    if len({(one.dtype, one.device) for one in parameters.values()}) != 1:
        raise WrongUseError("caps are of parameters of one type on one device")
    names = tuple(parameters if order is None else order)
    if sorted(names) != sorted(parameters):
        raise WrongUseError("the order has each parameter that is trained once")
    sizes_bytes = tuple(parameters[name].nbytes for name in names)
    profile = Profile(names, sizes_bytes, (0.0,) * len(names))
    if isinstance(schedule, str):
        schedule = scheduling_of(schedule)(profile)
    return [group.size_bytes / _BYTES_PER_MB for group in schedule.groups(profile)]
