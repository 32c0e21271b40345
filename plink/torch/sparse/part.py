"""Part of a sparse training: one pool with its state, weights and gradients of a step."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from plink.base.errors import WrongUseError
from plink.torch.overlap.pool import Pool
from plink.torch.sparse.weights import Weights
from plink.training.sparse.chunks import Chosen, Chunks
from plink.training.sparse.corrections import Correction
from plink.training.sparse.selection import measure
from plink.training.sparse.state import State


@dataclass(frozen=True)
class Rule:
    """Factors of one step of SGD.

    Args:
        momentum, decay: the factors of velocities and weights.
        nesterov: look ahead.
    """

    momentum: float
    decay: float
    nesterov: bool


class Part:
    """Pool whose important chunks are sent, with the state and weights that belong to it.

    Between the backward pass and the step the pool has what all ranks have: the means of chunks
    that were sent, zeros elsewhere. This rank's own gradients are kept beside it.

    Args:
        pool: of parameters of one type and device.
        size: elements of a chunk.
        correction: by name.
    """

    def __init__(self, pool: Pool, size: int, correction: Correction) -> None:
        self.pool = pool
        self.weights = Weights(pool)
        self.chunks = Chunks(pool.flat.numel(), size)
        self._gradient = self._zeros()
        # What all ranks have of the chunks that were sent, until the step.
        self._received = self.pool.flat[:0]
        self.state = State(self.chunks, correction, self._zeros(), self._zeros())

    @property
    def device(self) -> torch.device:
        """Device of all tensors of the part."""
        return self.pool.flat.device

    def take(self, sent: Chosen, scale: float, rule: Rule) -> None:
        """Copy this rank's gradients, unscaled, with weight decay where velocities are its own."""
        self.weights.follow()
        torch.mul(self.pool.flat, 1.0 / scale, out=self._gradient)
        if rule.decay:
            for where in self.chunks.spans(self.state.own_now(sent)):
                self.weights.added_to(self._gradient[where], where, rule.decay)

    def message(self, sent: Chosen, factor: float, rule: Rule) -> Tensor:
        """Return what the chosen chunks send, (m,), times a factor, in the gradients' type."""
        items = self.chunks.items_of(sent)
        message = torch.empty(items, dtype=self.pool.flat.dtype, device=self.device)
        begin = 0
        for where, values in self.state.outgoing(
            self._gradient, sent, rule.momentum, nesterov=rule.nesterov
        ):
            end = begin + where.stop - where.start
            torch.mul(values, factor, out=message[begin:end])
            begin = end
        return message

    def measure_held(self, norms: Tensor, sent: Chosen, rule: Rule) -> None:
        """Write the norms of the chunks that are held back, as this rank has them."""
        size = self.chunks.size
        for where, values in self.state.waiting(
            self._gradient, sent, rule.momentum, nesterov=rule.nesterov
        ):
            measure(norms, where.start // size, values, size)

    def measure_sent(self, norms: Tensor, sent: Chosen, factor: float) -> None:
        """Write the norms of the chunks that were sent, times a factor."""
        size = self.chunks.size
        for where in self.chunks.spans(sent):
            measure(norms, where.start // size, self.pool.flat[where].float() * factor, size)

    def receive(self, message: Tensor, sent: Chosen) -> None:
        """Write the means of the chunks that were sent into the pool, and zeros elsewhere."""
        self._received = message
        begin = 0
        self.pool.flat.zero_()
        for where in self.chunks.spans(sent):
            end = begin + where.stop - where.start
            self.pool.flat[where] = message[begin:end]
            begin = end

    def clipped_by(self, sent: Chosen, unscaled_by: float) -> float:
        """Return the factor by which gradients were clipped since they were received.

        Args:
            sent: chunks that were.
            unscaled_by: the scale that they had then and have no more; 1 where that stays.

        Raises:
            WrongUseError: they were changed otherwise, which what is held back cannot follow.
        """
        received, self._received = self._received, self._received[:0]
        found = torch.cat(
            [self.pool.flat[:0], *(self.pool.flat[w] for w in self.chunks.spans(sent))]
        )
        if unscaled_by != 1.0:
            received = received.float() * (1.0 / unscaled_by)
        if torch.equal(found, received):
            return 1.0
        before, after = (float(one.abs().sum(dtype=torch.float64)) for one in (received, found))
        factor = after / before if before > 0.0 else 1.0
        limits = torch.finfo(found.dtype)
        tolerance = 2 * limits.eps
        expected = received.float() * factor
        allowed = expected.abs() * tolerance + 2 * limits.tiny * limits.eps
        if bool(((found.float() - expected).abs() <= allowed).all()):
            return 1.0 if abs(factor - 1.0) <= limits.eps else factor
        if not (self.state.own_now(sent) | ~sent).any():
            return 1.0
        raise WrongUseError(
            "gradients were changed otherwise than by one factor, which those that are held back "
            "cannot follow",
            "clip with torch.nn.utils.clip_grad_norm_ of all parameters",
        )

    def step(
        self, sent: Chosen, scale: float, clip: float, rule: Rule, learning_rate: float
    ) -> None:
        """Update the state and the weights by one step.

        Args:
            sent: chunks that were.
            scale: of what the pool has.
            clip: the factor by which gradients in the pool were clipped.
            rule: of the step.
            learning_rate: of it.
        """
        self.weights.follow()
        own = self.state.own_now(sent)
        shared = ~own
        if clip != 1.0:
            self._gradient.mul_(clip)
            if rule.decay:
                # Weight decay, which is in the gradients of own velocities, is not clipped.
                for where in self.chunks.spans(own):
                    decay = rule.decay * (1.0 - clip)
                    self.weights.added_to(self._gradient[where], where, decay)

        def mean(where: slice) -> Tensor:
            found = self.pool.flat[where].float()
            if scale != 1.0:
                found = found * (1.0 / scale)
            if rule.decay and shared[where.start // self.chunks.size]:
                found = found.clone()
                self.weights.added_to(found, where, rule.decay)
            return found

        for where, moved in self.state.step(
            self._gradient, mean, sent, rule.momentum, nesterov=rule.nesterov
        ):
            self.weights.add(where, moved, -learning_rate)

    def _zeros(self) -> Tensor:
        return torch.zeros(self.pool.flat.numel(), dtype=torch.float32, device=self.device)
