"""One rank of the benchmark renumber: groups of Gloo in the launcher's order and in plink's.

A JSON object on standard input says what to do; one on standard output what was measured.
"""

from __future__ import annotations

import json
import time
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import PrefixStore

import plink.torch
from benchkit.programs.meeting import Meeting, rank_task

TIMEOUT_S = 300
_ELEMENT_BYTES = 4


def main() -> None:
    """Meet the others; for each order in turn make a group and all-reduce in it; tell."""
    task = rank_task()
    meeting = Meeting(task, TIMEOUT_S)
    figures = []
    for place, order in enumerate(task["orders"]):
        meeting.meet(f"{place}/begin")
        began = time.perf_counter()
        common: dict[str, Any] = {
            "backend": "gloo",
            "store": PrefixStore(str(place), meeting.store),
            "rank": meeting.rank,
            "world_size": meeting.ranks,
            "timeout": meeting.timeout,
        }
        if order is None:
            dist.init_process_group(**common)
        else:
            plink.torch.init_process_group(**common, order=order)
        dist.barrier()
        start_s = time.perf_counter() - began
        buffer = torch.ones(task["size_bytes"] // _ELEMENT_BYTES)
        figures.append({"start_s": start_s, "seconds": _all_reduces(buffer, task["repetitions"])})
        dist.destroy_process_group()
    print(json.dumps({"turns": figures}), flush=True)
    meeting.leave()


def _all_reduces(buffer: torch.Tensor, repetitions: int) -> list[float]:
    """Return the seconds of each all-reduce on this rank, after one warm-up."""
    seconds = []
    for _ in range(repetitions + 1):
        dist.barrier()
        began = time.perf_counter()
        dist.all_reduce(buffer)
        seconds.append(time.perf_counter() - began)
    return seconds[1:]


if __name__ == "__main__":
    main()
