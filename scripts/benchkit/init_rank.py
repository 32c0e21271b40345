"""One rank of scripts/bench-init: makes and destroys process groups.

A JSON object on standard input says what to do; one on standard output what was measured.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
import time

import torch.distributed as dist
from torch._C._distributed_c10d import PrefixStore, Store, TCPStore

import plink.torch  # noqa: F401 - it registers the backend
from plink.bench.workers.gloo_allreduce import interface_of

PORT = 29400
TIMEOUT = datetime.timedelta(seconds=120)


def main() -> None:
    """Meet the others, measure, tell."""
    task = json.loads(sys.stdin.readline())
    rank, ranks = task["rank"], task["ranks"]
    os.environ["GLOO_SOCKET_IFNAME"] = interface_of(task["address"])
    store = TCPStore(task["master"], PORT, ranks, rank == 0, TIMEOUT)
    seconds: dict[str, list[float]] = {name: [] for name in task["backends"]}
    cpu_s = dict.fromkeys(task["backends"], 0.0)
    for repetition in range(task["warmups"] + task["repetitions"]):
        for name in task["backends"]:
            prefix = f"{repetition}/{name}"
            own = PrefixStore(prefix, store)
            meet(PrefixStore(f"{prefix}/begin", store), ranks)
            used = time.process_time()
            began = time.perf_counter()
            dist.init_process_group(name, store=own, rank=rank, world_size=ranks, timeout=TIMEOUT)
            took = time.perf_counter() - began
            used = time.process_time() - used
            meet(PrefixStore(f"{prefix}/end", store), ranks)
            dist.destroy_process_group()
            if repetition >= task["warmups"]:
                seconds[name].append(took)
                cpu_s[name] += used
    print(json.dumps({"seconds": seconds, "cpu_s": cpu_s}), flush=True)
    # The master's store serves the others until they have ended with it.
    meet(PrefixStore("over", store), ranks)
    if rank == 0:
        time.sleep(0.5)


def meet(store: Store, ranks: int) -> None:
    """Return when all ranks are here."""
    if store.add("here", 1) == ranks:
        store.set("all", "")
    store.wait(["all"])


if __name__ == "__main__":
    main()
