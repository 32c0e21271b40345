"""What the tuner may be told, and what it does where it is told nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TunerOptions:
    """How soon, how far and how often a plan is changed.

    Args:
        sudden_change: of the iteration time against its baseline, that calls for a look at the plan
            (Luo 2020, §4.2.3: 20 %).
        noise_multiple: a change is none within so many deviations of a quiet baseline.
        confirming_windows: in a row that have to say the same before anything follows.
        learning_windows: that make a baseline.
        trial_windows: by which a new plan is judged.
        alike: rates that differ by less are taken for equal, since readings of equal links do; more
            where readings differ more.
        least_gain: of the iteration time that a new plan has to promise.
        least_gain_home: the same, of the plan that the job came with.
        least_kept: of what it promised, that a new plan has to keep.
        worse: by so much more iteration time a new plan has failed.
        blame_time_weight, blame_load_weight: gamma and beta of Luo 2020, §4.2.3.
        blame_ratio: Finetune moves as long as the most blamed host has so many times the blame of
            the least (the paper's epsilon).
        step_share: what Finetune moves at first, of a host's mean share of masters.
        finetune_moves: after which Finetune ends at the latest.
        left_alone_s: how long a plan that failed is not tried again; twice as long every time.
        damping_s: a host whose load went up and down again within it keeps its lowest rate.
    """

    sudden_change: float = 0.2
    noise_multiple: float = 6.0
    confirming_windows: int = 3
    learning_windows: int = 5
    trial_windows: int = 3
    alike: float = 0.1
    least_gain: float = 0.05
    least_gain_home: float = 0.01
    least_kept: float = 0.33
    worse: float = 0.03
    blame_time_weight: float = 1.0
    blame_load_weight: float = 0.25
    blame_ratio: float = 1.15
    step_share: float = 0.25
    finetune_moves: int = 8
    left_alone_s: float = 120.0
    damping_s: float = 600.0
