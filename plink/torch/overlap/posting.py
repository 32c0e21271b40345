"""Posting of pool slices as they fill, in an order that is the same on all ranks."""

from __future__ import annotations

import dataclasses
import functools
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Variable
from torch.distributed import AllreduceOptions, DistBackendError, ProcessGroup, ReduceOp
from torch.nn import Parameter

from plink.base.errors import WrongUseError
from plink.torch.overlap.arrangement import Arrangement, Arranger
from plink.torch.overlap.groups import arrange_groups
from plink.torch.overlap.pool import Pool
from plink.training.overlap.profile import Profile


class Posting:
    """Averaging of gradients over ranks, group by group, during each backward pass.

    A group is posted when all of its gradients are there and all groups before it are posted;
    what is left, and what no gradient came of, at the end of the pass. A gradient that did not come
    counts as what `p.grad` has from before, or as zeros.

    Each rank divides what it contributes, by multiplying with 1 / N as DistributedDataParallel
    does, so that sums of 16-bit floats do not overflow and results are the same to the bit.

    Args:
        pools: of all gradients.
        profile: of them, in the reverse order of registration, all ready at 0.
        arranger: says where they are cut.
        group: of the ranks.
        finds_unused: a parameter that no rank has a gradient of keeps its `p.grad`; else it is
            as one whose gradient is zero. The ranks tell each other in the pools' tails.
    """

    def __init__(
        self,
        pools: Sequence[Pool],
        profile: Profile,
        arranger: Arranger,
        group: ProcessGroup,
        *,
        finds_unused: bool,
    ) -> None:
        self._pools = pools
        self._arranger = arranger
        self._group = group
        self._finds_unused = finds_unused
        self._factors = {pool.dtype: _factor(group.size(), pool.dtype) for pool in pools}
        self._options = AllreduceOptions()
        self._options.reduceOp = ReduceOp.SUM  # type: ignore[assignment]
        self._lock = threading.Lock()
        self._where: dict[str, tuple[Pool, int]] = {}
        self._group_of: dict[str, int] = {}
        # Whether passes reduce; the last forward pass decides, as in DistributedDataParallel.
        self.is_reducing = True
        # Parameters with a gradient since the last pass that reduced, and in this one.
        self._used: set[str] = set()
        self._came: set[str] = set()
        self._next = 0
        self._awaited: list[int] = []
        self._works: list[Any] = []
        # Of the graph task at whose end `_end` is called.
        self._task = -1
        self._arrange(arranger.first(profile))
        self._handles = [
            pool.parameter(i).register_post_accumulate_grad_hook(  # type: ignore[no-untyped-call]
                functools.partial(self._ready, name)
            )
            for pool in pools
            for i, name in enumerate(pool.names)
        ]

    @property
    def arrangement(self) -> Arrangement:
        """Arrangement of gradients that is in force."""
        return self._arrangement

    def check(self) -> None:
        """Check, outside of backward passes, that the last one came to its end.

        Raises:
            WrongUseError: the last one did not come to its end.
        """
        if self._came and torch._C._current_graph_task_id() < 0:
            self._drop()
            raise WrongUseError(
                "a backward pass ended by an error, when some gradients were sent already: ranks "
                "do not agree on what comes next",
                "end the process",
            )

    def follow(self, outputs: Any) -> None:
        """Follow the backward pass that begins at these outputs, until autograd ends it.

        Hooks of parameters alone do not know: with reentrant checkpoints they run in passes within.
        """
        for tensor in _tensors(outputs):
            if tensor.requires_grad and tensor.grad_fn is not None:
                tensor.register_hook(self._begin)  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Remove the hooks of all parameters, and leave their gradients alone."""
        for handle in self._handles:
            handle.remove()

    def _begin(self, _: Any = None) -> None:
        """Queue `_end` for the end of the graph task; a pass may have several, nested."""
        task = torch._C._current_graph_task_id()
        if task != self._task and self.is_reducing:
            self._task = task
            Variable._execution_engine.queue_callback(self._end)

    def _ready(self, name: str, _: Parameter) -> None:
        pool, index = self._where[name]
        with self._lock:
            self._used.add(name)
            if not self.is_reducing:
                pool.absorb(index)
                return
            self._begin()
            if name in self._came:
                raise WrongUseError(
                    f"the gradient of '{name}' came twice in one backward pass",
                    "parameters that several checkpoints use need use_reentrant=False",
                )
            self._came.add(name)
            pool.absorb(index, self._factors[pool.dtype])
            self._arranger.gradient_ready(name)
            group = self._group_of[name]
            self._awaited[group] -= 1
            if group == self._next:
                self._post_ready()

    def _post_ready(self) -> None:
        while self._next < len(self._groups) and self._awaited[self._next] == 0:
            works: list[Any] = []
            for part in self._groups[self._next].parts:
                pool = part.pool
                if part.end > pool.flat.numel():
                    self._fill_tail(pool)
                self._make_room(works)
                works.append(self._group.allreduce([_numbers(part.flat)], self._options))
            self._works += works
            self._next += 1
            self._arranger.group_posted(self._next - 1, works)

    def _make_room(self, posted: Sequence[Any]) -> None:
        """Wait until one more collective may be in flight, if the schedule limits the number."""
        most = self._arrangement.in_flight
        if most is not None and len(self._works) + len(posted) >= most:
            self._await([[*self._works, *posted][-most]])

    def _await(self, works: Sequence[Any]) -> None:
        try:
            for work in works:
                work.wait()
        except RuntimeError as error:
            self._drop()
            raise DistBackendError(str(error)) from None

    def _fill_tail(self, pool: Pool) -> None:
        pool.tail.fill_(1.0)
        if len(self._used) == len(self._where):
            return
        for i, name in enumerate(pool.names):
            if name not in self._used:
                pool.tail[i] = 0.0

    def _end(self) -> None:
        is_whole = self._next == len(self._groups)
        # A pass within another is over; in the outer one more may come.
        is_inner = torch._C._current_autograd_node() is not None
        # Nor is every pass of ours: torch.autograd.grad has gradients of its own.
        if not self._came or (is_inner and not is_whole):
            return
        before = {} if is_whole else self._complete()
        works, self._works = self._works, []
        self._await(works)
        self._attach(before)
        self._used, self._came = set(), set()
        self._restart()
        changed = self._arranger.pass_ended()
        if changed is not None:
            self._arrange(changed)

    def _complete(self) -> dict[str, Tensor | None]:
        """Post the remaining groups; return earlier gradients of parameters unused here."""
        before = {}
        for name, (pool, index) in self._where.items():
            if name in self._came:
                continue
            parameter, view = pool.parameter(index), pool.view(index)
            if name not in self._used:
                before[name] = None if parameter.grad is None else parameter.grad.clone()
            if parameter.grad is None:
                view.zero_()
            else:
                pool.absorb(index, self._factors[pool.dtype])
        self._awaited = [0] * len(self._groups)
        self._post_ready()
        return before

    def _attach(self, unused: Mapping[str, Tensor | None]) -> None:
        """Set gradients of parameters unused here: the mean if used elsewhere, else as before."""
        for name, before in unused.items():
            pool, index = self._where[name]
            if not self._finds_unused or pool.tail[index].item() != 0:
                pool.parameter(index).grad = pool.view(index)
            elif before is not None:
                pool.view(index).copy_(before)

    def _drop(self) -> None:
        """Set all gradients to None, as sums of only some ranks are of no use."""
        for pool in self._pools:
            for i in range(len(pool)):
                pool.parameter(i).grad = None

    def _arrange(self, arrangement: Arrangement) -> None:
        self._groups = arrange_groups(self._pools, arrangement, self._finds_unused)
        self._arrangement = arrangement
        for pool in self._pools:
            self._where.update((name, (pool, i)) for i, name in enumerate(pool.names))
        for i, group in enumerate(self._groups):
            self._group_of.update(dict.fromkeys(group.names, i))
        self._restart()

    def _restart(self) -> None:
        self._next = 0
        self._awaited = [len(group.names) for group in self._groups]


def _factor(ranks: int, dtype: torch.dtype) -> Tensor | None:
    """Return the factor 1 / N for tensors of a type; None for one rank.

    PyTorch would make it of a number at each use, in 2 us.
    """
    if ranks == 1:
        return None
    return torch.tensor(1.0 / ranks, dtype=torch.promote_types(dtype, torch.float32))


def _numbers(flat: Tensor) -> Tensor:
    """Return complex numbers as pairs of floats, which the engine reduces; others as they are."""
    return torch.view_as_real(flat).view(-1) if flat.is_complex() else flat


def _tensors(outputs: Any) -> Iterator[Tensor]:
    """Yield all tensors in what a module returned."""
    if isinstance(outputs, Tensor):
        yield outputs
    elif isinstance(outputs, dict):
        for one in outputs.values():
            yield from _tensors(one)
    elif isinstance(outputs, list | tuple):
        for one in outputs:
            yield from _tensors(one)
    elif dataclasses.is_dataclass(outputs):
        for field in dataclasses.fields(outputs):
            yield from _tensors(getattr(outputs, field.name))
