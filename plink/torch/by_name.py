"""All-reduces by name: functions that programs call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import ReduceOp
from torch.distributed.distributed_c10d import ProcessGroup

from plink.base.arguments import check_instance, check_real, check_text
from plink.base.errors import WrongUseError
from plink.base.text import brief
from plink.torch.group import PlinkGroup
from plink.torch.named.negotiation import Negotiation
from plink.torch.named.works import GroupedWork, NamedWork
from plink.torch.reductions import engine_op
from plink.torch.work import NO_TIMEOUT
from plink.training.control import requests
from plink.training.control.requests import UNNAMED, Request


def all_reduce(
    tensor: Tensor,
    name: str,
    op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    *,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> NamedWork:
    """Announce that this rank is ready to reduce a tensor in place.

    It begins when all ranks have announced this name, in whatever order each announces others.

    Args:
        tensor: dense, of a type and with an operation that the engine has.
        name: the same on all ranks; it must not be pending.
        op: the same on all ranks.
        group: one with `Options(control=...)`; None for the default group.
        prescale_factor: of what this rank contributes; the same on all ranks, as the next is.
        postscale_factor: of the result.

    Raises:
        WrongUseError: the group or the tensor cannot do that.
        DistBackendError: the name is pending already, or this rank has joined.
    """
    request = request_of(name, [tensor], (), op, (prescale_factor, postscale_factor))
    work = NamedWork(name, [tensor], NO_TIMEOUT)
    negotiation_of(group).announce([request], [work])
    return work


def grouped_all_reduce(
    tensors: Sequence[Tensor],
    name: str,
    op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    *,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> list[NamedWork]:
    """Reduce tensors of one type together, as `all_reduce`, once all ranks have all of them.

    Args:
        tensors: at least one, in the same order on all ranks.
        name: of all of them together.
        op: of each.
        group: as in `all_reduce`.
        prescale_factor: as in `all_reduce`.
        postscale_factor: as in `all_reduce`.

    Returns:
        A work for each tensor.
    """
    _check_tensors(tensors)
    request = request_of(
        name, tensors, members_of(name, len(tensors)), op, (prescale_factor, postscale_factor)
    )
    work = GroupedWork(name, tensors, NO_TIMEOUT)
    negotiation_of(group).announce([request], [work])
    return work.members


def join(group: ProcessGroup | None = None) -> int:
    """Contribute zeros until all ranks have run out of data, as this rank has.

    A mean is still divided by the number of all ranks, as in PyTorch's own `Join` and in Horovod.

    Returns:
        The rank that joined last.

    Raises:
        WrongUseError: the group cannot do that.
        DistBackendError: a rank is lost.
    """
    return negotiation_of(group).join()


def negotiation_of(group: ProcessGroup | None) -> Negotiation:
    """Return the negotiation by which a group's ranks agree on the order of collectives.

    Args:
        group: None for the default group.

    Raises:
        WrongUseError: the group has none.
    """
    if group is None:
        if not dist.is_initialized():
            raise WrongUseError(
                "there is no process group", 'call init_process_group("plink") first'
            )
        group = dist.group.WORLD
    if not isinstance(group, PlinkGroup):
        raise WrongUseError(
            f"group is of type {type(group).__name__}, expected a group of plink's",
            "init_process_group('plink', ...), or new_group(..., backend='plink')",
        )
    if group.negotiation is None:
        raise WrongUseError(
            "this group runs collectives in the order of the program",
            "init_process_group('plink', pg_options=plink.torch.Options(control=Control()))",
        )
    return group.negotiation


def _check_tensors(tensors: Sequence[Tensor]) -> None:
    if isinstance(tensors, Tensor):
        raise WrongUseError("tensors is a tensor, expected a list of them", "all_reduce takes one")
    check_instance("tensors", tensors, Sequence, "a list of tensors")
    if not tensors:
        raise WrongUseError("tensors is empty, expected at least one")
    for tensor in tensors:
        check_instance("tensor", tensor, Tensor, "a torch.Tensor")


def members_of(name: str, tensors: int) -> tuple[str, ...]:
    """Return the names of the tensors of a grouped all-reduce."""
    return tuple(f"{name}/{i}" for i in range(tensors))


def request_of(
    name: str,
    tensors: Sequence[Tensor],
    members: tuple[str, ...],
    op: Any,
    scales: tuple[float, float] = (1.0, 1.0),
) -> Request:
    """Build the request that ranks exchange for an all-reduce.

    Args:
        name: of it.
        tensors: of it; with more than one, what each is called is in `members`.
        members: empty for one tensor alone.
        op: PyTorch's.
        scales: factors of what a rank contributes, and of the result.

    Raises:
        WrongUseError: the engine does not do that.
    """
    check_text("name", name)
    if name.startswith(UNNAMED):
        raise WrongUseError(f"name is {brief(name)}, which plink uses itself")
    for factor, value in zip(("prescale_factor", "postscale_factor"), scales, strict=True):
        check_real(factor, value)
    _check_tensors(tensors)
    check_instance("op", op, (ReduceOp, ReduceOp.RedOpType), "a torch.distributed.ReduceOp")
    options = dist.AllreduceOptions()
    options.reduceOp = op
    engines = engine_op(tensors, options)
    if engines is None:
        kinds = sorted({str(tensor.dtype).removeprefix("torch.") for tensor in tensors})
        sparse = any(tensor.layout != torch.strided for tensor in tensors)
        what = "sparse tensors" if sparse else f"{op} of {', '.join(kinds) or 'nothing'}"
        raise WrongUseError(f"'{name}' is {what}, which the engine does not reduce")
    if scales != (1.0, 1.0) and not tensors[0].is_floating_point():
        raise WrongUseError(f"'{name}' has whole numbers, which cannot be scaled")
    specs = tuple(
        requests.Tensor(str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape))
        for tensor in tensors
    )
    return Request(
        name,
        specs,
        members,
        op=engines,
        device=tensors[0].device.type,
        prescale=float(scales[0]),
        postscale=float(scales[1]),
    )
