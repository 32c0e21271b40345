"""One rank of the benchmark engine: the engine and Gloo in turn, in one process.

A JSON object on standard input says what to do; one on standard output what was measured.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch._C._distributed_c10d import PrefixStore

from benchkit.programs.meeting import Meeting, rank_task
from plink.engine import C10dStore, Engine, Forest, Options

TIMEOUT_S = 120
# Small whole numbers, which float32 adds up exactly.
PERIOD = 1009


def main() -> None:
    """Meet the others, measure, tell."""
    task = rank_task()
    meeting = Meeting(task, TIMEOUT_S)
    rank, ranks, store = meeting.rank, meeting.ranks, meeting.store
    runs: dict[str, Callable[[np.ndarray[Any, Any]], None]] = {}
    engines = []
    for name, plan in task["plans"].items():
        forest = Forest(*(np.array(plan[part]) for part in ("weights", "reduce", "broadcast")))
        options = Options(addresses=(task["address"],), **plan["options"])
        store_of_plan = C10dStore(PrefixStore(name, store))
        engine = Engine(rank, ranks, store_of_plan, forest, options)
        engines.append(engine)
        runs[name] = by_engine(engine)
    groups = []
    for name, order in task["gloo"].items():
        place = order.index(rank)
        # PyTorch's stubs do not say that it is a ProcessGroup.
        group: Any = dist.ProcessGroupGloo(PrefixStore(name, store), place, ranks, meeting.timeout)
        groups.append(group)
        runs[name] = by_gloo(group)
    meet = groups[0] if groups else None
    measured = measure(task, runs, engines, meet)
    for engine in engines:
        engine.close()
    print(json.dumps(measured))


def by_engine(engine: Engine) -> Callable[[np.ndarray[Any, Any]], None]:
    """An allreduce by the engine."""
    return lambda array: engine.allreduce(array).wait()


def by_gloo(group: dist.ProcessGroup) -> Callable[[np.ndarray[Any, Any]], None]:
    """An allreduce by Gloo."""

    def allreduce(array: np.ndarray[Any, Any]) -> None:
        group.allreduce([torch.from_numpy(array)]).wait()

    return allreduce


def begin_together(engine: Engine, ahead_s: float) -> None:
    """Until a moment that all ranks agree on: far apart, some leave a meeting a way later.

    All ranks are on this machine, so that their clocks are one.
    """
    begin = np.array([time.monotonic() + ahead_s])
    engine.allreduce(begin, op="max").wait()
    time.sleep(max(0.0, float(begin[0]) - time.monotonic()))


def measure(
    task: dict[str, Any],
    runs: dict[str, Callable[[np.ndarray[Any, Any]], None]],
    engines: list[Engine],
    meet: Any,
) -> dict[str, Any]:
    """Seconds per repetition and CPU seconds in all, by run; every result is checked."""
    rank, ranks = task["rank"], task["ranks"]
    pattern = (np.arange(task["items"]) % PERIOD).astype(np.float32)
    expected = pattern * ranks + ranks * (ranks + 1) // 2
    array = np.empty_like(pattern)

    def meet_others() -> None:
        if meet is not None:
            meet.barrier().wait()
        else:
            engines[0].allreduce(np.zeros(1, dtype=np.float32)).wait()

    seconds: dict[str, list[float]] = {name: [] for name in runs}
    cpu_s = dict.fromkeys(runs, 0.0)
    for repetition in range(task["warmups"] + task["repetitions"]):
        for name, run in runs.items():
            np.add(pattern, rank + 1, out=array)
            meet_others()
            if task.get("together_s"):
                begin_together(engines[0], task["together_s"])
            used = time.process_time()
            began = time.perf_counter()
            for _ in range(task["in_a_row"]):
                run(array)
            took = (time.perf_counter() - began) / task["in_a_row"]
            used = time.process_time() - used
            # Checking takes cores from ranks that are not done yet: those of a lab share them.
            meet_others()
            if task["in_a_row"] == 1 and not np.array_equal(array, expected):
                raise SystemExit(f"{name}: a wrong sum on rank {rank}")
            if repetition >= task["warmups"]:
                seconds[name].append(took)
                cpu_s[name] += used
    return {"seconds": seconds, "cpu_s": cpu_s}


if __name__ == "__main__":
    main()
