"""A job that the tuner follows while its network changes and recovers: what iterations take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from plink.simulate.jobs import CHANGE, Carry, Step, Turn, first_forest, run
from plink.simulate.network import State

LIFTED = 30
WINDOWS = 60

# In the window in which the network changes: so many of ten iterations come before.
_AT = 6.5


@dataclass(frozen=True)
class Tuned:
    """Iteration times without noise, in seconds.

    Args:
        before_s: on the usual network, with the plan that the job came with.
        changed_s: on the changed one with that plan: just after the change, and for ever where
            nothing is done.
        tuned_s: with the plan of the last window before the network recovers.
        fresh_s: with the plan that would be made for the changed network.
        lifted_s: at the end, on the usual network again.
        changes: the steps that handed out a plan, by their window.
    """

    before_s: float
    changed_s: float
    tuned_s: float
    fresh_s: float
    lifted_s: float
    changes: Sequence[tuple[int, Step]]


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
            (number, step)
            for number, step in enumerate(done.steps)
            if step.decision.forest is not None
        ],
    )


def tuned_to_json(found: Tuned) -> dict[str, Any]:
    """Return the object that `plink simulate` prints."""
    return {
        "before_s": found.before_s,
        "changed_s": found.changed_s,
        "tuned_s": found.tuned_s,
        "fresh_s": found.fresh_s,
        "recovered_s": found.lifted_s,
        "plans": [
            {
                "window": number,
                "action": step.decision.action.value,
                "reason": step.decision.reason,
                "iteration_s": step.truth_s,
            }
            for number, step in found.changes
        ],
    }
