"""SGD with momentum that sends only the important chunks of gradients."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.autograd import Variable
from torch.distributed import ProcessGroup
from torch.optim import Optimizer

from plink.base.arguments import check_instance, check_real
from plink.base.errors import WrongUseError
from plink.torch.overlap.parallel import DataParallel
from plink.torch.overlap.pool import Pool
from plink.torch.sparse import checkpoints
from plink.torch.sparse.csc import CSC
from plink.torch.sparse.exchange import Exchanged, exchange
from plink.torch.sparse.part import Part, Rule
from plink.torch.sparse.refusals import refuse, verify_same
from plink.training.sparse.chunks import Chosen, parts_of
from plink.training.sparse.ramp import sent_chunks, sparsity_at
from plink.training.sparse.selection import largest, next_ages
from plink.training.sparse.volume import sent_bytes


@dataclass(frozen=True)
class _Waiting:
    """Received gradients that wait for the step, and their scale."""

    exchanged: Exchanged
    scale: float


class SparseSGD(Optimizer):
    """SGD with momentum for a module, which sends a share of the gradients at each step.

        csc = plink.torch.CSC(sparsity=0.85, warmup_steps=500)
        optimizer = plink.torch.SparseSGD(net, lr=0.1, momentum=0.9, csc=csc)

    When a backward pass ends, each `p.grad` has the mean over all ranks where its chunk was sent,
    and zeros elsewhere, the same on all ranks: norms are clipped, and scales undone, by PyTorch's
    own functions. Weights, velocity and what is held back move at `step` alone. Gradients that are
    infinite or no number, on whichever rank, are NaN on all ranks then, and `step` leaves all as
    it is. A parameter without a gradient has zeros.

    Args:
        model: the module, or `plink.torch.DataParallel` of it, which then sends nothing by itself.
            Parameters and buffers become rank 0's.
        lr: the learning rate.
        momentum: the factor of velocities, from 0 to less than 1.
        weight_decay: the factor of weights that is added to gradients. Weights whose chunk is held
            back stay.
        nesterov: look ahead.
        csc: what is held back.
        scaler: the `GradScaler` by which losses are scaled; what is held back has no scale.
        group: of the ranks; None for the default group, or the model's.

    Raises:
        WrongUseError: the module or an option cannot be trained like this, or ranks differ.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        lr: float,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        csc: CSC | None = None,
        scaler: torch.amp.GradScaler | None = None,
        group: ProcessGroup | None = None,
    ) -> None:
        refuse(model, momentum, nesterov=nesterov)
        check_real("lr", lr, 0.0)
        check_real("weight_decay", weight_decay, 0.0)
        if csc is not None:
            check_instance("csc", csc, CSC, "a plink.torch.CSC")
        if scaler is not None:
            check_instance("scaler", scaler, torch.amp.GradScaler, "a torch.amp.GradScaler")
        self.csc = CSC() if csc is None else csc
        if not isinstance(model, DataParallel):
            model = DataParallel(model, group=group)
        self._model = model
        self._group = model.group
        self._scaler = scaler
        verify_same(
            {
                **self.csc.as_dict(),
                "momentum": momentum,
                "nesterov": nesterov,
                "lr": float(lr),
                "weight_decay": float(weight_decay),
                "scale": self._scale,
            },
            self._group,
        )
        self._parts = [
            Part(pool, self.csc.chunk, self.csc.correction) for pool in model.hand_over()
        ]
        self._accumulates = False
        self._task = -1
        self._waiting: _Waiting | None = None
        self._steps = 0
        self._skipped = 0
        count = sum(self._counts)
        self._sent: Chosen = np.ones(count, dtype=np.bool_)
        self._ages = np.zeros(count, dtype=np.int64)
        # GradScaler then calls `step` on all ranks, not only where gradients are finite.
        self._step_supports_amp_scaling = True
        for part in self._parts:
            for i in range(len(part.pool)):
                part.pool.parameter(i).register_post_accumulate_grad_hook(  # type: ignore[no-untyped-call]
                    functools.partial(self._came, part.pool, i)
                )
        # Of the last step: what changes between an exchange and its step is seen in the next.
        self._stepped: dict[str, float] = {}
        super().__init__(
            [part.pool.parameter(i) for part in self._parts for i in range(len(part.pool))],
            {
                "lr": lr,
                "momentum": momentum,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
            },
        )

    @property
    def sent(self) -> Chosen:
        """Whether the next step sends each chunk, (C,), of all gradients in pool order."""
        return self._sent.copy()

    @property
    def ages(self) -> npt.NDArray[np.int64]:
        """Steps for which each chunk has not been sent, (C,); large where chunks starve."""
        return self._ages.copy()

    @property
    def skipped_steps(self) -> int:
        """Number of steps that changed nothing, as gradients were not finite."""
        return self._skipped

    @property
    def next_bytes(self) -> float:
        """Bytes that a rank sends in the next step: mean over ranks, without headers."""
        items_bytes = [
            (part.chunks.items_of(chosen), part.pool.flat.element_size())
            for part, chosen in zip(self._parts, self._sent_by_part, strict=True)
        ]
        ranks = self._group.size()
        norms = sent_bytes(0, 0, len(self._sent), ranks)
        return norms + sum(sent_bytes(items, size, 0, ranks) for items, size in items_bytes)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Let backward passes within the context add to this rank's gradients alone."""
        before, self._accumulates = self._accumulates, True
        try:
            yield
        finally:
            self._accumulates = before

    def zero_grad(self, set_to_none: bool = True) -> None:  # noqa: ARG002 - PyTorch's
        """Set gradients to zero in their pools and drop received ones that wait for `step`."""
        self._waiting = None
        for part in self._parts:
            part.pool.flat.zero_()
            for i in range(len(part.pool)):
                part.pool.parameter(i).grad = part.pool.view(i)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> Any:
        """Step with the chunks that were sent, hold back the others, and choose the next chunks.

        Raises:
            DistBackendError: a rank is lost; nothing has changed.
            WrongUseError: gradients are scaled otherwise than by the scaler that was given, or were
                changed otherwise than by a factor; nothing has changed.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        scaled = self._scale_left()
        if self._waiting is not None:
            # The program may have put other tensors, or none, in their places.
            for part in self._parts:
                part.pool.attach()
        # It is missing where no gradient came on this rank.
        waiting, self._waiting = self._waiting or self._exchange(), None
        if not waiting.exchanged.is_finite:
            self._skipped += 1
            return loss
        sent = self._sent_by_part
        unscaled_by = 1.0 if scaled else waiting.scale
        clips = [
            part.clipped_by(chosen, unscaled_by)
            for part, chosen in zip(self._parts, sent, strict=True)
        ]
        scale = waiting.scale if scaled else 1.0
        for part, chosen, clip in zip(self._parts, sent, clips, strict=True):
            part.step(chosen, scale, clip, self._rule, self._learning_rate)
        self._stepped = self._options
        self._steps += 1
        self._ages = next_ages(self._ages, self._sent)
        sparsity = sparsity_at(self._steps, self.csc.sparsity, self.csc.warmup_steps)
        self._sent = largest(waiting.exchanged.norms, sent_chunks(len(self._sent), sparsity))
        return loss

    def add_param_group(self, param_group: Any) -> None:
        """Refuse a group beside the module's own: where chunks lie is fixed from the start."""
        if self.param_groups:
            raise WrongUseError("parameters cannot be added to a SparseSGD")
        super().add_param_group(param_group)

    def state_dict(self) -> Any:
        """Return this rank's state, without copies as PyTorch's; each rank saves its own."""
        return {
            "csc": self.csc.as_dict(),
            "rank": self._group.rank(),
            "ranks": self._group.size(),
            "step": self._steps,
            "skipped": self._skipped,
            "sent": torch.from_numpy(self._sent.copy()),
            "ages": torch.from_numpy(self._ages.copy()),
            "parts": checkpoints.state_of(self._parts),
            "options": {
                name: value for name, value in self.param_groups[0].items() if name != "params"
            },
        }

    def load_state_dict(self, state_dict: Any) -> None:
        """Load state of this rank, to continue bit for bit, or of `merged`, on any number of ranks.

        Raises:
            WrongUseError: the state is another rank's, or of another module, chunk or correction.
        """
        checkpoints.verify_of(
            state_dict, self._group.rank(), self._group.size(), self.csc.as_dict()
        )
        checkpoints.load(self._parts, state_dict["parts"])
        self._steps = state_dict["step"]
        self._skipped = state_dict["skipped"]
        self._sent = np.array(state_dict["sent"])
        self._ages = np.array(state_dict["ages"])
        self.param_groups[0].update(state_dict["options"])
        self._waiting = None

    @staticmethod
    def merged(states: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Merge the `state_dict`s of all ranks into one for any number of ranks.

        What is held back becomes the mean over the ranks, for each of the new ones, so that weights
        get no less of it and no more.

        Raises:
            WrongUseError: they are not of all ranks, at one step.
        """
        return checkpoints.merge_states(states)

    @property
    def _counts(self) -> list[int]:
        return [len(part.chunks) for part in self._parts]

    @property
    def _sent_by_part(self) -> list[Chosen]:
        return parts_of(self._sent, self._counts)

    @property
    def _rule(self) -> Rule:
        of_group = self.param_groups[0]
        return Rule(of_group["momentum"], of_group["weight_decay"], of_group["nesterov"])

    @property
    def _scale(self) -> float:
        return 1.0 if self._scaler is None else float(self._scaler.get_scale())

    @property
    def _options(self) -> dict[str, float]:
        of_group = self.param_groups[0]
        return {
            name: float(of_group[name]) for name in ("lr", "momentum", "weight_decay", "nesterov")
        }

    @property
    def _learning_rate(self) -> float:
        return float(self.param_groups[0]["lr"])

    def _came(self, pool: Pool, index: int, _: Tensor) -> None:
        pool.absorb(index)
        if self._accumulates or not self._model.is_reducing:
            return
        if self._waiting is not None:
            raise WrongUseError(
                f"the gradient of '{pool.names[index]}' came once more before a step",
                "call step() or zero_grad() between, or use no_sync() for all passes but the last",
            )
        task = torch._C._current_graph_task_id()
        if task != self._task:
            self._task = task
            Variable._execution_engine.queue_callback(self._end)

    def _end(self) -> None:
        if torch._C._current_autograd_node() is not None:
            raise WrongUseError(
                "a backward pass within a backward pass cannot be followed",
                "give use_reentrant=False to checkpoints",
            )
        self._waiting = self._exchange()

    @torch.no_grad()
    def _exchange(self) -> _Waiting:
        for part in self._parts:
            part.pool.attach()
        scale = self._scale
        options = {**self._options, "scale": scale}
        before = self._stepped or self._options
        options.update((f"{name} of the last step", value) for name, value in before.items())
        exchanged = exchange(
            self._parts,
            self._sent_by_part,
            self._rule,
            scale,
            options=options,
            group=self._group,
        )
        if not exchanged.is_finite:
            for part in self._parts:
                part.pool.flat.fill_(torch.nan)
        return _Waiting(exchanged, scale)

    def _scale_left(self) -> bool:
        """Return whether gradients still have the loss scale; check it against the scaler."""
        is_scaling = self._scaler is not None and self._scaler.is_enabled()
        if hasattr(self, "grad_scale") != is_scaling:
            raise WrongUseError(
                "gradients are scaled otherwise than SparseSGD was told",
                "give it the GradScaler that scales losses, and call scaler.step(optimizer)",
            )
        return is_scaling and getattr(self, "grad_scale", None) is not None
