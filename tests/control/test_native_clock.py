"""The native clock of simulated trainings, and its twin in Python."""

from __future__ import annotations

import random

import pytest

from control.programs import MODES, a_tree
from control.test_simulated import COSTS, DATA, SETTINGS, workload
from plink.base.replacing import replace
from plink.simulate.control.costs import Often
from plink.simulate.control.native_training import NativeTraining
from plink.simulate.control.training import Training
from plink.training.control.shape import places


@pytest.mark.parametrize(
    ("mode", "holds_thread"),
    [
        *(("tree", False), ("tree", True), ("bitvector", True)),
        *(("full", False), ("nonblocking", True), ("global", False)),
    ],
)
def test_a_native_clock_takes_the_same_time(mode: str, *, holds_thread: bool) -> None:
    chosen = replace(
        SETTINGS, is_blocking=mode != "nonblocking", common_sleep_every=int(mode == "global")
    )
    mode = mode if mode in MODES else "bitvector"
    oversleep, data = Often(0.1, 0.005, 3), replace(DATA, holds_thread=holds_thread)
    parents = a_tree(random.Random(9), 9)
    in_python = Training(
        [MODES[mode](place, chosen) for place in places(parents)],
        workload(),
        COSTS,
        data,
        oversleep=oversleep,
        spinning=0.3,
        heeds_done=[parents.index(-1)] if mode == "tree" else [],
        seed=4,
    )
    native = NativeTraining(
        mode,
        places(parents),
        workload(),
        COSTS,
        data,
        settings=chosen,
        oversleep=oversleep,
        spinning=0.3,
        seed=4,
    )
    assert native.run(2) + native.run(4) == in_python.run(3) + in_python.run(3)
    clock = in_python.clock
    assert native.messages == clock.messages
    assert native.spreads_s() == clock.spreads_s()
    for rank in range(len(parents)):
        assert native.busy_s(rank) == clock.busy_s[rank]
        assert native.waited_s(rank) == clock.waited_s(rank)
        assert native.heard_bytes(rank) == clock.heard_bytes[rank]
