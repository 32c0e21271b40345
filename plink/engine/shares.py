"""Compute the share of every buffer that each worker should carry. Pure.

A worker's *cost* on a rank is how long it would take there if it alone carried all that the rank
sends: the time that its connections had something to send, over its share of the bytes. Small
buffers, which one worker carries, do not count, nor does waiting for a rank that is late.

A chunk stays with one worker on its whole way, so a collective is over when the slowest worker of
the slowest rank is: after max_i w_i max_r cost_ir for shares w. The least of that, over shares with
sum 1, is where w_i is in inverse proportion to max_r cost_ir. So the ranks agree on the largest
cost of each worker: its least rate, where ranks send alike.

Costs need no list of interfaces. Workers that share one, a rack's uplink, or a processor, slow each
other down; shares then move until what bounds them is used evenly, and stop there.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.engine.statistics import Statistics

Floats = npt.NDArray[np.float64]

# The kernel counts busy time in ticks of up to 10 ms.
_LEAST_BUSY_S = 0.05
# What new shares must be worth in each of some windows, one after the other; more than noise makes
# one of equal workers slower.
_WINDOWS = 3
_LEAST_GAIN = 1.05
_LEAST_GAIN_OVER_EQUAL = 1.08
# Where unequal shares are worth less, the workers are equal.
_EQUAL_GAIN = 1.03
# An interface that carries little looks faster than it is where bursts are let through.
_MOST_GROWTH = 1.6
# So that a slow interface that becomes fast again is noticed.
_LEAST_SHARE = 1.0 / 64.0
_US = 1e-6


def costs(before: Statistics, after: Statistics, workers: int) -> Floats:
    """Return each worker's cost between two statistics, as (workers,) seconds; 0 if unknown.

    Each worker's connections send at the same time, so that its busiest counts. The kernel's busy
    time has that with small buffers in it, the worker's own that of waiting for other ranks; the
    lesser has little of either.
    """
    busy_s, carried_bytes = np.zeros(workers), np.zeros(workers)
    if not before.workers or len(before.workers) != len(after.workers):
        return np.zeros(workers)
    earlier = {(one.peer, one.worker): one for one in before.connections}
    for now in after.connections:
        then = earlier.get((now.peer, now.worker))
        if then is None or now.is_shared_memory:
            continue
        # While the receiver has no room, a slow interface is not the cause.
        busy_us = now.busy_us - then.busy_us - (now.receiver_limited_us - then.receiver_limited_us)
        busy_s[now.worker] = max(busy_s[now.worker], _US * busy_us)
    for worker, (began, ended) in enumerate(zip(before.workers, after.workers, strict=True)):
        busy_s[worker] = min(busy_s[worker], _US * (ended.busy_us - began.busy_us))
        carried_bytes[worker] = ended.size_bytes - began.size_bytes
    found = np.zeros(workers)
    if busy_s.max(initial=0.0) >= _LEAST_BUSY_S:
        np.divide(busy_s * carried_bytes.sum(), carried_bytes, out=found, where=carried_bytes > 0.0)
    return found


class Shares:
    """Workers' shares of buffers, which follow their costs; the same on all ranks.

    Args:
        workers: how many there are.
    """

    def __init__(self, workers: int) -> None:
        self._equal = [1.0 / workers] * workers
        self._windows: deque[list[float]] = deque(maxlen=_WINDOWS)
        self.weights = self._equal

    @property
    def are_equal(self) -> bool:
        """Whether the shares are equal, so that chunks go to the workers in turn."""
        return self.weights is self._equal

    def follow(self, costs: Sequence[float]) -> bool:
        """Record the costs of a window and return whether the weights have changed.

        They change where some windows, one after the other, agree that it is worth it: so they
        neither follow noise nor swing.

        Args:
            costs: (workers,) seconds, the largest of all ranks; 0 for what nobody knows.
        """
        self._windows.append(list(costs))
        if len(self._windows) < _WINDOWS or min(map(min, self._windows)) <= 0.0:
            return False
        # Arithmetic that all processors round alike: ranks must have the same.
        wanted = _inverse(
            [statistics.median(of_worker) for of_worker in zip(*self._windows, strict=True)]
        )
        if not self._gains(_EQUAL_GAIN, wanted, over=self._equal):
            wanted = self._equal
        wanted = _towards(wanted, self.weights)
        least = _LEAST_GAIN_OVER_EQUAL if self.are_equal else _LEAST_GAIN
        if not self._gains(least, wanted, over=self.weights):
            return False
        self.weights = wanted
        self._windows.clear()
        return True

    def _gains(self, least: float, weights: Sequence[float], over: Sequence[float]) -> bool:
        """Return whether in every window weights are at least `least` times as fast as `over`."""
        return all(
            _seconds(over, window) >= least * _seconds(weights, window) for window in self._windows
        )


def _seconds(weights: Sequence[float], costs: Sequence[float]) -> float:
    return max(weight * cost for weight, cost in zip(weights, costs, strict=True))


def _towards(wanted: list[float], weights: Sequence[float]) -> list[float]:
    """Return weights on the way to the wanted ones, so that no share grows too much at once."""
    step = 1.0
    for new, old in zip(wanted, weights, strict=True):
        if new > _MOST_GROWTH * old:
            step = min(step, (_MOST_GROWTH - 1.0) * old / (new - old))
    if step == 1.0:
        return wanted
    return [old + step * (new - old) for new, old in zip(wanted, weights, strict=True)]


def _inverse(costs: Sequence[float]) -> list[float]:
    """Return shares with sum 1 in inverse proportion, none too small to be measured."""
    rates = [1.0 / cost for cost in costs]
    total = math.fsum(rates)
    shares = [max(rate / total, _LEAST_SHARE) for rate in rates]
    total = math.fsum(shares)
    return [share / total for share in shares]
