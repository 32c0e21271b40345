"""Interface of the tuner: its options, the windows it receives, and its decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated

import numpy as np
import numpy.typing as npt
from msgspec import Meta

from plink.autotune.tuner.masters import Masters
from plink.base.replacing import replace
from plink.formats.limits import Complete
from plink.plans.forest import Forest

Ratio = Annotated[float, Meta(ge=0, le=1e9)]
OptionSeconds = Annotated[float, Meta(ge=0, le=1e9)]
OptionCount = Annotated[int, Meta(ge=1, le=1000)]


class TunerOptions(Complete, frozen=True, forbid_unknown_fields=True):
    """Thresholds that decide how soon, how far and how often a plan is changed.

    Attributes:
        sudden_change: relative change of the iteration time against its baseline from which on the
            plan is looked at (Luo 2020, §4.2.3: 20 %)
        noise_multiple: number of deviations of the baseline that a change has to exceed
        confirming_windows: windows in a row that have to show the same before anything follows
        learning_windows: windows that make a baseline
        trial_windows: windows by which a new plan is judged
        alike: relative difference below which rates count as equal, as readings of equal links
            differ; raised if readings are noisier
        least_gain: share of the iteration time that a new plan has to promise
        least_gain_home: the same for the plan that the job came with
        least_kept: share of its promise that a new plan has to keep
        worse: relative growth of the iteration time with which a new plan has failed
        blame_time_weight: gamma of Luo 2020, §4.2.3
        blame_load_weight: beta of Luo 2020, §4.2.3
        blame_ratio: Finetune moves as long as the most blamed host has so many times the blame of
            the least (the paper's epsilon)
        step_share: share of a host's mean share of masters that Finetune moves at first
        finetune_moves: moves after which Finetune ends at the latest
        left_alone_s: time for which a plan that failed is not tried again, in s; doubled each time
        damping_s: a host whose load went up and down again within this time keeps its lowest rate,
            in s
    """

    sudden_change: Ratio = 0.2
    noise_multiple: Ratio = 6.0
    confirming_windows: OptionCount = 3
    learning_windows: OptionCount = 5
    trial_windows: OptionCount = 3
    alike: Ratio = 0.1
    least_gain: Ratio = 0.05
    least_gain_home: Ratio = 0.01
    least_kept: Ratio = 0.33
    worse: Ratio = 0.03
    blame_time_weight: Ratio = 1.0
    blame_load_weight: Ratio = 0.25
    blame_ratio: Ratio = 1.15
    step_share: Ratio = 0.25
    finetune_moves: OptionCount = 8
    left_alone_s: OptionSeconds = 120.0
    damping_s: OptionSeconds = 600.0


Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Window:
    """A few iterations, seen from all hosts.

    A flow is everything from one host (row) to another (column); the diagonal is 0.

    Args:
        plan: the number of the plan that was in force in all of them; a window in which it changed
            is not handed in.
        iteration_s: (K,) what each iteration took.
        sent_bytes: (H, H) in an iteration, on average.
        busy_s: (H, H) in an iteration, on average: how long the flow had something to send.
        retransmissions: (H, H) segments sent again, in all.
        rtt_s: (H,) the greatest smoothed round-trip time to any other host.
        bytes_of: of the whole buffers in an iteration, on average, by collective
            (`plink.plans.names.COLLECTIVES`); empty where that is not known.
    """

    plan: int
    iteration_s: Floats
    sent_bytes: Floats
    busy_s: Floats
    retransmissions: Floats
    rtt_s: Floats
    bytes_of: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_measured(self) -> bool:
        """Whether iterations took any time, and something was sent."""
        return bool(len(self.iteration_s) and self.median_s > 0.0 and self.busy_s.any())

    @property
    def median_s(self) -> float:
        """Return the median iteration time, which ignores outliers."""
        return float(np.median(self.iteration_s))


def median_s(windows: Sequence[Window]) -> float:
    """Return the median iteration time of these windows."""
    return float(np.median(np.concatenate([window.iteration_s for window in windows])))


def merge_windows(windows: Sequence[Window]) -> Window:
    """Return several windows of one plan as one.

    A flow's busy time is the mean without the least and the greatest, which is the median of
    three: one window of three or more may be wrong. All else is from the latest.

    Raises:
        ValueError: no windows.
    """
    if not windows:
        raise ValueError("no windows to merge")
    latest = windows[-1]
    busy_s = windows[0].busy_s.copy()
    least, most = busy_s.copy(), busy_s.copy()
    for window in windows[1:]:
        busy_s += window.busy_s
        np.minimum(least, window.busy_s, out=least)
        np.maximum(most, window.busy_s, out=most)
    if len(windows) > 2:
        busy_s -= least + most
        busy_s /= len(windows) - 2
    else:
        busy_s /= len(windows)
    iteration_s = np.concatenate([window.iteration_s for window in windows])
    return replace(latest, iteration_s=iteration_s, busy_s=busy_s)


class Action(Enum):
    """Kind of a decision."""

    WAIT = "wait"
    QUICKTUNE = "quicktune"
    FINETUNE = "finetune"
    ROLL_BACK = "roll back"
    REPROBE = "reprobe"


@dataclass(frozen=True)
class Decision:
    """A new plan, or None, and why.

    Args:
        action: what is done.
        reason: a sentence.
        plan: the number of the plan in force from now on; a new one where there is a forest.
        masters: of that plan.
        forest: the new plan, checked; None where nothing changes.
        hosts: those that should be probed again.
        windows_left: until the tuner has learned, or has judged a plan; 0 where it does neither.
    """

    action: Action
    reason: str
    plan: int
    masters: Masters
    forest: Forest | None = None
    hosts: Sequence[int] = ()
    windows_left: int = 0
