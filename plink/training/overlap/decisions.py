"""Input of a planner about a window of iterations, and its decision."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from plink.training.overlap.candidates import AUTO
from plink.training.overlap.network import Network
from plink.training.overlap.profile import Profile
from plink.training.overlap.schedule import Schedule


class Action(Enum):
    """Action that all ranks take."""

    WAIT = "wait"
    INSTALL = "install"
    ROLL_BACK = "roll back"


@dataclass(frozen=True)
class PlannerOptions:
    """How it decides.

    Args:
        wanted: "auto" for the best of all, or the name of one kind of schedule.
        in_flight: collectives that the engine runs at once.
        least_gain: what a schedule has to promise, as a share of an iteration.
        drifted_gain: the same where only network or profile have drifted: what was found before
            has proved itself.
        least_kept: what it has to keep of it, as such a share, unless half of it is less.
        most_gain: how much it has to promise at most after broken promises.
        indifferent: of schedules that end within that share of an iteration, the one with the
            fewest collectives is taken.
        hopeless: what is slower by that share, and by more than noise, need not be tried longer.
        deviations: of noise, beyond which it is none.
        learning_windows: before the first decision.
        trial_windows: in which a schedule is judged.
        most_trial_windows: as long as noise hides whether it kept enough.
        remembered_windows: of which the noise is known.
        moved_network: by which share collectives take longer or shorter on another network.
        moved_profile: by which share of the backward pass gradients come at other times.
        moved_windows: for so many in a row either has to have moved: one may be of other work.
        forgotten: what was tried counts no more where either has moved by so many times that.
        forgiven_windows: after so many without a change a broken promise counts half.
    """

    wanted: str = AUTO
    in_flight: int = 2
    least_gain: float = 0.03
    drifted_gain: float = 0.06
    least_kept: float = 0.02
    most_gain: float = 0.24
    indifferent: float = 0.01
    hopeless: float = 0.05
    deviations: float = 3.0
    learning_windows: int = 2
    trial_windows: int = 2
    most_trial_windows: int = 4
    remembered_windows: int = 20
    moved_network: float = 0.1
    moved_profile: float = 0.1
    moved_windows: int = 2
    forgotten: float = 3.0
    forgiven_windows: int = 100


@dataclass(frozen=True)
class Window:
    """Measurements of some iterations under one schedule, on all ranks together.

    Args:
        iteration_s: the median, of the slowest rank.
        profile: the maximum over ranks.
        network: as it is known now.
        is_network_new: what was known before does not hold any more.
        has_network: startup and rate are told apart.
        plan: of aggregation, its number.
        is_frozen: that plan is on trial, or is about to change.
        deviation: of the median by chance, as a share of it: its standard error.
    """

    iteration_s: float
    profile: Profile
    network: Network
    is_network_new: bool = False
    has_network: bool = True
    plan: int = 0
    is_frozen: bool = False
    deviation: float = 0.0


@dataclass(frozen=True)
class Decision:
    """Decision of the planner.

    Args:
        action: of all ranks.
        reason: in words.
        names: of the gradients, in the order in which they stand in the pool from now on.
        schedule: in force from now on.
        name: how it was made.
    """

    action: Action
    reason: str
    names: tuple[str, ...]
    schedule: Schedule
    name: str
