"""A network that is as before again, after a plan was made for what it had been in between."""

from __future__ import annotations

import pytest

from plink.simulate.jobs import CHANGE, run
from plink.simulate.network import State, even

USUAL = even(8)
LIFTED = 30


@pytest.mark.parametrize("share", [0.3, 0.4])
@pytest.mark.parametrize("seed", range(3))
def test_everything_goes_back_to_the_first_plan_at_once(share: float, seed: int) -> None:
    changed, half = USUAL.with_host(2, share), USUAL.with_host(2, (1.0 + share) / 2)

    def at(number: int) -> State:
        # Windows do not end where networks change.
        if number in (CHANGE, LIFTED):
            return half
        return changed if CHANGE < number < LIFTED else USUAL

    done = run(USUAL, at, 45, seed=seed)
    late = [window for window, _ in done.changes() if window >= LIFTED]
    assert len(late) == 1
    assert LIFTED < late[0] <= LIFTED + 4
    assert done.tuner.masters is done.tuner.home
