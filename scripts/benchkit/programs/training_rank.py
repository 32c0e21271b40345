"""One rank of the benchmark training: gradients without a network, over plink and Gloo in turn.

The first line of standard input says who and where this rank is, each further line what to do; all
are JSON, and each is answered by a line of JSON on standard output.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import PrefixStore

from benchkit.programs.meeting import Meeting, rank_task

TIMEOUT_S = 900
# Small whole numbers, which float32 adds up exactly.
PERIOD = 1009
# Buffers are filled and checked in slices: of a gradient there is no second copy.
SLICE_ITEMS = 1 << 18
# Sums of whole numbers that float32 does not hold are rounded.
TOLERANCE = 1e-5

Allreduce = Callable[[Tensor], Any]


def main() -> None:
    """Meet the others, then do as told until standard input ends."""
    # Answers keep the real standard output; what libraries print goes to standard error.
    output = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    rank = Rank(rank_task())
    print(json.dumps({"rank": rank.rank}), file=output)
    for line in sys.stdin:
        command = json.loads(line)
        print(json.dumps(getattr(rank, command.pop("do"))(**command)), file=output)
    dist.destroy_process_group()


class Rank:
    """This process's part; its public methods are the commands.

    Args:
        task: `rank` and `ranks`, `address`, the `master`, `plan` (a path), and `gloo`: by
            name of a group its ranks in order.
    """

    def __init__(self, task: dict[str, Any]) -> None:
        self.rank, self.ranks = task["rank"], task["ranks"]
        os.environ["PLINK_PLAN"] = task["plan"]
        meeting = Meeting(task, TIMEOUT_S)
        meeting.join("plink")
        self._allreduces: dict[str, Allreduce] = {
            "plink": lambda bucket: dist.all_reduce(bucket, async_op=True)
        }
        for name, order in task["gloo"].items():
            self._allreduces[name] = _by_gloo(meeting, name, order.index(self.rank))
        self._pattern = (torch.arange(SLICE_ITEMS) % PERIOD).to(torch.float32)
        self._gradients: Sequence[Tensor] = ()
        self._ready_s: Sequence[float] = ()

    def prepare(self, items: list[int], ready_s: list[float]) -> dict[str, Any]:
        """Take memory for a network's gradients: by bucket its items, and when it is computed."""
        self._gradients = ()
        self._gradients = torch.split(torch.empty(sum(items)), items)
        self._ready_s = ready_s
        return {}

    def train(self, by: str, iterations: int) -> dict[str, Any]:
        """Iterate, and check what the gradients have become.

        Returns:
            `seconds` and `cpu_s` (of all threads) an iteration.
        """
        self._fill()
        dist.barrier()
        used_s, began_s = time.process_time(), time.monotonic()
        for _ in range(iterations):
            self._iterate(self._allreduces[by])
        took_s, used_s = time.monotonic() - began_s, time.process_time() - used_s
        self._check(by, iterations)
        return {"seconds": took_s / iterations, "cpu_s": used_s / iterations}

    def _iterate(self, allreduce: Allreduce) -> None:
        """Sleep until a bucket is full, for what computes is not this processor; send; wait."""
        began_s = time.monotonic()
        works = []
        for bucket, ready_s in zip(self._gradients, self._ready_s, strict=True):
            time.sleep(max(0.0, began_s + ready_s - time.monotonic()))
            works.append(allreduce(bucket))
        for work in works:
            work.wait()

    def _fill(self) -> None:
        for part in self._slices():
            torch.add(self._pattern[: len(part)], self.rank + 1, out=part)

    def _check(self, by: str, iterations: int) -> None:
        """After the first iteration all ranks have the same, and each further one adds that up."""
        once = self._pattern * self.ranks + self.ranks * (self.ranks + 1) // 2
        expected = once * float(self.ranks) ** (iterations - 1)
        for part in self._slices():
            if not torch.allclose(part, expected[: len(part)], rtol=TOLERANCE, atol=0.0):
                raise SystemExit(f"{by}: a wrong sum on rank {self.rank}")

    def _slices(self) -> list[Tensor]:
        return [part for bucket in self._gradients for part in torch.split(bucket, SLICE_ITEMS)]


def _by_gloo(meeting: Meeting, name: str, place: int) -> Allreduce:
    # As init_process_group("gloo") makes it. PyTorch's stubs do not say that it is a ProcessGroup.
    store = PrefixStore(name, meeting.store)
    group: Any = dist.ProcessGroupGloo(store, place, meeting.ranks, meeting.timeout)
    return lambda bucket: group.allreduce([bucket])


if __name__ == "__main__":
    main()
