"""One rank that trains with a planned schedule, in windows of so many passes, and tells of each.

The first line of standard input says who and where this rank is, the second how it trains; the next
ends it at a pass of rank 0's, where all end. All lines are JSON. Every rank tells at the end which
arrangements it had, from which pass on, and how many sums were wrong; rank 0 of each pass, too.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import sys
import threading
import time
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from benchkit.programs.meeting import Meeting, rank_task
from plink.torch import DataParallel
from plink.torch.overlap.planning import Planning, PlanningOptions

TIMEOUT_S = 120


class Layers(nn.Module):
    """Layers of so many parameters each, whose backward passes take a time each.

    Args:
        items: of each.
        linger_s: of each.
    """

    def __init__(self, items: list[int], linger_s: float) -> None:
        super().__init__()
        self.weights = nn.ParameterList(nn.Parameter(torch.zeros(count)) for count in items)
        self._linger_s = linger_s

    def forward(self, values: Tensor) -> Tensor:
        """The sum over layers of each weight times the first value: gradients are that value."""
        total = values.sum() * 0.0
        for weight in self.weights:
            part = weight.sum() * values[0] + total
            part.register_hook(self._linger)
            total = part
        return total

    def _linger(self, gradient: Tensor) -> Tensor:
        time.sleep(self._linger_s)
        return gradient


def main() -> None:
    """Meet the others, train until told to end."""
    output = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    task = rank_task()
    how = json.loads(sys.stdin.readline())
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=lambda: lines.put(sys.stdin.readline()), daemon=True).start()
    Meeting(task, TIMEOUT_S).join("planned")
    group: Any = dist.group.WORLD
    options = PlanningOptions(
        how["passes"], how["passes"], least_window_s=0.0, most_passes=how["passes"]
    )
    planning = Planning(how["schedule"], group, torch.device("cpu"), options)
    model = DataParallel(Layers(how["items"], how["linger_s"]), planning)
    found = _train(model, planning, lines, output if task["rank"] == 0 else None)
    print(json.dumps({"rank": task["rank"], **found}), file=output)
    dist.destroy_process_group()


def _train(
    model: DataParallel, planning: Planning, lines: queue.Queue[str], output: Any
) -> dict[str, Any]:
    rank, ranks = dist.get_rank(), dist.get_world_size()
    wrong, number = 0, 0
    seen: list[list[Any]] = []
    net: Any = model.module
    last = torch.zeros(1)
    while not last.item():
        began_s = time.monotonic()
        model.zero_grad()
        model(torch.full((1,), float(rank + number % 100))).backward()
        expected = (ranks - 1) / 2 + number % 100
        wrong += sum(
            int((weight.grad - expected).abs().max().item() > 1e-4 * (1.0 + expected))
            for weight in net.weights
        )
        arranged = hashlib.sha256(str(model.arrangement).encode()).hexdigest()[:12]
        if not seen or seen[-1][1] != arranged:
            seen.append([number, arranged, len(model.arrangement.cuts)])
        number += 1
        # Every tenth pass, so that its collectives are few.
        if number % 10 == 0:
            last.fill_(float(output is not None and not lines.empty()))
            dist.broadcast(last, 0)
        if output is not None:
            report = planning.report
            told = {
                "pass": number,
                "seconds": time.monotonic() - began_s,
                "windows": report.windows,
                "groups": len(model.arrangement.cuts),
                "last": report.last,
                "deciding_s": report.deciding_s,
            }
            print(json.dumps(told), file=output)
    return {"wrong": wrong, "arrangements": seen, "slowdown": planning.report.slowdown}


if __name__ == "__main__":
    main()
