"""Module whose gradients are averaged over ranks while its backward pass goes on."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import ProcessGroup

from plink.base.arguments import check_flag, check_instance
from plink.base.errors import WrongUseError
from plink.torch.group import PlinkGroup
from plink.torch.overlap.arrangement import Arrangement, Arranger, Fixed, InOrder
from plink.torch.overlap.planning import PLANNED_SCHEDULES, Planning
from plink.torch.overlap.pool import Pool, pool_order, pools_of
from plink.torch.overlap.posting import Posting
from plink.torch.overlap.sameness import refuse, verify_same
from plink.torch.overlap.schedules import scheduling_of
from plink.training.overlap.heuristics import single
from plink.training.overlap.profile import Profile
from plink.training.overlap.schedule import Schedule

_BROADCAST_BYTES = 250 << 20


class DataParallel(nn.Module):
    """Replica of a module whose gradients all ranks average, like DistributedDataParallel.

        model = plink.torch.DataParallel(net, schedule="lazy(4MB)")

    Gradients lie in one pool for each type, of which each `p.grad` is a view; groups of them are
    reduced where they lie. `state_dict` has what the module's has, each key with `module.` before
    it, as DistributedDataParallel's.

    Under `torch.compile` the backward pass hands over all gradients at its end, so that nothing is
    sent while it computes: compile DistributedDataParallel where overlap counts.

    Args:
        module: the same on all ranks; parameters and buffers become rank 0's.
        schedule: which gradients are sent together: "ddp" (PyTorch's buckets), "wfbp" (each by
            itself), "single" (all in one), "lazy(4MB)" (whenever more than that waits), or planned
            from what passes are like: "auto" (the best of all), "asc", "lazy", "mg-wfbp",
            "optimal"; or
            cuts of all gradients in the reverse order of their registration; or what says so in
            each pass, which is `arranger` then.
        group: of the ranks; None for the default group.
        find_unused_parameters: a parameter that no rank has used keeps its `p.grad`, which is None
            mostly. False: its gradient is zeros.
        broadcast_buffers: buffers become rank 0's before each forward pass in training that is
            followed by a reduction.

    Raises:
        WrongUseError: parameters are sharded, or differ between ranks; or there is no such
            schedule, or not on such a group.
    """

    def __init__(
        self,
        module: nn.Module,
        schedule: str | Schedule | Arranger = "ddp",
        group: ProcessGroup | None = None,
        *,
        find_unused_parameters: bool = True,
        broadcast_buffers: bool = True,
    ) -> None:
        super().__init__()
        check_instance("module", module, nn.Module, "a torch.nn.Module")
        check_flag("find_unused_parameters", find_unused_parameters)
        check_flag("broadcast_buffers", broadcast_buffers)
        _check_schedule(schedule)
        refuse(module)
        self.module = module
        self.group = _group_of(group)
        parameters = pool_order(
            (name, one) for name, one in module.named_parameters() if one.requires_grad
        )
        self._pools = pools_of(parameters)
        self.arranger = _arranger_of(schedule, self.group, self._pools[0].flat.device)
        verify_same(module, self.group)
        self._broadcast([one.detach() for one in module.parameters()])
        self._broadcast([one.detach() for one in module.buffers()])
        profile = Profile(
            tuple(name for name, _ in parameters),
            tuple(one.nbytes for _, one in parameters),
            (0.0,) * len(parameters),
        )
        self._posting = Posting(
            self._pools, profile, self.arranger, self.group, finds_unused=find_unused_parameters
        )
        self._broadcasts_buffers = broadcast_buffers
        self._reduces = True
        # The parameters, which have its hooks, may outlive this module.
        weakref.finalize(self, self._posting.close)

    @property
    def pools(self) -> list[Pool]:
        """Pools of the gradients, one for each type and device."""
        return self._pools

    @property
    def arrangement(self) -> Arrangement:
        """Order of gradients and cuts that are in force."""
        return self._posting.arrangement

    @property
    def is_reducing(self) -> bool:
        """Whether the backward pass of the last forward pass reduces gradients."""
        return self._posting.is_reducing

    def hand_over(self) -> list[Pool]:
        """Stop sending gradients and hand the pools over to the caller, who sends them.

        Returns:
            The pools, whose order stays.
        """
        self._posting.close()
        return self._pools

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the wrapped module's forward pass and prepare the reduction of its gradients.

        Raises:
            WrongUseError: the backward pass before ended by an error.
        """
        if not torch.is_grad_enabled():
            return self.module(*args, **kwargs)
        self._posting.check()
        self._posting.is_reducing = self._reduces
        if self._reduces and self._broadcasts_buffers and self.training:
            self._broadcast([one.detach() for one in self.module.buffers()])
        outputs = self.module(*args, **kwargs)
        if self._reduces:
            self._posting.follow(outputs)
        return outputs

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Let backward passes of forward passes within the context reduce nothing.

        They add to this rank's gradients alone; the next pass after the context reduces what has
        come together.
        """
        before, self._reduces = self._reduces, False
        try:
            yield
        finally:
            self._reduces = before

    def __getstate__(self) -> Any:
        """Refuse to copy: a copy would reduce another module's gradients, on this rank alone."""
        raise WrongUseError(
            "a DataParallel is not copied or written", "copy model.module, or write its state_dict"
        )

    def _broadcast(self, tensors: list[torch.Tensor]) -> None:
        if tensors and self.group.size() > 1:
            dist._broadcast_coalesced(self.group, tensors, _BROADCAST_BYTES, 0)  # type: ignore[attr-defined]


def _group_of(group: ProcessGroup | None) -> ProcessGroup:
    if group is None:
        if not dist.is_initialized():
            raise WrongUseError(
                "there is no process group", 'call init_process_group("plink") first'
            )
        group = dist.group.WORLD
    if not isinstance(group, ProcessGroup):
        if group == dist.GroupMember.NON_GROUP_MEMBER:
            raise WrongUseError("this rank is not in the group")
        raise WrongUseError(f"group is of type {type(group).__name__}, expected a process group")
    return group


def _check_schedule(schedule: object) -> None:
    if isinstance(schedule, str):
        if schedule not in PLANNED_SCHEDULES:
            scheduling_of(schedule)
    elif not isinstance(schedule, Schedule) and not hasattr(schedule, "pass_ended"):
        raise WrongUseError(
            f"schedule is of type {type(schedule).__name__}, expected the name of a schedule, a "
            "Schedule or an arranger",
            'as in schedule="auto" or "lazy(4MB)"',
        )


def _arranger_of(
    schedule: str | Schedule | Arranger, group: ProcessGroup, device: torch.device
) -> Arranger:
    if isinstance(schedule, Schedule):
        return Fixed(lambda _: schedule, schedule.in_flight)
    if not isinstance(schedule, str):
        return schedule
    if schedule not in PLANNED_SCHEDULES:
        return InOrder(scheduling_of(schedule), group)
    if not isinstance(group, PlinkGroup):
        raise WrongUseError(
            f"the schedule '{schedule}' needs the times of plink's collectives",
            'call init_process_group("plink"), or choose ddp, wfbp, single or lazy(4MB)',
        )
    if group.size() == 1:
        return Fixed(single)
    return Planning(schedule, group, device)
