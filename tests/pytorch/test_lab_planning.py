"""A planned schedule on hosts of a lab, whose network becomes slow while they train."""

from __future__ import annotations

import json

import pytest

from benchkit.labs import bench_lab
from benchkit.processes import answer, rank_tasks, ranks_started, tell
from benchkit.tuned_scenarios import set_rate

_PASSES = 10


# Pipes of processes that have ended are closed as these are forgotten.
@pytest.mark.filterwarnings(
    "ignore:unclosed file", "default::pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.lab
def test_a_throttled_link_gets_another_schedule_within_three_windows() -> None:
    how = {"items": [8192] * 12, "linger_s": 0.012, "passes": _PASSES, "schedule": "auto"}
    with bench_lab("--racks", "1", "--hosts", "4", "--host-rate", "1000mbit") as lab:
        names = lab.in_rack_order()
        with ranks_started(lab, names, "planned_rank") as ranks:
            for rank, task in zip(ranks, rank_tasks(lab, names), strict=True):
                tell(rank, task)
                tell(rank, how)
            throttled = before = None
            told = answer(ranks[0])
            while throttled is None or told["windows"] < throttled + 3:
                told = answer(ranks[0])
                # In the middle of a window.
                if throttled is None and told["windows"] == 3 and told["pass"] % _PASSES == 5:
                    set_rate(lab, names[2], 20e6)
                    throttled, before = told["windows"], told["groups"]
            for rank in ranks:
                tell(rank, {})
            while "wrong" not in (end := answer(ranks[0])):
                assert end["pass"]
            ends = [end, *(answer(rank) for rank in ranks[1:])]
    # As long as the network keeps up one collective is as good as many.
    assert told["groups"] > before, json.dumps(told)
    assert [one["wrong"] for one in ends] == [0] * 4
    assert all(one["arrangements"] == end["arrangements"] for one in ends)
