"""One rank of scripts/soak --named: groups, one after the other, that agree on collectives by name,
each in another way, until they are told to stop. It reads and says what `soakkit.rank` does.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import random
import signal
import sys
import time
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import DistBackendError, ReduceOp

import plink.torch
from plink.base.errors import PlinkError
from soakkit.named_steps import Named, named_epoch, named_round, result_of, value_of
from soakkit.numbers import WrongResult
from soakkit.rank import must_stop, say, say_closed

_OPS = {"sum": ReduceOp.SUM, "max": ReduceOp.MAX, "avg": ReduceOp.AVG}


def main() -> None:
    """Run until told to stop, or until something is wrong."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with open(0, "rb", buffering=0, closefd=False) as commands:
        task = json.loads(commands.readline())
    torch.set_num_threads(1)
    try:
        NamedRankOfSoak(task).run()
        say(event="ended")
    except (PlinkError, DistBackendError, WrongResult) as error:
        say(event="failed", what=str(error))
        sys.exit(1)


class NamedRankOfSoak:
    """The work of one rank.

    Args:
        task: as of `soakkit.rank`, without options of engines.
    """

    def __init__(self, task: dict[str, Any]) -> None:
        self._rank, self._ranks, self._seed = task["rank"], task["ranks"], task["seed"]
        self._most_bytes, self._pause_s = task["most_bytes"], task["pause_s"]
        self._timeout = timedelta(seconds=task["options"]["silence_timeout_s"])
        self._store = task["store"]
        self._own = random.Random(f"{self._seed} {self._rank}")
        self._number = self._bytes = self._epochs = 0

    def run(self) -> None:
        """Group after group."""
        os.environ.setdefault("PLINK_SOCKET_IFNAME", "lo")
        dist.init_process_group(
            "plink",
            init_method=f"file://{self._store}/meeting",
            rank=self._rank,
            world_size=self._ranks,
            timeout=self._timeout,
        )
        while self._live():
            self._epochs += 1
        dist.destroy_process_group()

    def _live(self) -> bool:
        """The life of one group; returns whether there is to be another one."""
        epoch = named_epoch(self._seed, self._epochs, self._rank, self._ranks)
        os.environ["PLINK_CONTROL"] = epoch.machine
        options = plink.torch.Options(control=plink.torch.Control(**epoch.control))
        group: Any = dist.new_group(pg_options=options, timeout=self._timeout)
        for _ in range(epoch.rounds):
            self._round(group, epoch.tensors)
        if epoch.joins is not None:
            self._end_unevenly(group, epoch.joins)
        dist.barrier()
        dist.destroy_process_group(group)
        del group
        gc.collect()
        say_closed()
        vote = torch.tensor([int(must_stop())])
        dist.all_reduce(vote, ReduceOp.MAX)
        return not int(vote)

    def _round(self, group: Any, tensors: int) -> None:
        """All names once, in an order of this rank's own; one without a name in between."""
        number = self._number
        self._number += tensors + 1
        steps = named_round(self._seed, number, tensors, self._most_bytes)
        order = list(range(tensors))
        self._own.shuffle(order)
        under_way = []
        for i in order:
            self._pause()
            under_way.append((i, *self._announce(group, steps[i], number)))
        unnamed = torch.full((3,), float(self._rank))
        dist.all_reduce(unnamed, group=group)
        digests = [""] * tensors
        for i, values, works in under_way:
            for work in works:
                work.wait()
            expected = [
                value_of(self._seed, number, steps[i].name, rank) for rank in range(self._ranks)
            ]
            digests[i] = _check_result(steps[i], values, expected)
        digests.append(_digest([unnamed]))
        say(event="round", first=number, digests=digests, bytes=self._bytes, plans=self._epochs)

    def _announce(self, group: Any, step: Named, number: int) -> tuple[list[torch.Tensor], Any]:
        value = value_of(self._seed, number, step.name, self._rank)
        dtype = getattr(torch, step.dtype)
        values = [torch.full((items,), value, dtype=dtype) for items in step.items]
        self._bytes += sum(one.nbytes for one in values)
        if step.is_grouped:
            works: Any = plink.torch.grouped_all_reduce(values, step.name, _OPS[step.op], group)
        else:
            works = [plink.torch.all_reduce(values[0], step.name, _OPS[step.op], group)]
        return values, works

    def _end_unevenly(self, group: Any, joins: tuple[int, ...]) -> None:
        """Each rank goes on for so many steps, and then joins."""
        for at in range(joins[self._rank]):
            self._pause()
            value = torch.full((5,), float(self._rank + at))
            plink.torch.all_reduce(value, "uneven", group=group).wait()
            expected = sum(rank + at for rank in range(self._ranks) if at < joins[rank])
            if not bool((value == expected).all()):
                raise WrongResult(f"'uneven' is {value.tolist()}, not {expected}")
        last = plink.torch.join(group)
        if joins[last] < max(joins):
            raise WrongResult(f"rank {last} joined last, of {joins}")
        unnamed = torch.ones(3)
        dist.all_reduce(unnamed, group=group)
        if not bool((unnamed == self._ranks).all()):
            raise WrongResult(f"after joining an all-reduce gives {unnamed.tolist()}")

    def _pause(self) -> None:
        """Ranks are late now and then, rarely by much."""
        chance = self._own.random()
        if chance < 0.03:
            time.sleep(self._pause_s * (1.0 if chance < 0.0005 else 0.02) * self._own.random())


def _check_result(step: Named, values: list[torch.Tensor], contributed: list[int]) -> str:
    expected = result_of(step.op, contributed)
    # What is divided may be rounded; all else is exact in every type.
    tolerance = 0.01 * expected if step.op == "avg" else 0.0
    for value in values:
        if not bool(((value.double() - expected).abs() <= tolerance).all()):
            raise WrongResult(f"'{step.name}' is {value[:3].tolist()}, not {expected}")
    return _digest(values)


def _digest(values: list[torch.Tensor]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for value in values:
        digest.update(value.view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


if __name__ == "__main__":
    main()
