"""One rank of the benchmark mesh: iterations of a mesh of real sub-groups of Gloo.

A JSON object on standard input says what to do; one on standard output what was measured.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import PrefixStore
from torch.distributed.device_mesh import init_device_mesh

from benchkit.programs.meeting import Meeting, rank_task

TIMEOUT_S = 300
_ELEMENT_BYTES = 4

Group = dist.ProcessGroup


def main() -> None:
    """Meet the others; for each order in turn iterate; tell."""
    task = rank_task()
    meeting = Meeting(task, TIMEOUT_S)
    seconds: dict[str, list[float]] = {name: [] for name in task["orders"]}
    for turn in range(task["rounds"]):
        for name, rank_of in task["orders"].items():
            dist.init_process_group(
                "gloo",
                store=PrefixStore(f"{turn}/{name}", meeting.store),
                rank=rank_of[meeting.rank],
                world_size=meeting.ranks,
                timeout=meeting.timeout,
            )
            seconds[name] += _iterations(task["dimensions"], task["repetitions"])
            dist.destroy_process_group()
    print(json.dumps(seconds), flush=True)
    meeting.leave()


def _iterations(dimensions: Sequence[Mapping[str, Any]], repetitions: int) -> list[float]:
    """Return the seconds of each iteration on this rank, after one warm-up."""
    sizes = tuple(one["size"] for one in dimensions)
    mesh = init_device_mesh("cpu", sizes, mesh_dim_names=tuple(one["name"] for one in dimensions))
    steps = [
        _step(mesh.get_group(one["name"]), one["algorithm"], one["size_bytes"])
        for one in dimensions
        if one["size"] > 1 and one["size_bytes"]
    ]
    seconds = []
    for _ in range(repetitions + 1):
        dist.barrier()
        began = time.perf_counter()
        for step in steps:
            step()
        seconds.append(time.perf_counter() - began)
    return seconds[1:]


def _step(group: Group, algorithm: str, size_bytes: int) -> Callable[[], None]:
    buffer = torch.ones(size_bytes // _ELEMENT_BYTES)
    if algorithm == "chain":
        return lambda: _there_and_back(group, buffer)
    if algorithm == "all-to-all":
        members = group.size()
        sent = torch.ones(len(buffer) // members * members)
        received = torch.empty_like(sent)
        return lambda: _wait(dist.all_to_all_single(received, sent, group=group, async_op=True))
    return lambda: _wait(dist.all_reduce(buffer, group=group, async_op=True))


def _wait(work: dist.Work | None) -> None:
    if work is not None:
        work.wait()


def _there_and_back(group: Group, buffer: torch.Tensor) -> None:
    """Exchange with the next and the previous pipeline stage, forward and then backward."""
    place, received = group.rank(), torch.empty_like(buffer)
    for step in (1, -1):
        works = []
        if 0 <= place + step < group.size():
            to = dist.get_global_rank(group, place + step)
            works.append(dist.isend(buffer, to, group=group))
        if 0 <= place - step < group.size():
            source = dist.get_global_rank(group, place - step)
            works.append(dist.irecv(received, source, group=group))
        for work in works:
            _wait(work)


if __name__ == "__main__":
    main()
