"""What can be seen of a job: by people, by Prometheus."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from plink.autotune.tuner.window import Floats, Window

_DECISIONS_SHOWN = 20


@dataclass(frozen=True)
class Event:
    """Something that happened.

    Args:
        at_s: seconds since 1970.
        what: in a word.
        text: a sentence.
    """

    at_s: float
    what: str
    text: str


@dataclass
class Status:
    """Of one job, so far.

    Args:
        name: of the job.
        hosts: names, by index.
        ranks: of the job.
        ranks_there: how many are connected.
        plan: number of the newest plan.
        plan_in_force: number of the plan of the last window.
        window: the last one.
        reduced_bytes: in an iteration of it.
        rate_bytes_s: (H,) the fastest delivery that the kernel saw on a connection of each host.
        waited_s: (H,) the longest that a connection of it had no room at the receiver, in it.
        windows: how many were whole.
        windows_incomplete: how many lacked a rank.
        windows_unread: how many could not be used.
        decisions: by action.
        reprobe_hosts: those that were to be probed again when this was last asked for.
        latest: what happened last, the newest at the end.
    """

    name: str
    hosts: Sequence[str]
    ranks: int
    ranks_there: int = 0
    plan: int = 0
    plan_in_force: int = 0
    window: Window | None = None
    reduced_bytes: float = 0.0
    rate_bytes_s: Floats = field(default_factory=lambda: np.empty(0))
    waited_s: Floats = field(default_factory=lambda: np.empty(0))
    windows: int = 0
    windows_incomplete: int = 0
    windows_unread: int = 0
    decisions: Counter[str] = field(default_factory=Counter)
    reprobe_hosts: Sequence[str] = ()
    latest: deque[Event] = field(default_factory=lambda: deque(maxlen=_DECISIONS_SHOWN))

    @property
    def throughput_bytes_s(self) -> float:
        """Of the buffers that are reduced, per second of iterations."""
        if self.window is None or not self.window.median_s:
            return 0.0
        return self.reduced_bytes / self.window.median_s
