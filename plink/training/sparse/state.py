"""State of one rank's pool between steps, and how a step changes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from plink.training.sparse.chunks import Chosen, Chunks
from plink.training.sparse.corrections import (
    Array,
    Correction,
    hold,
    release,
    step_shared,
    waiting,
)

# Chunks that are worked on at a time: what is between two statements stays in the cache.
_AT_A_TIME = 8


class State:
    """Residual and velocity of a pool's elements, and whose velocity each chunk has.

    At first, and for as long as a chunk is sent at every step, its velocity is shared, so that a
    training that holds nothing back is dense training. `paper` shares all velocities always. With
    `dgc` a chunk that was held back once has a velocity of its own from then on, with `dgc-masked`
    until it is sent, when it is forgotten. (Masking whatever is sent, as Lin et al. do, would leave
    chunks that are sent at every step without momentum.)

    Nothing here changes before `hold` and `release`: a step that fails, or is skipped, leaves no
    trace.

    Args:
        chunks: of the pool.
        correction: by name.
        residual, velocity: (n,), flat, zeros at first; they are changed in place.
    """

    def __init__(
        self, chunks: Chunks, correction: Correction, residual: Array, velocity: Array
    ) -> None:
        self.chunks = chunks
        self.correction = correction
        self.residual = residual
        self.velocity = velocity
        self.owned: Chosen = np.zeros(len(chunks), dtype=np.bool_)

    def own_now(self, sent: Chosen) -> Chosen:
        """Return (C,): chunks whose velocity is own in a step that sends these.

        Weight decay goes where momentum is applied: here to this rank's gradient, elsewhere to the
        mean of what was sent.
        """
        if self.correction == "paper":
            return np.zeros(len(self.chunks), dtype=np.bool_)
        return self.owned | ~sent

    def outgoing(
        self, gradient: Array, sent: Chosen, momentum: float, *, nesterov: bool = False
    ) -> Iterator[tuple[slice, Array]]:
        """Yield the slices of the chunks that are sent and the values to send, in order."""
        has_residual = sent if self.correction == "paper" else sent & self.owned
        for where, has in self._spans(sent, has_residual):
            if has:
                yield where, self._waiting(gradient, where, momentum, nesterov=nesterov)
            else:
                yield where, gradient[where]

    def waiting(
        self, gradient: Array, sent: Chosen, momentum: float, *, nesterov: bool = False
    ) -> Iterator[tuple[slice, Array]]:
        """The same of the chunks that are held back: what they would send, for their norms."""
        for where in self.chunks.spans(~sent, _AT_A_TIME):
            yield where, self._waiting(gradient, where, momentum, nesterov=nesterov)

    def step(
        self,
        gradient: Array,
        mean: Callable[[slice], Array],
        sent: Chosen,
        momentum: float,
        *,
        nesterov: bool = False,
    ) -> Iterator[tuple[slice, Array]]:
        """Move the state, and say by which steps the weights move.

        Args:
            gradient: (n,): this rank's, of this step; it stays as it is.
            mean: of the chunks that lie there, over all ranks, of what was sent; where velocity is
                shared with weight decay.
            sent: (C,): chunks that were.
            momentum: the factor.
            nesterov: look ahead.

        Yields:
            Where sent chunks lie in the pool, and their step: to be subtracted, times the rate.
        """
        own = self.own_now(sent)
        for where in self.chunks.spans(~sent, _AT_A_TIME):
            hold(self.correction, *self._at(gradient, where), momentum, nesterov=nesterov)
        for where, is_own in self._spans(sent, own):
            release(self.correction if is_own else "paper", *self._at(gradient, where), momentum)
            if is_own:
                yield where, mean(where)
            else:
                velocity = self.velocity[where]
                yield where, step_shared(mean(where), velocity, momentum, nesterov=nesterov)
        self.owned = own & ~sent if self.correction == "dgc-masked" else own

    def _at(self, gradient: Array, where: slice) -> tuple[Array, Array, Array]:
        return gradient[where], self.residual[where], self.velocity[where]

    def _waiting(self, gradient: Array, where: slice, momentum: float, *, nesterov: bool) -> Array:
        return waiting(self.correction, *self._at(gradient, where), momentum, nesterov=nesterov)

    def _spans(self, sent: Chosen, marked: Chosen) -> Iterator[tuple[slice, bool]]:
        """Spans of sent chunks that are all marked, or none of them, in ascending order."""
        spans = [(where, True) for where in self.chunks.spans(sent & marked, _AT_A_TIME)]
        spans += [(where, False) for where in self.chunks.spans(sent & ~marked, _AT_A_TIME)]
        return iter(sorted(spans, key=lambda span: span[0].start))
