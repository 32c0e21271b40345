"""Rendezvous of a benchmark's ranks: PyTorch's store, and a group of plink's backend."""

from __future__ import annotations

import datetime
import json
import os
import sys
import time
from collections.abc import Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import PrefixStore, TCPStore

import plink.torch  # noqa: F401 - it registers the backend
from plink.bench.workers.torch_collectives import interface_of


def rank_task() -> dict[str, Any]:
    """Return this rank's task, the first line of standard input, and limit it to one thread."""
    task: dict[str, Any] = json.loads(sys.stdin.readline())
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = interface_of(task["address"])
    return task


class Meeting:
    """Ranks of a benchmark that are connected to the store of the first.

    Args:
        task: `rank` and `ranks`, and the `master` and the `port`, where rank 0 has
            its store.
        timeout_s: of the store, and of groups.
    """

    def __init__(self, task: Mapping[str, Any], timeout_s: float) -> None:
        self.rank: int = task["rank"]
        self.ranks: int = task["ranks"]
        self.timeout = datetime.timedelta(seconds=timeout_s)
        self.store = TCPStore(
            task["master"], task["port"], self.ranks, self.rank == 0, self.timeout
        )

    def meet(self, name: str) -> None:
        """Return when all ranks are here.

        Args:
            name: name of the moment, which no other one has.
        """
        store = PrefixStore(f"moment/{name}", self.store)
        if store.add("here", 1) == self.ranks:
            store.set("all", "")
        store.wait(["all"])

    def leave(self) -> None:
        """Return when all ranks have ended, and the store of the first serves no other one."""
        self.meet("over")
        if self.rank == 0:
            time.sleep(0.5)

    def join(self, name: str, **options: Any) -> None:
        """Make the default group, under a name that no group had before.

        The environment says which plan it has, and whether it is tuned.

        Args:
            name: of the group.
            options: others of `init_process_group`.
        """
        dist.init_process_group(
            "plink",
            store=PrefixStore(name, self.store),
            rank=self.rank,
            world_size=self.ranks,
            timeout=self.timeout,
            **options,
        )
