"""One rank of the benchmark autotune-lab: all-reduces gradients' sizes again and again, and checks.

The first line of standard input says who and where this rank is. Every further line is a training,
which the next line, or the end of the input, ends; rank 0's counts for all. All lines are JSON. On
standard output rank 0 tells of every iteration, and every rank what a training came to.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

import plink.torch
from benchkit.programs.meeting import Meeting, rank_task

TIMEOUT_S = 300
# Sums stay whole numbers that float32 holds, and differ from iteration to iteration.
PERIOD = 997
# Added by rank 0 to the first number of all, where the training is to end.
LAST = 0.5


def main() -> None:
    """Meet the others, then train as told until standard input ends."""
    # Answers keep the real standard output; what libraries print goes to standard error.
    output = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    task = rank_task()
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read, args=[lines], daemon=True).start()
    meeting = Meeting(task, TIMEOUT_S)
    number = 0
    while line := lines.get():
        if not line.strip():
            continue
        number += 1
        training = json.loads(line)
        os.environ.update(training["environment"])
        meeting.join(str(number))
        wrong = Training(task, training, lines, output).run()
        dist.destroy_process_group()
        print(json.dumps({"rank": task["rank"], "wrong": wrong}), file=output)


def _read(lines: queue.Queue[str]) -> None:
    for line in sys.stdin:
        lines.put(line)
    lines.put("")


class Training:
    """Iterations without a network, only with gradients of its sizes.

    Args:
        task: `rank` and `ranks`.
        training: `items` of each bucket, `compute_s` of an iteration, and whether it `marks` them.
        lines: one more ends it.
        output: where rank 0 tells of iterations.
    """

    def __init__(
        self,
        task: Mapping[str, Any],
        training: Mapping[str, Any],
        lines: queue.Queue[str],
        output: Any,
    ) -> None:
        self._rank, self._ranks = task["rank"], task["ranks"]
        self._training, self._lines, self._output = training, lines, output
        self._buckets: Sequence[Tensor] = [torch.empty(items) for items in training["items"]]

    def run(self) -> int:
        """Train; how many buckets were wrong."""
        group: Any = dist.group.WORLD
        wrong = iteration = 0
        is_last = False
        while not is_last:
            value = iteration % PERIOD
            for bucket in self._buckets:
                bucket.fill_(self._rank + value)
            if self._rank == 0 and not self._lines.empty():
                self._buckets[0][0] += LAST
            began_s = time.monotonic()
            time.sleep(self._training["compute_s"])
            for work in [dist.all_reduce(bucket, async_op=True) for bucket in self._buckets]:
                work.wait()
            if self._training["marks"]:
                plink.torch.iteration()
            seconds = time.monotonic() - began_s
            expected = self._ranks * (self._ranks - 1) / 2 + self._ranks * value
            is_last = self._buckets[0][0].item() == expected + LAST
            if is_last:
                self._buckets[0][0] = expected
            wrong += sum(not _is_all(bucket, expected) for bucket in self._buckets)
            if self._rank == 0:
                told = {"ended_s": time.time(), "seconds": seconds, "plan": group.plan_number}
                print(json.dumps(told), file=self._output)
            iteration += 1
        return wrong


def _is_all(bucket: Tensor, expected: float) -> bool:
    least, most = torch.aminmax(bucket)
    return least.item() == expected == most.item()


if __name__ == "__main__":
    main()
