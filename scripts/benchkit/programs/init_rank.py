"""One rank of the benchmark init: makes and destroys process groups.

A JSON object on standard input says what to do; one on standard output what was measured.
"""

from __future__ import annotations

import json
import time

import torch.distributed as dist
from torch._C._distributed_c10d import PrefixStore

from benchkit.programs.meeting import Meeting, rank_task

TIMEOUT_S = 120


def main() -> None:
    """Meet the others, measure, tell."""
    task = rank_task()
    meeting = Meeting(task, TIMEOUT_S)
    rank, ranks, store = meeting.rank, meeting.ranks, meeting.store
    seconds: dict[str, list[float]] = {name: [] for name in task["backends"]}
    cpu_s = dict.fromkeys(task["backends"], 0.0)
    for repetition in range(task["warmups"] + task["repetitions"]):
        for name in task["backends"]:
            prefix = f"{repetition}/{name}"
            own = PrefixStore(prefix, store)
            meeting.meet(f"{prefix}/begin")
            used = time.process_time()
            began = time.perf_counter()
            dist.init_process_group(
                name, store=own, rank=rank, world_size=ranks, timeout=meeting.timeout
            )
            took = time.perf_counter() - began
            used = time.process_time() - used
            meeting.meet(f"{prefix}/end")
            dist.destroy_process_group()
            if repetition >= task["warmups"]:
                seconds[name].append(took)
                cpu_s[name] += used
    print(json.dumps({"seconds": seconds, "cpu_s": cpu_s}), flush=True)
    meeting.leave()


if __name__ == "__main__":
    main()
