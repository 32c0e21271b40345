"""A job that the tuner follows while its network changes and recovers: what iterations take."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from plink.formats.limits import Amount, Text, Whole
from plink.formats.structs import Output
from plink.simulate.jobs import CHANGE, Carry, Turn, first_forest, run
from plink.simulate.network import State

LIFTED = 30
WINDOWS = 60

# In the window in which the network changes: so many of ten iterations come before.
_AT = 6.5


class TunedPlan(Output, frozen=True):
    """A plan that the tuner handed out.

    Attributes:
        window: window after which it was handed out, from 0
        action: what the tuner did
        reason: why, in words
        iteration_s: time of an iteration with the plan, in s
    """

    window: Whole
    action: Text
    reason: Text
    iteration_s: Amount


class Tuned(Output, frozen=True):
    """Iteration times of a tuned job without noise.

    Attributes:
        before_s: time on the usual network, with the plan that the job came with, in s
        changed_s: time on the changed network with that plan, in s: just after the change, and for
            ever if nothing is done
        tuned_s: time with the plan of the last window before the network recovers, in s
        fresh_s: time with the plan that would be made for the changed network, in s
        recovered_s: time at the end, on the usual network again, in s
        plans: plans that the tuner handed out
    """

    before_s: Amount
    changed_s: Amount
    tuned_s: Amount
    fresh_s: Amount
    recovered_s: Amount
    plans: Sequence[TunedPlan]


def simulate_tuning(
    usual: State,
    changed: State,
    carry: Carry,
    *,
    windows: int = WINDOWS,
    lifted: int = LIFTED,
    seed: int = 0,
    size_bytes: float = 102e6,
    tell: Callable[[int], None] = lambda _window: None,
) -> Tuned:
    """Follow a job whose network changes within window `CHANGE` and recovers within `lifted`.

    Args:
        usual: what links carry before, and again in the end.
        changed: meanwhile; `usual` itself where nothing changes.
        carry: what flows take.
        windows: how many, more than `lifted`.
        lifted: in which window the network recovers.
        seed: of the readings' noise.
        size_bytes: of the gradients.
        tell: called with the number of each window.

    Raises:
        ValueError: the network does not recover within the windows, or before it changes.
    """
    if not CHANGE < lifted < windows:
        raise ValueError(f"{windows} windows do not hold a change at {CHANGE} up to {lifted}")

    def at(number: int) -> State | Turn:
        tell(number)
        if changed is usual or number < CHANGE or number > lifted:
            return usual
        if number == CHANGE:
            return Turn(usual, changed, _AT)
        return Turn(changed, usual, _AT) if number == lifted else changed

    done = run(usual, at, windows, carry=carry, seed=seed, size_bytes=size_bytes)
    return Tuned(
        done.steps[CHANGE - 1].truth_s,
        done.job.iteration_s(done.first, changed),
        done.steps[lifted - 1].truth_s,
        done.job.iteration_s(first_forest(changed), changed),
        done.steps[-1].truth_s,
        [
            TunedPlan(number, step.decision.action.value, step.decision.reason, step.truth_s)
            for number, step in enumerate(done.steps)
            if step.decision.forest is not None
        ],
    )
