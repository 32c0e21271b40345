"""One rank of the benchmark autotune-cost: a group that is tuned and one that is not, in turn.

A JSON object on standard input says what to do; one on standard output what was measured.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import PrefixStore

from benchkit.programs.meeting import Meeting, rank_task
from plink.torch import create
from plink.torch.group import PlinkGroup

TIMEOUT_S = 60
WARM_UP = 3
# The tuner's windows, of a second, fit into a turn.
TURN_S = 2.5


def main() -> None:
    """Meet the others, measure, tell."""
    task = rank_task()
    meeting = Meeting(task, TIMEOUT_S)
    os.environ.update(task["environment"])
    groups = {"tuned": create_group("tuned", meeting)}
    del os.environ["PLINK_AUTOTUNE"]
    groups["plain"] = create_group("plain", meeting)
    tensors = [torch.zeros(size // 4) for size in task["sizes_bytes"]]
    measured = in_turn(groups, tensors, task["seconds"])
    plan = groups["tuned"].plan_number
    # No rank leaves while another still needs the store.
    groups["plain"].barrier().wait()
    for group in groups.values():
        group.shutdown()
    print(json.dumps({"turns": measured, "plan": plan}), flush=True)


def create_group(name: str, meeting: Meeting) -> PlinkGroup:
    """What `init_process_group` would make, which makes only one in a process."""
    store = PrefixStore(name, meeting.store)
    return create(store, meeting.rank, meeting.ranks, meeting.timeout)


def in_turn(
    groups: dict[str, PlinkGroup], tensors: list[torch.Tensor], seconds: float
) -> list[dict[str, Any]]:
    """Turns of some iterations each: which group's, seconds and CPU seconds of an iteration."""
    began = time.perf_counter()
    for group in groups.values():
        iterate(group, tensors, WARM_UP)
    iteration_s = (time.perf_counter() - began) / WARM_UP / len(groups)
    agreed = torch.tensor([iteration_s], dtype=torch.float64)
    groups["plain"].allreduce(agreed, dist.ReduceOp.MAX).wait()
    iterations = max(1, round(TURN_S / agreed.item()))
    pairs = max(3, round(seconds / (2 * iterations * agreed.item())))
    turns = []
    for pair in range(pairs):
        # Who comes second has what the first one left; so they take turns in that, too.
        for name in ("tuned", "plain") if pair % 2 else ("plain", "tuned"):
            groups["plain"].barrier().wait()
            used, began = time.process_time(), time.perf_counter()
            iterate(groups[name], tensors, iterations)
            turns.append(
                {
                    "group": name,
                    "seconds": (time.perf_counter() - began) / iterations,
                    "cpu_s": (time.process_time() - used) / iterations,
                }
            )
    return turns


def iterate(group: PlinkGroup, tensors: list[torch.Tensor], iterations: int) -> None:
    """Reduce all so often, and compute nothing."""
    for _ in range(iterations):
        for work in [group.allreduce(tensor) for tensor in tensors]:
            work.wait()
        group.iteration()


if __name__ == "__main__":
    main()
